"""A worker beside a Redis that is killed, emptied and full: it hears again, or ends itself to be started anew."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery

from controlplane.devstack.services import worker_service
from controlplane.install.services.child import Child, Service
from controlplane.install.services.interrupt import Interrupt
from controlplane.install.services.ports import free_port
from controlplane.install.services.redis import redis_service, redis_url
from tests.chaos.extent import WHOLE
from tests.chaos.installation import PROJECT, wait_for
from workers.supervisor.background.broker_connection import EXIT_BROKER_UNRESPONSIVE

HOST = "broker-connection"
ROUNDS = 20 if WHOLE else 2
HEALTHY_WITHIN = 10.0
BUSY_LOAD = 10.0
STARTS_WITHIN = 180.0


@dataclass
class Bench:
    """A Redis and a worker, and what restarts the worker as systemd would."""

    directory: Path
    port: int = field(default_factory=free_port)
    broker: Child | None = None
    worker: Child | None = None
    restarts: int = 0

    @property
    def env(self) -> dict[str, str]:
        return {
            "HEADGATE_STATE": str(self.directory / "state"),
            "HEADGATE_HOST": HOST,
            "HEADGATE_REDIS_URL": redis_url(self.directory / "redis", self.port),
            "HEADGATE_DATABASE_URL": f"sqlite:///{self.directory / 'headgate.sqlite3'}",
            "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        }

    @property
    def client(self) -> redis.Redis:
        return redis.Redis.from_url(
            redis_url(self.directory / "redis", self.port), socket_timeout=2, socket_connect_timeout=2
        )

    @property
    def log(self) -> str:
        return (self.directory / "worker.log").read_text(errors="replace")

    def start_redis(self) -> None:
        service = redis_service(data_dir=self.directory / "redis", port=self.port)
        self.broker = Child(service, output=subprocess.DEVNULL)
        self.broker.wait_ready(Interrupt())

    def kill_redis(self) -> None:
        assert self.broker is not None
        self.broker.process.kill()
        self.broker.process.wait(10)

    def start_worker(self) -> None:
        service = worker_service(host=HOST, env=self.env, is_ready=lambda: True)
        # One test makes the worker deaf by remote control, which is off otherwise.
        argv = [*service.argv, "--", "worker.enable_remote_control=true"]
        with (self.directory / "worker.log").open("ab") as log:
            self.worker = Child(Service(service.name, argv, service.is_ready, service.env), output=log.fileno())

    def revive_worker(self) -> bool:
        """Start the worker again if it has ended; its end must be the one it announces."""
        assert self.worker is not None
        if self.worker.alive:
            return False
        assert self.worker.process.returncode == EXIT_BROKER_UNRESPONSIVE, self.log[-3000:]
        self.worker.bury()
        self.restarts += 1
        self.start_worker()
        return True

    def probe(self, queue: str) -> str:
        """Send a canary in the name of another host; a worker that hears passes it on to that host's queue."""
        sender = f"probe-{uuid.uuid4().hex[:12]}"
        app = Celery("probe", broker=redis_url(self.directory / "redis", self.port))
        with app.connection_for_write() as connection:
            app.send_task("workers.canary", args=[sender, queue, 0.0], queue=queue, connection=connection)
        return sender

    def received(self, sender: str) -> bool:
        with suppress(redis.RedisError):
            return bool(self.client.llen(f"host.{sender}"))
        return False

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env=os.environ | self.env,
            timeout=300,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def messages(self) -> dict[str, Any]:
        """What the database says of the host's messages."""
        with closing(sqlite3.connect(self.directory / "headgate.sqlite3", timeout=10)) as database:
            row = database.execute("SELECT messages FROM pipelines_host").fetchone()
        found: dict[str, Any] = json.loads(row[0]) if row else {}
        return found


@contextmanager
def load(bench: Bench) -> Iterator[None]:
    """Wake-ups as fast as Redis takes them."""
    over = threading.Event()

    def push() -> None:
        while not over.is_set():
            with suppress(redis.RedisError):
                bench.client.xadd("headgate:events", {"kind": "live", "data": "x" * 500}, maxlen=1000)
            over.wait(0.005)

    thread = threading.Thread(target=push, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("broker_connection"))
    made.run("migrate", "--verbosity", "0")
    made.start_redis()
    made.start_worker()
    try:
        yield made
    finally:
        for child in (made.worker, made.broker):
            if child is not None:
                child.stop()


@pytest.fixture
def bench(made: Bench) -> Bench:
    """A worker that hears, and has said so."""
    started = datetime.now(UTC).isoformat()
    made.revive_worker()
    wait_for(lambda: _healthy_since(made.messages(), started), STARTS_WITHIN, f"the worker hears: {made.log[-2000:]}")
    return made


def _healthy_since(messages: dict[str, Any], started: str) -> bool:
    return messages.get("state") == "HEALTHY" and messages["at"] > started


def _patience() -> float:
    """Ten seconds, and a moment to end for a worker that was deaf for so long. On a machine that runs other tests, too,
    or has far more to do than it can, a bound says nothing of the worker."""
    return HEALTHY_WITHIN + 5.0 if WHOLE and os.getloadavg()[0] < BUSY_LOAD else 12 * HEALTHY_WITHIN


def is_healthy(bench: Bench, within: float) -> bool:
    """Whether the worker hears on both of its queues in time; False where it was started again instead."""
    probes = [bench.probe(queue) for queue in ("control", f"host.{HOST}")]
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if bench.revive_worker():
            return False
        if all(bench.received(probe) for probe in probes):
            return True
        time.sleep(0.05)
    raise AssertionError(f"neither heard nor restarted within {within:g} s: {bench.log[-3000:]}")


def test_a_worker_hears_again_after_every_restart_of_redis_or_is_restarted(bench: Bench, record_property: Any) -> None:
    """Row 9: Redis is killed, stays away for a moment, comes back empty; now and then it is emptied while it runs."""
    rng = random.Random(22)
    times: list[float] = []
    with load(bench):
        for _ in range(ROUNDS):
            if rng.random() < 0.25:
                bench.client.flushall()
            else:
                bench.kill_redis()
                time.sleep(rng.choice([0.0, 0.2, 1.0, 3.0]))
                bench.start_redis()
            started = time.monotonic()
            if is_healthy(bench, _patience()):
                times.append(time.monotonic() - started)
            else:
                assert is_healthy(bench, STARTS_WITHIN)
    record_property("recovery_seconds", max(times, default=0.0))
    record_property("tries", ROUNDS)
    assert bench.worker is not None
    assert bench.worker.alive


def test_a_deaf_worker_ends_itself_with_a_code_of_its_own_and_its_beat_ends_with_it(bench: Bench) -> None:
    """Celery itself is told to stop listening to the host's queue: the worker lives, ticks, and hears nothing there."""
    worker = bench.worker
    assert worker is not None
    Celery("probe", broker=redis_url(bench.directory / "redis", bench.port)).control.cancel_consumer(f"host.{HOST}")
    wait_for(lambda: not worker.alive, 120, "the worker ends itself")
    assert worker.process.returncode == EXIT_BROKER_UNRESPONSIVE, bench.log[-3000:]
    assert "broker_connection_unresponsive" in bench.log
    wait_for(lambda: not _session(worker.process.pid), 60, "nothing of the worker is left")


def _session(pid: int) -> list[int]:
    """Living processes of the worker's session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                if int(fields[3]) == pid and fields[0] not in (b"Z", b"X"):
                    found.append(int(entry.name))
    return found


def test_messages_that_no_process_of_headgate_wrote_end_no_worker(bench: Bench) -> None:
    no_task = json.dumps({"body": "@", "headers": {}, "properties": {"delivery_tag": "1"}})
    bench.client.lpush(f"host.{HOST}", b"\xff", "{", "[]", "{}", no_task)
    assert is_healthy(bench, _patience()), f"the worker ended itself: {bench.log[-3000:]}"
    assert "messages_refused" in bench.log


def test_a_queue_that_is_made_something_else_ends_no_worker(bench: Bench) -> None:
    bench.client.set(f"host.{HOST}", "no queue")
    try:
        wait_for(lambda: "Connection to broker lost" in bench.log, 120, "the worker has met it")
        wait_for(lambda: bench.messages().get("state") == "REFUSED", 120, "the host says which queue is refused")
        assert f"host.{HOST}" in bench.messages()["detail"]
    finally:
        bench.client.delete(f"host.{HOST}")
    assert is_healthy(bench, _patience()), f"the worker ended itself: {bench.log[-3000:]}"


def test_a_full_redis_is_an_error_that_can_be_seen(bench: Bench) -> None:
    """Row 10: messages are refused; the host says so, and hears again when there is room."""
    bench.client.config_set("maxmemory", "1")
    try:
        wait_for(lambda: bench.messages().get("state") == "FULL", 120, "the host says that Redis is full")
    finally:
        bench.client.config_set("maxmemory", "128mb")
    assert bench.worker is not None
    assert bench.worker.alive
    wait_for(lambda: bench.messages().get("state") == "HEALTHY", 120, "the host hears again")
