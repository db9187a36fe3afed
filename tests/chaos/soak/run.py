"""One soak from its first strike to its report."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2

from controlplane.devstack.client import Refused
from controlplane.devstack.records import is_noise
from tests.chaos.soak.caretaker import Caretaker
from tests.chaos.soak.measuring import Topic, Unreadable
from tests.chaos.soak.schedule import Strike
from tests.chaos.soak.site import Flow, Site, observed
from tests.chaos.soak.strikes import STRIKES, NothingToStrike, nothing
from tests.chaos.soak.summary import Report, Struck, Totals, merged
from tests.chaos.soak.truth import Patience

SETTLES_WITHIN = 240.0
_CHECK_EVERY = 1.0
_LAST_LOOKS = 4.0
"""Seconds in which the observer looks at the pipelines that were stopped."""


def soak(
    site: Site,
    directory: Path,
    strikes: Sequence[Strike],
    *,
    seed: int,
    seconds: float,
    every: float,
    patience: Patience,
    say: Callable[[str], None] = print,
) -> Report:
    """Strike as scheduled, let everything recover, count, and report."""
    events = directory / "events.jsonl"
    events.unlink(missing_ok=True)
    user: list[dict[str, Any]] = []

    def tell(event: dict[str, Any]) -> None:
        with events.open("a") as file:
            print(json.dumps(event), file=file)
        if "action" in event:
            user.append(event)
            say(f"  user: {event['pipeline']} {event['action']}: {event['answer']}")

    with observed(site, directory, patience) as looks:
        caretaker = Caretaker(site, tell)
        caretaker.start()
        try:
            struck = [_struck(site, each, caretaker, tell, say) for each in _in_time(strikes, seconds)]
            troubles = {flow.name: _settled(site, flow) for flow in site.flows.values()}
        finally:
            caretaker.end()
        for flow in site.flows.values():
            with contextlib.suppress(RuntimeError, TimeoutError, Refused):
                site.installation.api.act(flow.name, "stop", timeout=SETTLES_WITHIN, drain=True)
        time.sleep(_LAST_LOOKS)
    lines = [json.loads(line) for line in looks.read_text().splitlines()]
    return Report(
        seed=seed,
        seconds=seconds,
        every=every,
        struck=struck,
        looks=[line for line in lines if "disagreement" not in line],
        totals=[_totals(site, flow, troubles[flow.name]) for flow in site.flows.values()],
        user=user,
        disagreements=merged(line for line in lines if "disagreement" in line),
    )


def _in_time(strikes: Sequence[Strike], seconds: float) -> Any:
    """Each strike when it is due, and the end when the time is over."""
    started = time.monotonic()
    for strike in strikes:
        time.sleep(max(0.0, started + strike.at - time.monotonic()))
        yield strike
    time.sleep(max(0.0, started + seconds - time.monotonic()))


def _struck(
    site: Site, strike: Strike, caretaker: Caretaker, tell: Callable[[dict[str, Any]], None], say: Callable[[str], None]
) -> Struck:
    """Strike, wait, heal. A user leaves a pipeline alone that another one has paused or stopped."""
    if strike.fault in {"user_pause", "user_stop"}:
        caretaker.held.add(strike.pipeline)
    at, heal, skipped = time.monotonic(), nothing, ""
    try:
        heal = STRIKES[strike.fault](site, strike)
    except NothingToStrike as reason:
        skipped = str(reason)
    say(f"{strike.at:>7g} s {strike.fault} {strike.pipeline or 'all'} {f'not done: {skipped}' if skipped else ''}")
    tell({"at": at, "strike": strike.number, "fault": strike.fault, "pipeline": strike.pipeline, "skipped": skipped})
    try:
        if not skipped:
            time.sleep(strike.lasts)
    finally:
        heal()
        caretaker.held.discard(strike.pipeline)
    healed = time.monotonic()
    tell({"at": healed, "healed": strike.number})
    return Struck(strike, at, healed, skipped)


def _settled(site: Site, flow: Flow) -> str:
    """Wait until the pipeline runs without an alert, end its load, and wait until all is read; returns what did not
    become true."""
    name = flow.name
    if not _within(lambda: _runs(site, name)):
        return f"it does not run after {SETTLES_WITHIN:g} s"
    try:
        flow.load.end()
    except RuntimeError as error:
        return str(error)
    if not _within(lambda: _read_to_the_end(site, flow)):
        return f"it has not read everything after {SETTLES_WITHIN:g} s"
    return "" if _within(lambda: not _alerts(site, name)) else "an alert stays"


def _within(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SETTLES_WITHIN
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx2.HTTPError, Unreadable):
            if condition():
                return True
        time.sleep(_CHECK_EVERY)
    return False


def _runs(site: Site, name: str) -> bool:
    found = site.user.get(f"/pipelines/{name}")
    return (found["phase"], found["supervised"]) == ("RUNNING", True)


def _alerts(site: Site, name: str) -> list[str]:
    return sorted(each["rule"] for each in site.user.get(f"/alerts?pipeline={name}")["results"])


def _read_to_the_end(site: Site, flow: Flow) -> bool:
    ledger = site.user.get(f"/pipelines/{flow.name}/ledger/summary")
    source = Topic(site.broker.servers, flow.demo.source)
    try:
        ends = source.ends()
    finally:
        source.close()
    positions = {each["partition"]: each["next_offset"] for each in ledger["positions"]}
    return all(positions.get(partition, 0) >= end for partition, end in ends.items())


def _totals(site: Site, flow: Flow, trouble: str) -> Totals:
    ledger = site.installation.api.get(f"/pipelines/{flow.name}/ledger/summary")
    sink = Topic(site.broker.servers, flow.demo.sink)
    sink.read_on()
    wanted = {number for number in range(flow.load.produced) if not is_noise(number)}
    missing = wanted - sink.counts.keys()
    foreign = sink.foreign + len(sink.counts.keys() - wanted)
    totals = Totals(
        pipeline=flow.name,
        produced=flow.load.produced,
        missing=len(missing),
        doubled=sink.doubled,
        announced=ledger["duplicates_max"],
        foreign=foreign,
        dead_lettered=sum(each["dead_lettered"] for each in ledger["channels"]),
        undeliverable=flow.load.undeliverable,
        balanced=ledger["balanced"],
        alerts=_alerts(site, flow.name),
        trouble=trouble,
    )
    sink.close()
    return totals
