"""Components that fail to start do what Flume's lifecycle says."""

from __future__ import annotations

from pathlib import Path

from tests.unit.agent.startup.test_preflight import Stub, raise_it
from tests.vectors import Vector, drives
from workers.agent.graph.component import Builder
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.startup.components import Components, check_all


def missing_class() -> None:
    raise ModuleNotFoundError("No module named 'acme'")


STARTS = {
    "start raises a fatal error (missing class)": (missing_class, "No module named 'acme'"),
    "start raises": (raise_it, "whitelisted it is not"),
}


@drives("LI-003", "LI-005")
def test_a_start_that_fails_is_not_tried_again_and_its_cause_is_kept(vector: Vector, tmp_path: Path) -> None:
    (step,) = vector.steps
    act, cause = STARTS[step]
    parts: dict[str, Builder] = {"sources.s": Stub("sources.s", act)}
    components = Components(parts, Journal(tmp_path / "journal.jsonl", epoch=1))
    (finding,) = check_all(parts, components, lambda part: part.probe(), timeout=5, last=True)
    (state,) = components.states()
    if "retry" in vector.expected:
        assert finding.retryable is vector.expected["retry"]
    else:
        assert {"failed": "ERROR"}[state.state] == vector.expected["state"]
        assert {True: "kept"}[cause in state.detail] == vector.expected["start_exception"]
