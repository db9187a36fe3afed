"""What a look says of a group that is ahead of the ledger: of a run that goes on nothing, of one at rest a finding."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.base.positions import PartitionPosition, SourceIdentity, TopicPartition
from pipelines.domain.definitions.document.spec import Read
from pipelines.domain.runs.protocol import AgentFinding, Launch, QueryHead, SparkSettings
from workers.agent.positions.checkpoint import Checkpoint
from workers.agent.positions.guard import LogRange, Mirrored, within_log
from workers.agent.startup import survey as looking
from workers.agent.startup.found import Found, survey
from workers.agent.startup.positions import survey_positions

KEY = TopicPartition("in", 0)
READ = Read("shop", ("lake",))


def launch(position: int = 100) -> Launch:
    head = QueryHead(
        source="shop", channel="lake", positions=[PartitionPosition(topic="in", partition=0, offset=position)]
    )
    return Launch(
        pipeline="orders",
        pipeline_id="1",
        run=2,
        epoch=2,
        token="look",
        host="alpha",
        revision=1,
        revision_digest="d",
        definition={},
        lineage=1,
        checkpoint_root="/nowhere",
        heads=[head],
        identities=[SourceIdentity(source="shop", cluster_id="c", topics={"in": "one"})],
        spark=SparkSettings(classpath=[]),
    )


def known(committed: Mirrored, *, topic_id: str = "one", end: int = 300) -> Found:
    """A source whose ledger continues at 100."""
    source = SimpleNamespace(
        place=SimpleNamespace(path="sources.shop", source="shop"),
        overruns=False,
        log_ranges=lambda: {KEY: LogRange(0, end)},
        identity=lambda: SourceIdentity(source="shop", cluster_id="c", topics={"in": topic_id}),
        mirrored=lambda partitions, surely: {KEY: committed},
        outside=lambda positions, log: within_log("sources.shop", positions, log),
        first_positions=lambda fresh, log: ({}, ""),
    )
    graph: Any = SimpleNamespace(sources={"shop": source})
    return Found(launch(), graph)


def codes(found: list[AgentFinding]) -> list[str]:
    return [each.code for each in found]


@pytest.mark.parametrize("ours", [True, False])
def test_the_group_of_a_run_that_goes_on_is_ahead_of_the_ledger_and_that_is_no_finding(
    ours: bool, tmp_path: Path
) -> None:
    seen = known(Mirrored(130, ours=ours))
    assert looking._findings(seen, READ, live=True) == []
    found = survey(seen, {READ: Checkpoint(tmp_path)}, [])
    assert found is not None
    assert [(row.ledger, row.group, row.codes) for row in found.rows] == [(100, 130, [])]


@pytest.mark.parametrize("ours", [True, False])
def test_the_group_of_a_pipeline_at_rest_that_was_moved_is_a_finding(ours: bool) -> None:
    assert "LEDGER_BEHIND" in codes(looking._findings(known(Mirrored(130, ours=ours)), READ, live=False))


def test_what_the_log_has_against_a_run_that_goes_on_stays_a_finding() -> None:
    commit = Mirrored(130, ours=True)
    assert codes(looking._findings(known(commit, topic_id="two"), READ, live=True)) == ["TOPIC_RECREATED"]
    assert codes(looking._findings(known(commit, end=60), READ, live=True)) == ["BEYOND_LOG_END"]


def test_a_standby_does_not_take_the_commits_of_the_running_agent_for_a_finding(tmp_path: Path) -> None:
    query: Any = SimpleNamespace(read=READ, checkpoint=Checkpoint(tmp_path))
    found = survey_positions(known(Mirrored(130, ours=True)), [query])
    assert found is not None
    assert [row.codes for row in found.rows] == [[]]
