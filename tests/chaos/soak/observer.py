"""`python -m tests.chaos.soak.observer TASK OUT`: looks every few seconds at the API and at what it measures itself.

One line of JSON per look and per disagreement goes to OUT, until SIGTERM. A process of its own: it shares nothing with
what injects the faults, and knows nothing of them.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx2

from tests.chaos.soak import measuring
from tests.chaos.soak.measuring import Arrival, Files, Group, Topic, Unreadable
from tests.chaos.soak.truth import Judge, Measured, Patience, Shown, Standing, disagreements, steady

EVERY = 2.0
_ANSWERS_WITHIN = 6.0
_PROBE_EVERY = 1.0


@dataclass(frozen=True)
class Watched:
    """A pipeline: topics and group."""

    name: str
    source: str
    sink: str
    group: str


@dataclass(frozen=True)
class Task:
    """What to look at. `direct`, `source`, `sink`: addresses of the broker for the observer and for the pipelines.
    `slack`: records by which a shown lag may be off."""

    state: str
    url: str
    token: str
    direct: str
    source: str
    sink: str
    pipelines: tuple[Watched, ...]
    slack: int
    patience: Patience

    @classmethod
    def load(cls, path: Path) -> Task:
        """As `store` wrote it."""
        content = json.loads(path.read_text())
        watched = tuple(Watched(**each) for each in content["pipelines"])
        return cls(**content | {"pipelines": watched, "patience": Patience(**content["patience"])})

    def store(self, path: Path) -> None:
        """Only its owner may read the token."""
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self)))


class Page:
    """The API as the page asks it; None where it does not answer."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Token {token}"}
        self._http = httpx2.Client(base_url=f"{url}/api/v1", headers=headers, timeout=_ANSWERS_WITHIN)

    def shown(self, name: str) -> Shown | None:
        """What is said of a pipeline now."""
        answers = []
        for path in (f"/pipelines/{name}/status", f"/pipelines/{name}/ledger/summary", f"/alerts?pipeline={name}"):
            try:
                answer = self._http.get(path)
            except httpx2.TransportError:
                return None
            if answer.is_error:
                return Shown(refused=_code(answer))
            answers.append(answer.json())
        status, ledger, alerts = answers
        return shown(status, ledger, alerts["results"])


def _code(response: httpx2.Response) -> str:
    try:
        return str(response.json()["code"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}"


def shown(status: dict[str, Any], ledger: dict[str, Any], alerts: list[dict[str, Any]]) -> Shown:
    """The answers of the API in one."""
    return Shown(
        phase=status["phase"],
        desired=status["desired_state"],
        supervised=status["supervised"],
        alerts=frozenset(each["rule"] for each in alerts if each["state"] != "RESOLVED"),
        conditions={each["type"]: each["status"] for each in status["conditions"]},
        lag=status["live"]["lag_records"],
        read=ledger["read"],
        delivered=ledger["delivered"],
        balanced=ledger["balanced"],
        duplicates_max=ledger["duplicates_max"],
        positions={each["partition"]: each["next_offset"] for each in ledger["positions"]},
    )


class Probe(threading.Thread):
    """Asks an address once a second, so that no look waits for one that is away."""

    def __init__(self, servers: str) -> None:
        super().__init__(daemon=True)
        self.answers = True
        self._servers = servers

    def run(self) -> None:
        while True:
            self.answers = measuring.answers(self._servers)
            time.sleep(_PROBE_EVERY)


class Eyes:
    """What is measured of one pipeline."""

    def __init__(self, task: Task, pipeline: Watched, source: Probe, sink: Probe) -> None:
        self._task, self._pipeline = task, pipeline
        self._state = Path(task.state)
        self._probes = source, sink
        self._files = Files()
        self._source, self._sink = Topic(task.direct, pipeline.source), Topic(task.direct, pipeline.sink)
        self._arrival = Arrival()
        self._grown = 0, time.monotonic()

    def now(self) -> Measured:
        """Processes, files, and who can be reached."""
        found = measuring.processes()
        own = [each for each in measuring.groups(self._state / "runs", found) if self._is_ours(each)]
        whole = [self._files.whole(group.run) for group in own if group.driver]
        source, sink = self._probes
        return Measured(
            agents=tuple(group.agent() for group in own),
            whole=all(whole),
            source=source.answers,
            sink=sink.answers,
            worker=measuring.service_lives(self._state, "worker", found),
            web=measuring.service_lives(self._state, "web", found),
            database=measuring.can_be_written(self._state / "headgate.sqlite3"),
        )

    def _is_ours(self, group: Group) -> bool:
        return group.run.parent.name == self._pipeline.name

    def counted(self, measured: Measured, said: Shown | None) -> Measured:
        """The same with the numbers of its topics, read after the API has answered."""
        try:
            records, ends = self._sink.read_on(), self._source.read_on()
        except Unreadable:
            return measured
        positions = dict(said.positions) if said is not None else {}
        return replace(
            measured,
            ends=ends,
            committed=measuring.committed(self._task.direct, self._pipeline.group, self._pipeline.source),
            records=records,
            doubled=self._sink.doubled,
            lost=self._arrival.lost(self._source, self._sink, positions),
            still=self._still(records),
        )

    def _still(self, records: int) -> float:
        known, since = self._grown
        now = time.monotonic()
        if records != known:
            self._grown = records, now
            return 0.0
        return round(now - since, 1)


class Observer(threading.Thread):
    """Looks at one pipeline and writes what it finds."""

    def __init__(
        self, task: Task, pipeline: Watched, eyes: Eyes, write: Callable[[dict[str, Any]], None], over: threading.Event
    ) -> None:
        super().__init__()
        self._task, self._pipeline, self._eyes, self._write, self._over = task, pipeline, eyes, write, over
        self._page = Page(task.url, task.token)
        self._judge = Judge(task.patience)

    def run(self) -> None:
        while not self._over.is_set():
            started = time.monotonic()
            self.look()
            self._over.wait(max(0.0, EVERY - (time.monotonic() - started)))

    def look(self) -> None:
        """Once, at the page between two looks at the machine."""
        before = self._eyes.now()
        said = self._page.shown(self._pipeline.name)
        at = time.monotonic()
        measured = self._eyes.counted(steady(before, self._eyes.now()), said)
        found = disagreements(said, measured, self._task.slack)
        both = _plain(said, measured)
        self._write({"at": at, "pipeline": self._pipeline.name, "found": found, **both})
        for each in self._judge.look(self._pipeline.name, found, at):
            self._write(_told(each) | both)


def _told(each: Standing) -> dict[str, Any]:
    return {
        "disagreement": each.kind,
        "pipeline": each.pipeline,
        "since": each.since,
        "until": each.until,
        "seconds": each.seconds,
        "detail": each.detail,
    }


def _plain(said: Shown | None, measured: Measured) -> dict[str, Any]:
    shown = None if said is None else asdict(said) | {"alerts": sorted(said.alerts)}
    return {"shown": shown, "measured": asdict(measured) | {"healthy": measured.healthy}}


def main(task: Path, out: Path) -> int:
    """Look until SIGTERM."""
    given, over, lock = Task.load(task), threading.Event(), threading.Lock()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    source, sink = Probe(given.source), Probe(given.sink)
    with out.open("a", buffering=1) as file:

        def write(line: dict[str, Any]) -> None:
            with lock:
                print(json.dumps(line), file=file)

        observers = [Observer(given, each, Eyes(given, each, source, sink), write, over) for each in given.pipelines]
        for thread in (source, sink, *observers):
            thread.start()
        for observer in observers:
            observer.join()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
