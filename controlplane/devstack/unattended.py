"""The demo without a person: pause, resume, a killed agent and a stop in mid-stream, then the books.

It talks to the REST API with a token, as a user would; the one thing it does behind the API's back is the kill.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from controlplane.devstack import topics
from controlplane.devstack.client import Api, Json
from controlplane.devstack.console import Console
from controlplane.devstack.demo import ACTION_TIMEOUT, Demo, remove
from controlplane.devstack.ledger import LedgerTotals, read_back
from controlplane.install.services.child import Child
from controlplane.install.services.interrupt import Interrupt
from pipelines.domain.runs.protocol import IDENTITY, Identity
from workers.adapters.processes import HostProcesses

STEP_TIMEOUT = 120.0  # seconds for any one step
PAUSE_CHECK = 3.0  # seconds between the two looks at a paused cursor
WAITING = 0.05  # part of all records that is there before the start
PACED = 0.75  # part that has arrived, or is on its way, before the pause; the rest begins to arrive during it
PAUSE_AT, KILL_AT = 0.25, 0.55  # parts of all records, counted as read


class Failed(Exception):
    """A step of the run did not come about in its time."""


class Unattended:
    """One run over `count` records, produced at `rate` a second."""

    def __init__(
        self, api: Api, demo: Demo, console: Console, interrupt: Interrupt, *, count: int, rate: float
    ) -> None:
        self._api = api
        self._demo = demo
        self._console = console
        self._interrupt = interrupt
        self._count = count
        self._rate = rate
        self._tokens: set[str] = set()

    def run(self) -> LedgerTotals:
        """Raises Failed, Refused, TimeoutError, RuntimeError or SetupError at the first step that goes wrong."""
        self._say("Removing what an earlier run left.")
        remove(self._api, self._demo)
        self._demo.create_topics()
        self._api.post("/pipelines", {"definition": self._demo.definition()})
        waiting, paced = int(self._count * WAITING), int(self._count * PACED)
        with self._producing(range(waiting)) as producer:
            self._await_producer(producer)
        self._say(f"Starting; {waiting:,} records wait, the rest arrives at {self._rate:,.0f} a second.")
        self._act("start")
        with self._producing(range(waiting, paced)) as producer:
            self._await_read(PAUSE_AT)
            self._act("pause")
            with self._producing(range(paced, self._count)) as during_pause:
                still = self._stands_still()
                self._act("resume")
                self._await_read(KILL_AT)
                self._kill()
                self._await_producer(producer)
                self._await_producer(during_pause)
                self._await("the last record", lambda: self._read() >= self._count)
        self._act("stop", drain=True)
        return self._ledger(still)

    @contextmanager
    def _producing(self, numbers: range) -> Iterator[Child]:
        producer = Child(self._demo.producer(rate=self._rate, numbers=numbers), output=subprocess.PIPE)
        if producer.process.stdout is not None:
            self._console.pump("producer", producer.process.stdout)
        try:
            yield producer
        finally:
            producer.stop()

    def _stands_still(self) -> bool:
        """Look twice at the cursor and the sink while the source grows."""
        source = self._demo.source
        before, grown = self._standing(), sum(topics.end_offsets(self._demo.servers, source).values())
        self._interrupt.wait(lambda: False, PAUSE_CHECK)
        still = self._standing() == before
        more = sum(topics.end_offsets(self._demo.servers, source).values()) - grown
        self._say(
            f"Paused: {more:,} records arrived in {PAUSE_CHECK:.0f} s, position {'unchanged' if still else 'MOVED'}."
        )
        return still

    def _standing(self) -> tuple[Json, dict[int, int]]:
        queries = self._api.get(f"/pipelines/{self._demo.name}/status")["queries"]
        positions = {
            f"{query['channel']}/{place['topic']}/{place['partition']}": place["next_offset"]
            for query in queries
            for place in query["positions"]
        }
        if not positions:
            raise Failed("the status has no position")
        return positions, topics.end_offsets(self._demo.servers, self._demo.sink)

    def _kill(self) -> None:
        """SIGKILL to the Spark driver, if it still is the process that the run directory names; await the next run."""
        run = self._live_run()
        identity = Identity.load(Path(run["run_dir"]) / IDENTITY)
        if identity is None or identity.driver is None:
            raise Failed(f"{run['run_dir']} names no driver")
        if not HostProcesses().kill(identity.driver, identity.token):
            raise Failed(f"the driver {identity.driver.pid} was gone before it could be killed")
        killed = time.monotonic()
        self._say(f"Killed the agent's driver, process {identity.driver.pid}, with SIGKILL.")
        self._await("another run", lambda: self._runs()[0]["number"] > run["number"] and self._phase() == "RUNNING")
        self._say(f"It came back as run {self._runs()[0]['number']} after {time.monotonic() - killed:.1f} s.")

    def _await_producer(self, producer: Child) -> None:
        self._await("the end of the producer", lambda: not producer.alive)
        if producer.process.returncode != 0:
            raise Failed("the producer could not deliver all its records")

    def _ledger(self, still: bool) -> LedgerTotals:
        self._say(f"Reading {self._demo.sink} back.")
        sink = read_back(topics.read_all(self._demo.servers, self._demo.sink), self._count)
        runs = self._runs()
        summary = self._api.get(f"/pipelines/{self._demo.name}/ledger/summary")
        left = sum(len(found) for token, found in HostProcesses().holders().items() if token in self._tokens)
        return LedgerTotals(self._count, summary, sink, len(runs) - 1, still, left, _seconds_to_first_record(runs[-1]))

    def _act(self, action: str, **body: bool) -> None:
        started = time.monotonic()
        self._api.act(self._demo.name, action, timeout=ACTION_TIMEOUT, **body)
        self._remember_tokens()
        self._say(f"{action}: done after {time.monotonic() - started:.1f} s, {self._read():,} records read.")

    def _remember_tokens(self) -> None:
        for run in self._runs():
            identity = Identity.load(Path(run["run_dir"]) / IDENTITY)
            if identity is not None:
                self._tokens.add(identity.token)

    def _await_read(self, part: float) -> None:
        self._await(f"{part:.0%} of the records", lambda: self._read() >= part * self._count)

    def _await(self, what: str, condition: Callable[[], bool]) -> None:
        if not self._interrupt.wait(condition, STEP_TIMEOUT, poll=0.3):
            raise Failed(f"waited {STEP_TIMEOUT:.0f} s for {what}; {self._phase_in_words()}")

    def _read(self) -> int:
        return int(self._api.get(f"/pipelines/{self._demo.name}/ledger/summary")["read"])

    def _phase(self) -> str:
        return str(self._api.get(f"/pipelines/{self._demo.name}")["phase"])

    def _phase_in_words(self) -> str:
        found = self._api.get(f"/pipelines/{self._demo.name}")
        return f"the pipeline is {found['phase']}: {found['phase_message']}"

    def _runs(self) -> list[Json]:
        """Newest first."""
        runs: list[Json] = self._api.get(f"/pipelines/{self._demo.name}/runs")["results"]
        return sorted(runs, key=lambda run: -int(run["number"]))

    def _live_run(self) -> Json:
        live = [run for run in self._runs() if run["state"] == "LIVE"]
        if not live:
            raise Failed("no run is alive to be killed")
        return live[0]

    def _say(self, text: str) -> None:
        self._console.say(text)


def _seconds_to_first_record(run: Json) -> float | None:
    """From the request to start until the sink had acknowledged the first record."""
    if not run["first_record_at"] or not run["start_requested_at"]:
        return None
    first, asked = (datetime.fromisoformat(run[key]) for key in ("first_record_at", "start_requested_at"))
    return (first - asked).total_seconds()
