"""SIGKILL of everything in turn while numbered records flow: nothing is lost, and what is shown is true."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.chaos.extent import WHOLE, at_most
from tests.chaos.installation import wait_for
from tests.chaos.stream import GONE_ON, Stream, kill

TRUE_WITHIN = at_most(10.0)


def _kill_driver(stream: Stream) -> None:
    driver = stream.identity.driver
    assert driver is not None
    kill(driver.pid)


STRIKES: dict[str, Callable[[Stream], None]] = {
    "jvm": lambda stream: kill(stream.jvm()),
    "keeper": lambda stream: kill(stream.identity.keeper.pid),
    **({"driver": _kill_driver} if WHOLE else {}),
}
"""The unattended demo kills a driver, too, and reads back what came of it."""


@pytest.mark.parametrize("whom", STRIKES)
def test_an_agent_whose_process_is_killed_comes_back_as_a_new_run(stream: Stream, whom: str) -> None:
    before, number = stream.read, stream.runs[0]["number"]
    STRIKES[whom](stream)
    wait_for(lambda: stream.runs[0]["number"] > number or not stream.is_truthful(), TRUE_WITHIN, "the kill is seen")
    wait_for(stream.is_truthful, TRUE_WITHIN, f"the API is true after the kill of the {whom}")
    stream.goes_on(before)
    assert stream.runs[0]["number"] > number


@pytest.mark.parametrize("service", ["worker", "redis", "web"])
def test_an_agent_does_not_care_about_the_death_of_the_control_plane(stream: Stream, service: str) -> None:
    before, run, identity = stream.read, stream.runs[0], stream.identity
    stream.installation.kill(service)
    what = f"the API is true after the kill of {service}"
    wait_for(stream.is_truthful, TRUE_WITHIN, what)
    stream.goes_on(before)
    assert stream.runs[0]["number"] == run["number"]
    assert stream.identity == identity


def test_a_pipeline_obeys_after_all_of_that(stream: Stream) -> None:
    stream.act("pause")
    assert stream.pipeline["phase"] == "PAUSED"
    positions, read, produced = _positions(stream), stream.read, stream.produced
    wait_for(lambda: stream.produced > produced + GONE_ON, TRUE_WITHIN, "records arrive during the pause")
    assert (_positions(stream), stream.read) == (positions, read)
    stream.act("resume")
    stream.goes_on(read)


def _positions(stream: Stream) -> list[int]:
    return [place["next_offset"] for place in stream.positions]


def test_nothing_is_missing_and_there_was_never_a_second_agent(stream: Stream) -> None:
    stream.delivered_once()
    assert stream.watch.together == []
    assert len(stream.watch.seen) == len(stream.runs)
    assert stream.pipeline["phase"] == "STOPPED"
