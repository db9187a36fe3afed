"""Pipelines move between two hosts under load, are taken back at every stage, and leave a host that is emptied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import fussy
from tests.chaos.installation import Installation, another_host, installed, wait_for
from tests.chaos.migrating import Trial, asked, told
from tests.chaos.stream import Stream, streaming

ALPHA, BETA = "chaos", "beta"
FUSSY = f"{fussy.__name__}:{fussy.AtHome.__name__}"
SELDOM_MS = 2000
"""Between two batches, so that seven agents have room on a small machine."""
NAMES = ["alone", "bread", "cheese", "dates"]
EMPTY_WITHIN = 480.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation whose pipelines may have an interceptor that works on the first host alone."""
    with installed(tmp_path_factory.mktemp("site"), HEADGATE_INTERCEPTORS=FUSSY) as running:
        yield running


def move(stream: Stream, host: str, **spec: Any) -> Trial:
    """Begin a move."""
    spec = {"host": host, "rules": {"window": 5}, **spec}
    return asked(stream.installation.api, stream.demo.name, "host", spec).begin()


def active(stream: Stream) -> int:
    """The run that has the pipeline."""
    (found,) = [run["id"] for run in stream.runs if run["state"] == "LIVE" and run["role"] == "ACTIVE"]
    return int(found)


def is_read_once(stream: Stream) -> None:
    """Everything was delivered, and nothing twice."""
    produced, sink = stream.finish()
    assert (sink.missing, sink.foreign, sink.duplicates) == (0, 0, 0)
    books = stream.books
    assert (books["read"], books["gaps"], books["overlaps"], books["balanced"]) == (produced, 0, 0, True)


def test_a_pipeline_moves_to_another_host_and_home_again(
    site: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    with streaming(site, name="roaming", rate=5000.0, batch=50_000) as stream, another_host(site, tmp_path, BETA):
        for host in (BETA, ALPHA):
            trial = move(stream, host)
            made, evidence = trial.ends(), trial.evidence
            assert made["stage"] == "COMMITTED", made
            assert (evidence["gap"], evidence["overlap"], stream.pipeline["host"]) == (0, 0, host)
            stream.goes_on(stream.read)
            lines.append(told(made, evidence))
            trial.keep("host-moved" if host == BETA else "host-moved-home")
        is_read_once(stream)
    with capsys.disabled():
        print("", *lines, sep="\n")


def test_a_move_is_taken_back_at_every_gate_and_after_the_cut(site: Installation, tmp_path: Path) -> None:
    with streaming(site, name="hesitant") as stream, another_host(site, tmp_path, BETA):
        for gate in ("PAUSING", "APPLYING", "READY_TO_CUT_OVER"):
            trial = move(stream, BETA, gates=[gate]).waits_before(gate)
            taken_back(stream, trial, "ROLLED_BACK" if gate == "READY_TO_CUT_OVER" else "ABORTED")
        trial = move(stream, BETA, rules={"window": 600}).reaches("VERIFYING")
        stream.goes_on(stream.read)
        taken_back(stream, trial, "ROLLED_BACK")
        is_read_once(stream)


def taken_back(stream: Stream, trial: Trial, end: str) -> None:
    """It is at home again, for the price that was shown."""
    price = next(each["price"] for each in trial.shown["choices"] if each["choice"] == "rollback")
    made = trial.roll_back().ends()
    trial.keep(f"host-{end.lower().replace('_', '-')}")
    assert (made["stage"], stream.pipeline["host"]) == (end, ALPHA), made
    evidence = trial.evidence
    assert (price["skip"], price["replay"], evidence["gap"], evidence["overlap"]) == (0, 0, 0, 0)
    stream.goes_on(stream.read)


@pytest.fixture(scope="module")
def five(site: Installation) -> Iterator[list[Stream]]:
    """Pipelines in mid-stream; the last one has an interceptor that initialises on this host alone."""
    home = {"type": "python", "class": FUSSY, "config": {"home": str(site.state)}}
    with ExitStack() as flowing:
        yield [
            flowing.enter_context(streaming(site, name, rate=500.0, every_ms=SELDOM_MS, interceptors=interceptors))
            for name, interceptors in (*((name, []) for name in NAMES), ("homely", [home]))
        ]


def test_five_pipelines_flow_on_one_host(five: list[Stream]) -> None:
    assert {stream.pipeline["host"] for stream in five} == {ALPHA}


def test_a_host_is_emptied_and_who_cannot_begin_elsewhere_stays(
    site: Installation, five: list[Stream], tmp_path: Path
) -> None:
    api, (*streams, homely) = site.api, five
    run = active(homely)
    with another_host(site, tmp_path, BETA):
        made = api.post("/evacuations", {"host": ALPHA, "at_once": 5, "reason": "a new kernel"})
        address = f"/evacuations/{made['id']}"
        wait_for(lambda: api.get(address)["ended_at"], EMPTY_WITHIN, "the host is emptied")
        ended = api.get(address)
        assert (ended["outcome"], list(ended["left"])) == ("done", ["homely"]), ended
        assert {stream.pipeline["host"] for stream in streams} == {BETA}
        assert (homely.pipeline["host"], active(homely)) == (ALPHA, run)
        for stream in five:
            stream.goes_on(stream.read)
        for stream in five:
            is_read_once(stream)
