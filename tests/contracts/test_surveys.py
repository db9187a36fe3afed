"""The children that look at positions: one may wait for its question, and none is left behind."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from pipelines.domain.positions.cluster_move import ClusterMove
from pipelines.domain.positions.plan import InspectionRequest
from tests.waiting import wait_for
from workers.adapters.surveys import ChildSurveys
from workers.ports import InspectionFailed

NONSENSE = InspectionRequest(launch={}, move=ClusterMove(source="shop", to={}))


def children() -> list[int]:
    """The processes that translate, by their pids."""
    return [
        child.pid
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE and "workers.agent.kafka.translating" in child.cmdline()
    ]


def waiting() -> list[int]:
    """The same, once there is one: a process that has just been started has no command line for an instant."""
    return wait_for(children, "a child")


@pytest.fixture
def surveys() -> Iterator[ChildSurveys]:
    found = ChildSurveys(20.0)
    yield found
    found.stand_down()
    assert children() == []


def test_one_child_waits_until_nobody_wants_it(surveys: ChildSurveys) -> None:
    surveys.get_ready()
    (first,) = waiting()
    surveys.get_ready()
    assert waiting() == [first]
    surveys.stand_down()
    assert children() == []
    surveys.stand_down()


def test_the_child_that_waits_is_asked_once(surveys: ChildSurveys) -> None:
    surveys.get_ready()
    for _ in range(2):
        with pytest.raises(InspectionFailed, match="ended with 1"):
            surveys.inspect(NONSENSE)
        assert children() == []


def test_a_child_that_was_killed_is_replaced(surveys: ChildSurveys) -> None:
    surveys.get_ready()
    (first,) = waiting()
    child = psutil.Process(first)
    child.kill()
    psutil.wait_procs([child], timeout=10)
    surveys.get_ready()
    (second,) = waiting()
    assert second != first
