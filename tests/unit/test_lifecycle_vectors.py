"""Components that fail to start do what Flume's lifecycle says, and what ours must do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.test_agent_preflight import Stub, raise_it
from tests.vectors import Vector, applicable
from workers.agent.component import Builder
from workers.agent.ledger import Journal
from workers.agent.preflight import Components, check_all


def missing_class() -> None:
    raise ModuleNotFoundError("No module named 'acme'")


@pytest.mark.parametrize("vector", applicable("lifecycle"), ids=str)
def test_a_start_that_fails_is_not_tried_again_and_its_cause_is_kept(vector: Vector, tmp_path: Path) -> None:
    act, cause = {
        "LI-003": (missing_class, "No module named 'acme'"),
        "LI-005": (raise_it, "whitelisted it is not"),
    }[vector.id]
    parts: dict[str, Builder] = {"sources.s": Stub("sources.s", act)}
    components = Components(parts, Journal(tmp_path / "journal.jsonl", epoch=1))
    (finding,) = check_all(parts, components, lambda part: part.probe(), timeout=5, last=True)
    (state,) = components.states()
    assert not finding.retryable
    assert state.state == "failed"
    assert cause in state.detail
