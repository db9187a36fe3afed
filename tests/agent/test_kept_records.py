"""The records of a preview are kept in Spark's memory as long as they are compared, and no longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines.domain.preview.protocol import PreviewRequest
from pipelines.domain.preview.selection import PreviewSelection
from tests.agent.harness import REACH
from tests.agent.test_previews import definition, previewed, produced
from tests.agent.topics import Topics
from workers.agent.evaluation import reading
from workers.agent.evaluation.outcomes import graph_of
from workers.agent.graph.component import SourceBuilder


@pytest.fixture(autouse=True)
def nothing_kept(session: SparkSession) -> None:
    session.catalog.clearCache()


def keeps_something(session: SparkSession) -> bool:
    return not session._jsparkSession.sharedState().cacheManager().isEmpty()


def source_of(topics: Topics, tmp: Path) -> SourceBuilder:
    asked: dict[str, Any] = {
        "base": {"definition": definition(topics)},
        "candidate": {"definition": definition(topics)},
        "selection": {"last": 1},
        "spark": {},
        "seconds": 60,
        "reach": REACH.model_dump(mode="json"),
    }
    request = PreviewRequest.model_validate(asked)
    return graph_of(request, request.candidate, tmp).sources["shop"]


def with_gaps(topics: Topics, number: int) -> None:
    """Transactions that leave a gap in front of each record."""
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.name})
    producer.init_transactions(30)
    for _ in range(number):
        for end in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            producer.produce(topics.source, b"x", partition=0)
            end(30)
    topics.wait_committed(topics.source)


@pytest.mark.parametrize("last", [8, 11])
def test_records_behind_gaps_are_kept_however_often_they_were_looked_for(
    topics: Topics, session: SparkSession, tmp_path: Path, last: int
) -> None:
    with_gaps(topics, 10)
    records = reading.read(session, source_of(topics, tmp_path), PreviewSelection(last=last))
    assert records.number == min(last, 10)
    assert records.raw
    assert records.raw.frame.storageLevel.useMemory
    records.close()
    assert not keeps_something(session)


def test_records_are_kept_where_the_log_has_more_gaps_than_are_looked_behind(
    topics: Topics, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gaps(topics, 10)
    monkeypatch.setattr(reading, "_WIDER", 1)
    records = reading.read(session, source_of(topics, tmp_path), PreviewSelection(last=9))
    assert "The log has gaps" in records.extent.notes[-1]
    assert records.raw
    assert records.raw.frame.storageLevel.useMemory
    records.close()


def test_nothing_is_kept_of_a_preview_that_fails_while_it_reads(
    topics: Topics, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    produced(topics, b"a")

    def failing(*_asked: Any) -> Any:
        assert keeps_something(session)
        raise MemoryError

    monkeypatch.setattr(reading, "_in_turn", failing)
    with pytest.raises(MemoryError):
        previewed(session, tmp_path, definition(topics), definition(topics))
    assert not keeps_something(session)
