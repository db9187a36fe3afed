"""The background loops of a worker: which there are, and that the worker starts and stops all of them in order."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings

from controlplane import bootstep
from controlplane.bootstep import SupervisorStep, background_loops
from workers.supervisor.background.loop import BackgroundLoop
from workers.wake import CANARIES, LOOK, WAKE

WORKER: Any = SimpleNamespace(
    app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=["control"])))
)


def test_a_worker_has_one_list_of_loops_with_a_lock_where_a_host_has_only_one_of_a_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CANARIES, "listener", None)
    loops = background_loops(WORKER)
    assert [(loop.name, loop.lock is not None) for loop in loops] == [
        ("canary", False),
        ("supervisor", False),
        ("replays", True),
        ("looks", True),
        ("previews", True),
        ("connections", True),
        ("watch", True),
        ("janitor", True),
        ("deliveries", True),
        ("audit", True),
        ("audit-check", True),
    ]
    assert {loop.name: loop.bell for loop in loops if loop.bell in (WAKE, LOOK)} == {"supervisor": WAKE, "looks": LOOK}
    assert CANARIES.listener is not None


def test_a_worker_that_forwards_the_audit_has_a_loop_for_each_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CANARIES, "listener", None)
    changed = {"audit_syslog": "tls://logs", "audit_otlp": "https://otel"}
    monkeypatch.setattr(settings, "HEADGATE", settings.HEADGATE.model_copy(update=changed))
    loops = background_loops(WORKER)[-2:]
    assert [(loop.name, loop.lock is not None) for loop in loops] == [("audit-syslog", True), ("audit-otlp", True)]


def test_a_worker_that_traces_has_one_loop_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CANARIES, "listener", None)
    monkeypatch.setattr(settings, "HEADGATE", settings.HEADGATE.model_copy(update={"traces": True}))
    traces = background_loops(WORKER)[-1]
    assert (traces.name, traces.lock is not None) == ("traces", True)


def test_a_worker_starts_its_loops_in_order_and_stops_them_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    started, ended = [threading.Event() for _ in range(3)], list[str]()

    def loop(number: int) -> BackgroundLoop:
        def turn() -> float:
            started[number].set()
            return 3600.0

        return BackgroundLoop(f"loop {number}", turn, pause=1.0, close=lambda: ended.append(f"loop {number}"))

    monkeypatch.setattr(bootstep, "background_loops", lambda _worker: [loop(number) for number in range(3)])
    monkeypatch.setattr(bootstep, "_look_up", lambda: None)
    monkeypatch.setattr(bootstep, "spare_what_stays", lambda: None)
    step = SupervisorStep(SimpleNamespace(steps=[]))
    step.start(WORKER)
    assert all(each.wait(60) for each in started)
    step.stop(WORKER)
    step.terminate(WORKER)
    assert ended == ["loop 0", "loop 1", "loop 2"]
