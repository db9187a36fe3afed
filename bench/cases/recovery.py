"""Recovery: processes are killed in mid-stream; from the kill to the next new record in the sink.

Headgate runs with its whole control plane and recovers by itself. A peer is one process, which is started again at
once, as systemd would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.bench import Bench, Values, check, results
from bench.figures import Result
from bench.records import Delivered
from bench.recovery.arrivals import Arrivals
from bench.recovery.pipeline import Pipeline, intended_at, seconds
from bench.recovery.stack import control_plane
from bench.recovery.timeline import first_new, split
from bench.recovery.victims import Victim, by_definition
from bench.systems.base import Failed, Running, System, Work
from bench.systems.connect import Connect
from bench.systems.flume import Flume
from bench.systems.headgate import Headgate
from bench.topics import Pacer
from bench.usage import wait_until
from controlplane.devstack.client import Api

RATE = 100
PARTS_OF = "recovery_parts"
"""The case of the table whose columns are the victims."""
_WHOLE = "recovery_seconds"
_PEER = "agent"
"""The victim that the kill of a peer stands beside: it has no process but the one."""
_LIFECYCLE = {"restart_reset_after": 1}
"""Each kill is the first in a row."""
_START_TIMEOUT = 180.0
_RECOVERED = 180.0
_DRAIN_TIMEOUT = 180.0
_FLOWS = 5.0
"""Seconds of flow between a recovery and the next kill."""
_TICK = 1.0
"""Seconds over which kills are spread, so that none is always at the same moment between two looks of a supervisor."""
_SENT = 0.25
"""Seconds in which a JVM that was just started delivers nothing, and the broker takes in what a dead one has sent."""
_STILL = 5.0
"""Seconds without a further record, after which a peer has delivered everything that it will."""


def recovery(bench: Bench) -> list[Result]:
    """All victims of Headgate by turns, then each peer."""
    values: Values = {}
    parts: Values = {}
    if bench.able("recovery", [Headgate()]):
        with control_plane(bench.directory / "control-plane") as api:
            for victims in by_definition():
                _headgate(bench, api, victims, values, parts)
    for peer in bench.able("recovery", [Flume(), Connect()]):
        _peer(bench, peer, values)
    return [*results("recovery", values), *results(PARTS_OF, parts)]


def _headgate(bench: Bench, api: Api, victims: Sequence[Victim], values: Values, parts: Values) -> None:
    """One pipeline, and kills of all its victims by turns; raises Failed where its sink is not exact."""
    with bench.source(0) as source, bench.work(source, hurry=True) as work:
        pipeline = Pipeline(api, f"recovery-{work.run}")
        graph = {"name": pipeline.name, "lifecycle": {**_LIFECYCLE, **victims[0].lifecycle}}
        system = Headgate(graph=lambda _: graph)
        pipeline.create(system.definition(work))
        pacer = Pacer(work.servers, source, RATE)
        pacer.start()
        try:
            with Arrivals(work.servers, work.sink) as arrivals:
                _await(arrivals, RATE, _START_TIMEOUT, pipeline.failed)
                for number in range(1, bench.options.runs + 1):
                    for victim in victims:
                        pipeline.await_ready(victim.agents)
                        time.sleep(_FLOWS + _TICK * number / bench.options.runs)
                        found = _strike(pipeline, victim, pacer, arrivals)
                        _note(values, parts, system.name, victim, found)
                        told = ", ".join(f"{part} {value:.2f}" for part, value in found.items())
                        whole = sum(found.values())
                        bench.say(f"  {number}/{bench.options.runs} {victim.name}: {whole:.2f} s: {told}")
        finally:
            sent = pacer.end()
        if not wait_until(lambda: bench.topics.size(work.sink) >= sent, _DRAIN_TIMEOUT):
            raise pipeline.failed(f"it did not deliver {sent:,} records within {_DRAIN_TIMEOUT:.0f} s")
        pipeline.stop()
        delivered = bench.topics.read([work.sink], sent)
        check(system.name, delivered)
        _count(values, system.name, delivered)


def _strike(pipeline: Pipeline, victim: Victim, pacer: Pacer, arrivals: Arrivals) -> dict[str, float]:
    """Kill, wait until records flow that were not there to be read yet, and split the time until the first new one."""
    run = pipeline.active()
    killed = pipeline.kill(run, victim.processes)
    _await(arrivals, pacer.sent + RATE, _RECOVERED, pipeline.failed)
    heir = pipeline.active()
    if heir["epoch"] == run["epoch"]:
        raise pipeline.failed(f"it continues in run {run['number']} although its {victim.name} was killed")
    first = _first(arrivals, seconds(intended_at(heir)))
    return split(killed, pipeline.marks(run["number"], heir), first)


def _note(values: Values, parts: Values, system: str, victim: Victim, found: dict[str, float]) -> None:
    values.setdefault((system, f"{victim.name}_{_WHOLE}"), []).append(sum(found.values()))
    for part, value in found.items():
        parts.setdefault((victim.name, f"{part}_seconds"), []).append(value)
    parts.setdefault((victim.name, "whole_seconds"), []).append(sum(found.values()))


def _peer(bench: Bench, system: System, values: Values) -> None:
    with bench.source(0) as source, bench.work(source, hurry=True) as work, system.start(work) as running:
        pacer = Pacer(work.servers, source, RATE)
        pacer.start()
        try:
            with Arrivals(work.servers, work.sink) as arrivals:
                _await(arrivals, RATE, _START_TIMEOUT, running.failed)
                for number in range(1, bench.options.runs + 1):
                    time.sleep(_FLOWS + _TICK * number / bench.options.runs)
                    found = _crash(running, pacer, arrivals)
                    values.setdefault((system.name, f"{_PEER}_{_WHOLE}"), []).append(found)
                    bench.say(f"  {number}/{bench.options.runs} {system.name}: {found:.2f} s")
        finally:
            sent = pacer.end()
        _await_still(bench, work)
        running.settle()
        running.stop()
        delivered = bench.topics.read([work.sink], sent)
        _count(values, system.name, delivered)
        bench.say(f"  {system.name}: {delivered.missing:,} lost, {delivered.duplicates:,} repeated of {sent:,} records")


def _crash(running: Running, pacer: Pacer, arrivals: Arrivals) -> float:
    killed = running.crash()
    resumed = time.time() + _SENT
    _await(arrivals, pacer.sent + RATE, _RECOVERED, running.failed)
    return _first(arrivals, resumed) - killed


def _await(arrivals: Arrivals, number: int, timeout: float, failed: Callable[[str], Failed]) -> None:
    if not wait_until(lambda: arrivals.reached(number), timeout, 0):
        raise failed(f"record {number:,} did not arrive within {timeout:.0f} s")


def _first(arrivals: Arrivals, resumed: float) -> float:
    first = first_new(arrivals.appended, resumed)
    if first is None:
        raise Failed("no new record has arrived")
    return first


def _await_still(bench: Bench, work: Work) -> None:
    """Wait until nothing more arrives: what is lost is not waited for."""
    before = -1
    while (now := bench.topics.size(work.sink)) != before:
        before = now
        time.sleep(_STILL)


def _count(values: Values, system: str, delivered: Delivered) -> None:
    values[system, "lost_records"] = [delivered.missing]
    values[system, "repeated_records"] = [delivered.duplicates]
