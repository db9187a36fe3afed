"""Real workers against each other over one database, in a pid namespace of their own, whose /proc shows nobody else.

`python -m tests.chaos.race DIRECTORY PAIRS` is the first process of the namespace: when it ends, everything in it ends.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Container
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.small_worker import DRIVER, LEASE_SECONDS
from tests.waiting import wait_for

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE = 600.0
SAMPLE_EVERY = 0.05


COMMAND_LINE = b"\0".join(word.encode() for word in [*DRIVER, ""])


def drivers(root: Path, besides: Container[int] = ()) -> dict[str, set[int]]:
    """Living drivers below a directory by pipeline, as /proc shows them."""
    found: dict[str, set[int]] = defaultdict(set)
    for pid in pids():
        if pid in besides:
            continue
        with suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes() == COMMAND_LINE:
                run_dir = Path(f"/proc/{pid}/cwd").readlink()
                if run_dir.is_relative_to(root):
                    found[run_dir.parent.name].add(pid)
    return found


def pids() -> list[int]:
    """Every process; one that is dead has no command line any more."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names only


@dataclass
class Sampler(threading.Thread):
    """Looks at /proc all the time and notes every pipeline that it sees with two drivers."""

    root: Path
    looks: int = 0
    doubled: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._stop_it = threading.Event()

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        """Until told to end. What was there before is no driver of ours."""
        others = frozenset(pids())
        while not self._stop_it.wait(SAMPLE_EVERY):
            self.doubled |= {name for name, found in drivers(self.root, others).items() if len(found) > 1}
            self.looks += 1

    def end(self) -> None:
        """No further look."""
        self._stop_it.set()
        self.join()


class Site:
    """Two workers of host-a, which share a state directory, and one of host-b."""

    def __init__(self, root: Path, pairs: int) -> None:
        self.root = root
        self.pairs = pairs
        self.database = root / "headgate.sqlite3"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._run("host-a", "prepare", str(pairs)).wait(PATIENCE)

    def _run(self, host: str, *words: str) -> subprocess.Popen[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADGATE_", "DJANGO_"))}
        environment = kept | {
            "HEADGATE_STATE": str(self.root / host),
            "HEADGATE_HOST": host,
            "HEADGATE_DATABASE_URL": f"sqlite:///{self.database}",
            "HEADGATE_ALLOWED_NETWORKS": "127.0.0.0/8",
        }
        with (self.root / f"{host}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.small_worker", *words],
                cwd=PROJECT,
                env=environment,
                stdout=log,
                stderr=log,
            )

    def start_workers(self) -> None:
        self.workers = [
            self._run("host-a", "work"),
            self._run("host-a", "work", "silently"),
            self._run("host-b", "work"),
        ]

    def kill_workers(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.workers = []

    def go(self) -> None:
        (self.root / "go").touch()

    def read(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.database, timeout=60)) as database:
            return database.execute(statement).fetchall()

    def write(self, statement: str) -> None:
        with closing(sqlite3.connect(self.database, timeout=60)) as database:
            database.execute(statement)
            database.commit()

    def all_live(self) -> bool:
        """Whether every pipeline has one run, that lives."""
        running = {name for (name,) in self.read("SELECT pipeline_name FROM pipelines_run WHERE state = 'LIVE'")}
        return len(running) == self.pairs == len(drivers(self.root))

    def stop_and_continue(self, worker: subprocess.Popen[bytes], seconds: float) -> None:
        worker.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        worker.send_signal(signal.SIGCONT)

    def supervisor(self) -> subprocess.Popen[bytes]:
        """The worker that has the lease of host-a: to stop another one moves nothing."""
        ((owner,),) = self.read("SELECT json_extract(lease_owner, '$.pid') FROM pipelines_host WHERE name = 'host-a'")
        return next(worker for worker in self.workers if worker.pid == owner)

    def log(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self.root.glob("*.log"))


def race(site: Site) -> None:
    """Pairs of starts; workers stopped past their leases; all of them killed and replaced; everything
    stopped. AssertionError where something is not as it must be."""
    sampler = Sampler(site.root)
    sampler.start()
    site.start_workers()
    site.go()
    dice = random.Random(5)
    wait_for(lambda: drivers(site.root), "the first driver", PATIENCE)
    for worker in (site.supervisor(), *(site.workers[dice.randrange(2)] for _ in range(2))):
        site.stop_and_continue(worker, LEASE_SECONDS * (1 + dice.random()))
    wait_for(site.all_live, "every pipeline has its agent", PATIENCE)
    assert sampler.doubled == set(), site.log()
    assert site.read("SELECT max(lease_epoch) FROM pipelines_host WHERE name = 'host-a'")[0][0] > 1
    before, runs = drivers(site.root), site.read("SELECT pipeline_name, number FROM pipelines_run ORDER BY 1, 2")

    site.kill_workers()
    (site.root / "go").unlink()
    epochs = dict(site.read("SELECT name, lease_epoch FROM pipelines_host"))
    site.start_workers()
    wait_for(
        lambda: all(epoch > epochs[name] for name, epoch in site.read("SELECT name, lease_epoch FROM pipelines_host")),
        "new supervisors look after both hosts",
        PATIENCE,
    )
    ticks = "SELECT count(*) FROM pipelines_host WHERE tick_ms IS NOT NULL"
    site.write("UPDATE pipelines_host SET tick_ms = NULL")
    wait_for(lambda: site.read(ticks)[0][0] == 2, "each of them has finished a tick", PATIENCE)
    assert drivers(site.root) == before, "agents outlive every worker"
    assert site.read("SELECT pipeline_name, number FROM pipelines_run ORDER BY 1, 2") == runs, "and are adopted"

    site.write("UPDATE pipelines_pipeline SET desired_state='STOPPED', generation=generation+1, drain_on_stop=0")
    wait_for(lambda: not drivers(site.root), "every agent has ended", PATIENCE)
    ended = "SELECT count(*) FROM pipelines_run WHERE state = 'ENDED'"
    wait_for(lambda: site.read(ended)[0][0] == len(runs), "every run has ended", PATIENCE)
    sampler.end()
    assert sampler.looks > 10
    assert sampler.doubled == set()


if __name__ == "__main__":
    race(Site(Path(sys.argv[1]), int(sys.argv[2])))
    sys.stdout.write("one holder at most, always\n")
