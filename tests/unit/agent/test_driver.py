"""Decisions of the driver: a promotion that it obeys, memory that it gives back, a watchdog that it arms."""

from __future__ import annotations

import faulthandler
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.base.states import AgentPhase, Command
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control, Promotion
from workers.agent import driver as driving
from workers.agent.driver import Driver
from workers.agent.run_dir.signals import Signals
from workers.agent.spark import idle
from workers.agent.spark.idle import IdleCollector

EPOCH = 7


class FakeLauncher:
    """Queries that do not exist, and what the driver asked for."""

    def __init__(self, *_: object) -> None:
        self.queries: list[Any] = []
        self.prepared = self.started = True
        self.initialised_in = 1.0
        self.session = SimpleNamespace(spark=SimpleNamespace())
        self.survey = None
        self.components = SimpleNamespace(states=list)
        self.promoted = threading.Event()

    def ingest_buffers(self) -> list[Any]:
        return []

    def promote(self, _: object) -> list[Any]:
        self.promoted.set()
        self.prepared = False
        return []


Make = Callable[..., Driver]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(driving, "Launcher", FakeLauncher)

    def of(epoch: int = 0) -> Driver:
        launch: Any = SimpleNamespace(epoch=epoch, token="ours", promoted=lambda _: None)
        lifecycle = SimpleNamespace(cancel_timeout=30.0, heartbeat_interval=5.0)
        jvm: Any = SimpleNamespace(process=SimpleNamespace(poll=lambda: None))
        return Driver(tmp_path, launch, SimpleNamespace(lifecycle=lifecycle), jvm)  # type: ignore[arg-type]

    return of


def granted(path: Path, epoch: int, token: str) -> None:
    Promotion(token=token, epoch=epoch, lineage=1, checkpoint_root="", heads=[]).store(path / protocol.PROMOTE)


def test_a_promotion_of_this_run_opens_the_gate_as_the_standing_order_says(make: Make, tmp_path: Path) -> None:
    granted(tmp_path, EPOCH, "ours")
    driver = make()
    Control(seq=1, command=Command.RUN, boot_id=protocol.boot_id(), issued_at=0).store(tmp_path / protocol.CONTROL)
    driver._receive_promotion(EPOCH, lock=0)
    driver._tick()
    assert driver._gate.granted
    assert driver._gate.position.value == "open"
    assert driver._launcher.promoted.wait(60)  # type: ignore[attr-defined]
    assert driver._ending is None


@pytest.mark.parametrize(
    "promotion",
    [None, (EPOCH - 1, "ours"), (EPOCH + 1, "ours"), (EPOCH, "another's")],
    ids=["no file", "an older epoch", "a newer epoch", "another run's"],
)
def test_a_promotion_that_is_not_of_this_run_and_epoch_ends_the_standby(
    make: Make, tmp_path: Path, promotion: tuple[int, str] | None
) -> None:
    if promotion:
        granted(tmp_path, *promotion)
    driver = make()
    driver._receive_promotion(EPOCH, lock=0)
    driver._tick()
    assert driver._ending is not None
    assert driver._ending.code == protocol.Exit.BAD_LAUNCH
    assert not driver._gate.granted
    assert not driver._launcher.promoted.is_set()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("started", "phase", "lag", "resting"),
    [
        (True, AgentPhase.PAUSED, 5, True),
        (True, AgentPhase.RUNNING, 0, True),
        (True, AgentPhase.RUNNING, 5, False),
        (True, AgentPhase.PAUSING, 5, False),
        (False, AgentPhase.PAUSED, 0, False),
    ],
)
def test_the_idle_look_counts_a_pause_and_a_source_with_nothing_to_read_as_rest(
    make: Make, started: bool, phase: AgentPhase, lag: int, resting: bool
) -> None:
    looks: list[bool] = []
    driver = make(EPOCH)
    driver._idle = SimpleNamespace(check=lambda _, resting: looks.append(resting))  # type: ignore[assignment]
    query = SimpleNamespace(moving=True, settled=True, statuses=lambda: [SimpleNamespace(lag=lag)])
    driver._launcher.queries, driver._launcher.started, driver._phase = [query], started, phase  # type: ignore[list-item]
    driver._collect_when_idle()
    assert looks == [resting]


def test_memory_is_given_back_once_in_each_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    now, collected = [1000.0], threading.Semaphore(0)
    monkeypatch.setattr(idle, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(idle, "_collect", lambda _: collected.release())
    collector = IdleCollector()

    def looks(after: float, *, resting: bool) -> bool:
        now[0] += after
        collector.check(SimpleNamespace(), resting=resting)  # type: ignore[arg-type]
        for thread in threading.enumerate():
            if thread.name == "collect":
                thread.join(60)
        return collected.acquire(blocking=False)

    assert not looks(0, resting=False)
    assert not looks(10, resting=True), "the rest begins"
    assert not looks(2.9, resting=True)
    assert looks(0.2, resting=True)
    assert not looks(60, resting=True), "once"
    assert not looks(1, resting=False)
    assert not looks(1, resting=True), "another rest"
    assert looks(3.1, resting=True)


@pytest.mark.parametrize(
    ("kill_at", "left"),
    [(110.0, 10.5), (200.0, 102.0), (90.0, 2.0), (100.0, 2.0)],
    ids=["short", "long", "over", "now"],
)
def test_the_watchdog_leaves_the_kill_to_the_keeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: float, left: float
) -> None:
    armed: list[float] = []
    monkeypatch.setattr("workers.agent.run_dir.signals.boottime", lambda: 100.0)
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda seconds, **_: armed.append(seconds))
    signals = Signals(tmp_path, lambda: None)
    with (tmp_path / "stacks").open("w") as stacks:
        signals._stacks = stacks
        signals.arm_watchdog(kill_at, since=100.0)
        signals.arm_watchdog(None, since=100.0)
    assert armed == [pytest.approx(left)]
