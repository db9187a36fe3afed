"""A source moves between two clusters with other offsets, under load: nothing comes twice, or what was announced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controlplane.devstack import topics
from controlplane.devstack.demo import PARTITIONS
from controlplane.devstack.ledger import read_back
from controlplane.install.services.kafka import running_kafka
from pipelines.domain.base.positions import TopicPartition
from tests.chaos.extent import whole_only
from tests.chaos.installation import Installation, wait_for
from tests.chaos.migrating import asked, reported
from tests.chaos.mirror import SYNCS, mirrored
from tests.chaos.stream import MOVING_WITHIN, Stream, streaming
from workers.agent.kafka import windows
from workers.agent.kafka.admin import KafkaCluster

MAPPING = {"by": "mapping", "topic": SYNCS}


def move(stream: Stream, servers: str, positions: dict[str, Any], rollback_at: str = "") -> dict[str, Any]:
    """Move the source; returns the evidence."""
    spec = {
        "source": "orders",
        "to": {"bootstrap_servers": servers},
        "positions": positions,
        "rules": {"window": 600 if rollback_at else 3, "band": 0.05},
    }
    trial = asked(stream.installation.api, stream.demo.name, "cluster", spec).start()
    if rollback_at:
        trial.reaches(rollback_at)
        stream.goes_on(stream.read)
        trial.roll_back()
    trial.ends()
    found = trial.evidence
    trial.keep(f"cluster-by-{positions['by']}{'-rolled-back' if rollback_at else ''}")
    assert found["stage"] == ("ROLLED_BACK" if rollback_at else "COMMITTED"), found
    return found


def repeated(servers: str, topic: str, rows: list[dict[str, Any]]) -> int:
    """Records of the announced ones that the pipeline delivers."""
    ranges = {
        TopicPartition(topic, row["partition"]): (row["translated"], row["translated"] + row["replay"]) for row in rows
    }
    messages = windows.messages(KafkaCluster.of(servers, {}, None), ranges)
    return sum((message.value() or b"").startswith(b"{") for message in messages)


def is_exact(found: dict[str, Any]) -> None:
    """By the evidence, each partition goes on at the very record, at another offset."""
    rows = found["positions"]
    assert [row["translated"] != row["stopped_at"] for row in rows] == [True] * PARTITIONS
    assert all(row["exact"] and row["evidence"]["proof"] == "records" for row in rows)
    assert (found["gap"], found["overlap"], found["expected"]) == (0, 0, {"skip": 0, "replay": 0})


def test_a_source_moves_by_a_mirrors_mapping_and_is_taken_back(installation: Installation, tmp_path: Path) -> None:
    here = installation.servers
    with (
        running_kafka(tmp_path / "there") as there,
        streaming(installation, name="hesitating") as stream,
        mirrored(stream.demo.source, here, there, PARTITIONS),
    ):
        is_exact(move(stream, there, MAPPING, rollback_at="VERIFYING"))
        stream.goes_on(stream.read)
        stream.delivered_once()


@whole_only
def test_a_source_moves_by_a_mirrors_mapping_and_home_by_time(
    installation: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = installation.servers
    with running_kafka(tmp_path / "there") as there, streaming(installation, name="moving") as stream:
        with mirrored(stream.demo.source, here, there, PARTITIONS):
            exact = move(stream, there, MAPPING)
            is_exact(exact)
            stream.goes_on(stream.read)
            by_time = move(stream, here, {"by": "timestamp"})
        again = by_time["expected"]["replay"]
        assert (by_time["gap"], by_time["overlap"]) == (0, again)
        assert again >= PARTITIONS
        twice = repeated(here, stream.demo.source, by_time["positions"])
        stream.goes_on(stream.read)
        stream.producer.stop()
        produced = stream.produced
        wait_for(lambda: stream.read >= produced + again, MOVING_WITHIN, "the last record is read")
        stream.act("stop", drain=True)
        sink = read_back(topics.read_all(here, stream.demo.sink), produced)
        with capsys.disabled():
            print(f"\n{produced} records; {again} announced, {twice} of them valid and delivered twice")
            print("\n".join(map(reported, (exact, by_time))))
        assert (sink.missing, sink.foreign, sink.duplicates) == (0, 0, twice)
        ledger = stream.ledger
        assert (ledger["read"], ledger["gaps"], ledger["overlaps"], ledger["balanced"]) == (
            produced + again,
            0,
            0,
            True,
        )
