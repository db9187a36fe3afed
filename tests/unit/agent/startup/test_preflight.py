"""Components that behave badly while they are probed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from pipelines.domain.definitions.components.sink.logger import LoggerSink
from pipelines.domain.ledger.journal import ComponentState, read_entries
from pipelines.domain.runs.protocol import AgentFinding, QueryHead
from tests.sink_bench import definition
from workers.agent.base.findings import refuse
from workers.agent.graph.component import Builder, Place
from workers.agent.positions.guard import LogRange
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.startup.components import Components, check_all
from workers.agent.startup.found import Found
from workers.agent.startup.preflight import spared


class Stub(Builder):
    """A component whose probe does as it is told."""

    def __init__(self, path: str, act: Callable[[], None]) -> None:
        super().__init__(LoggerSink(type="logger", channel="c"), Place("p", 1, path))
        self._act = act

    def probe(self) -> None:
        self._act()


def refuse_it() -> None:
    raise refuse("sinks.refuses.path", "DIRECTORY_UNWRITABLE", "no")


def raise_it() -> None:
    raise ValueError("whitelisted it is not")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl", epoch=1)


def test_every_way_of_failing_is_a_finding_of_its_own_component(journal: Journal, tmp_path: Path) -> None:
    acts = {"fine": lambda: None, "refuses": refuse_it, "raises": raise_it, "exits": lambda: sys.exit(3)}
    parts: dict[str, Builder] = {f"sinks.{name}": Stub(f"sinks.{name}", act) for name, act in acts.items()}
    components = Components(parts, journal)
    findings = check_all(parts, components, lambda part: part.probe(), timeout=5, last=True)
    assert {(finding.path, finding.code) for finding in findings} == {
        ("sinks.refuses.path", "DIRECTORY_UNWRITABLE"),
        ("sinks.raises", "INIT_FAILED"),
        ("sinks.exits", "INIT_FAILED"),
    }
    assert any("whitelisted it is not" in finding.message for finding in findings)
    states = {state.name: state.state for state in components.states()}
    assert states == {
        "sinks.fine": "ready",
        "sinks.refuses": "failed",
        "sinks.raises": "failed",
        "sinks.exits": "failed",
    }
    entries = [entry.payload() for entry in read_entries((tmp_path / "journal.jsonl").read_bytes())[0]]
    assert {entry.name: entry.state for entry in entries if isinstance(entry, ComponentState)} == states


def test_a_component_that_does_not_come_back_is_named_and_waited_for_no_longer(journal: Journal) -> None:
    released = threading.Event()

    def hang() -> None:
        released.wait(30)

    parts: dict[str, Builder] = {"sinks.hangs": Stub("sinks.hangs", hang)}
    (finding,) = check_all(parts, Components(parts, journal), lambda part: part.probe(), timeout=0.05, last=False)
    released.set()
    assert (finding.path, finding.code, finding.retryable) == ("sinks.hangs", "INIT_TIMEOUT", True)


@pytest.mark.parametrize(
    ("troubles", "expected"),
    [
        ({"a": True}, {"a"}),
        ({"a": True, "b": True}, set()),
        ({"a": False}, set()),
        ({"a": True, "b": False}, set()),
        ({"other": True}, set()),
    ],
    ids=["one is away", "all are away", "one is wrong", "one is away and one is wrong", "of no group"],
)
def test_a_member_of_a_group_that_is_away_is_spared_where_another_one_is_fine(
    troubles: dict[str, bool], expected: set[str]
) -> None:
    spec = {"type": "failover", "priorities": {"a": 2, "b": 1}}
    findings = [
        AgentFinding(path=f"sinks.{name}.topic", code="AWAY", message="", retryable=retryable)
        for name, retryable in troubles.items()
    ]
    assert spared(definition(["a", "b"], spec), findings) == expected


@pytest.mark.parametrize(
    ("reported", "done", "codes"), [(0, None, []), (0, 3, ["GROUP_LOST"]), (None, None, ["GROUP_LOST"])]
)
def test_a_group_that_nobody_has_committed_to_since_the_move_of_its_cluster_has_lost_nothing(
    reported: int | None, done: int | None, codes: list[str]
) -> None:
    at = PartitionPosition(topic="in", partition=0, offset=7)
    decided = [] if reported is None else [at.model_copy(update={"offset": reported})]
    head = QueryHead(source="shop", channel="main", positions=[at], done_batch=done, decided=decided)
    launch = SimpleNamespace(heads=[head])
    definition = SimpleNamespace(optional_targets=lambda _source: frozenset())
    known = Found(launch, SimpleNamespace(definition=definition, sources={}))  # type: ignore[arg-type]
    known.logs["shop"], known.mirrors["shop"] = {TopicPartition("in", 0): LogRange(0, 9)}, {}
    assert [each.code for each in known.notices("shop")] == codes


def test_a_component_that_fails_while_it_runs_says_so_and_is_ready_again_afterwards(tmp_path: Path) -> None:
    parts: dict[str, Builder] = {"sources.s": Stub("sources.s", lambda: None)}
    journal = Journal(tmp_path / "journal.jsonl", epoch=1)
    components = Components(parts, journal)
    spec = parts["sources.s"].spec
    components.report("sources.s", spec, "too early")
    check_all(parts, components, lambda part: part.probe(), timeout=5, last=True)
    seen = []
    for failure in ("", "no disk", "no disk", ""):
        components.report("sources.s", spec, failure)
        seen += [(state.state, state.detail) for state in components.states()]
    assert seen == [("ready", ""), ("failed", "no disk"), ("failed", "no disk"), ("ready", "")]
    assert (tmp_path / "journal.jsonl").read_text().count("no disk") == 1
