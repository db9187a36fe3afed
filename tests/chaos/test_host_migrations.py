"""Pipelines move between two hosts under load, are taken back at every stage, and leave a host that is emptied."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from controlplane.devstack.ledger import read_back
from tests.chaos import data_plane, fussy
from tests.chaos.extent import WHOLE, whole_only
from tests.chaos.installation import Installation, another_host, installed, wait_for
from tests.chaos.migrating import ENDED_WITHIN, Trial, asked, reported
from tests.chaos.stream import MOVING_WITHIN, Stream, streaming
from tests.fakes.http_servers import Asked, Reply, serving

ALPHA, BETA = "chaos", "beta"
RATE, SELDOM_MS = 200.0, 5000
"""Records per second, and what is between two batches, so that seven agents have room on a small machine."""
GATES = ("PAUSING", "APPLYING", "READY_TO_CUT_OVER") if WHOLE else ()
"""Where a move is taken back before the cut; simulations do that at every stage, too."""
NAMES = ["alone", "bread", "cheese", "dates"]
EMPTY_WITHIN = 480.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation whose pipelines may have an interceptor that works on the first host alone."""
    with installed(tmp_path_factory.mktemp("site"), HEADGATE_INTERCEPTORS=fussy.NAME) as running:
        yield running


def move(stream: Stream, host: str, **spec: Any) -> Trial:
    """Begin a move."""
    spec = {"host": host, "rules": {"window": 5}, **spec}
    return asked(stream.installation.api, stream.demo.name, "host", spec).start()


def active(stream: Stream) -> int:
    """The run that has the pipeline."""
    (found,) = [run["id"] for run in stream.runs if run["state"] == "LIVE" and run["role"] == "ACTIVE"]
    return int(found)


@whole_only
def test_a_pipeline_moves_to_another_host_and_home_again(
    site: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    with streaming(site, name="roaming", rate=5000.0, batch=50_000) as stream, another_host(site, tmp_path, BETA):
        there = move(stream, BETA)
        lines.append(moved(stream, there, BETA, "host-moved"))
        lines.append(moved(stream, there.revert().start(), ALPHA, "host-moved-home"))
        stream.delivered_once()
    with capsys.disabled():
        print("", *lines, sep="\n")


def moved(stream: Stream, trial: Trial, host: str, example: str) -> str:
    """It is committed, nothing was skipped or read twice, and the pipeline works there; returns what it took."""
    made, evidence = trial.ends(), trial.evidence
    assert made["stage"] == "COMMITTED", made
    assert (evidence["gap"], evidence["overlap"], stream.pipeline["host"]) == (0, 0, host)
    stream.goes_on(stream.read)
    trial.keep(example)
    return reported(evidence)


def test_a_move_is_taken_back_at_every_gate_and_after_the_cut(installation: Installation, tmp_path: Path) -> None:
    with streaming(installation, name="hesitant") as stream, another_host(installation, tmp_path, BETA):
        for gate in GATES:
            trial = move(stream, BETA, gates=[gate]).waits_before(gate)
            rolled_back(stream, trial, "ROLLED_BACK" if gate == "READY_TO_CUT_OVER" else "ABORTED")
        trial = move(stream, BETA, rules={"window": 600}).reaches("VERIFYING")
        stream.goes_on(stream.read)
        rolled_back(stream, trial, "ROLLED_BACK")
        stream.delivered_once()


def rolled_back(stream: Stream, trial: Trial, end: str) -> None:
    """It is at home again, for the price that was shown."""
    impact = next(each["impact"] for each in trial.shown["choices"] if each["choice"] == "rollback")
    made = trial.roll_back().ends()
    trial.keep(f"host-{end.lower().replace('_', '-')}")
    assert (made["stage"], stream.pipeline["host"]) == (end, ALPHA), made
    evidence = trial.evidence
    assert (impact["skip"], impact["replay"], evidence["gap"], evidence["overlap"]) == (0, 0, 0, 0)
    stream.goes_on(stream.read)


def at_home(site: Installation) -> dict[str, Any]:
    """An interceptor that initialises on this host alone."""
    return {"type": "python", "class": fussy.NAME, "config": {"home": str(site.state)}}


@whole_only
def test_an_interceptor_that_cannot_initialise_costs_the_old_agent_nothing(site: Installation, tmp_path: Path) -> None:
    with (
        streaming(site, name="native", interceptors=[at_home(site)]) as stream,
        another_host(site, tmp_path, BETA),
    ):
        run, homeless = active(stream), stream.demo.definition()
        homeless["sources"]["orders"]["interceptors"] += [{**at_home(site), "config": {"home": "/nowhere"}}]
        asked_for: list[tuple[str, dict[str, Any], str]] = [
            ("host", {"host": BETA}, BETA),
            ("revision", {"definition": homeless}, ALPHA),
        ]
        place = "sources.orders.interceptors[2]"
        for kind, spec, host in asked_for:
            read, produced = stream.read, stream.produced
            made = asked(site.api, stream.demo.name, kind, spec).start().ends()
            assert (made["stage"], [each["path"] for each in made["findings"]]) == ("ABORTED", [place]), made
            assert [step["state"] for step in made["steps"][:2]] == ["failed", "skipped"]
            assert stream.read - read > 0.8 * (stream.produced - produced) > 0
            newest = stream.runs[0]
            assert (newest["role"], newest["state"], newest["host"]) == ("STANDBY", "ENDED", host)
            assert site.api.get(f"/pipelines/{stream.demo.name}/ledger?run={newest['number']}")["results"] == []
            assert (stream.pipeline["host"], active(stream)) == (ALPHA, run)
        stream.delivered_once()


@whole_only
def test_a_pause_that_a_hung_sink_holds_up_is_given_up_and_says_what_was_at_work(
    site: Installation, tmp_path: Path
) -> None:
    hangs, over, hanging = threading.Event(), threading.Event(), threading.Event()

    def reply(_: Asked) -> Reply:
        if hangs.is_set():
            hanging.set()
            over.wait(ENDED_WITHIN)
        return Reply()

    with (
        serving(reply) as server,
        streaming(
            site,
            name="hung",
            rate=200.0,
            lifecycle={"drain_timeout": "5s"},
            sink={"type": "http", "url": server.url, "read_timeout": "5m"},
        ) as stream,
        another_host(site, tmp_path, BETA),
    ):
        run = active(stream)
        trial = move(stream, BETA, gates=["PAUSING"]).waits_before("PAUSING")
        hangs.set()
        assert hanging.wait(MOVING_WITHIN)
        made = trial.advance().ends()
        assert (made["stage"], stream.pipeline["host"], active(stream)) == ("ABORTED", ALPHA, run), made
        assert made["message"].startswith("Nothing has been changed. pause timed out after 5 s."), made
        wait_for(lambda: trial.shown["drain_dump"], MOVING_WITHIN, "the dump of the old agent")
        assert trial.shown["drain_dump"]["stuck"] == ["sinks.clean"]
        trial.keep("host-drain-given-up")
        hangs.clear()
        over.set()
        stream.goes_on(stream.read)
        produced = stream.run_out()
        bodies = (event["body"].encode() for asked in server.seen for event in data_plane.events(asked))
        sink = read_back(bodies, produced)
        assert (sink.missing, sink.foreign, sink.duplicates) == (0, 0, 0)
        stream.balances(produced)


@pytest.fixture(scope="module")
def five(site: Installation) -> Iterator[list[Stream]]:
    """Pipelines in mid-stream; the last one has an interceptor that initialises on this host alone."""
    with ExitStack() as flowing:
        yield [
            flowing.enter_context(streaming(site, name, rate=RATE, every_ms=SELDOM_MS, interceptors=interceptors))
            for name, interceptors in (*((name, []) for name in NAMES), ("homely", [at_home(site)]))
        ]


@whole_only
def test_five_pipelines_flow_on_one_host(five: list[Stream]) -> None:
    assert {stream.pipeline["host"] for stream in five} == {ALPHA}


@whole_only
def test_a_host_is_emptied_and_who_cannot_begin_elsewhere_stays(
    site: Installation, five: list[Stream], tmp_path: Path
) -> None:
    api, (*streams, homely) = site.api, five
    run = active(homely)
    with another_host(site, tmp_path, BETA):
        asked_for = {"host": ALPHA, "at_once": 2, "rules": {"window": 5}, "reason": "a new kernel"}
        address = f"/evacuations/{api.post('/evacuations', asked_for)['id']}"
        wait_for(lambda: api.get(address)["ended_at"], EMPTY_WITHIN, "the host is emptied")
        ended = api.get(address)
        assert (ended["outcome"], list(ended["left"])) == ("done", ["homely"]), ended
        assert {stream.pipeline["host"] for stream in streams} == {BETA}
        assert (homely.pipeline["host"], active(homely)) == (ALPHA, run)
        for stream in five:
            stream.goes_on(stream.read)
        for stream in five:
            stream.delivered_once()
