from __future__ import annotations

import io
import multiprocessing
import sys
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from controlplane.devstack.console import Console
from controlplane.devstack.lock import only_stack
from controlplane.devstack.stack import Stack, _Member
from controlplane.install.services.child import Service
from controlplane.install.services.interrupt import Interrupt, Interrupted
from controlplane.install.tools.errors import SetupError


def service(name: str = "thing", script: str = "import time; print('hello', flush=True); time.sleep(60)") -> Service:
    return Service(name, [sys.executable, "-c", script], is_ready=lambda: True, stop_timeout=10)


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def stack(tmp_path: Path, out: io.StringIO) -> Iterator[Stack]:
    stack = Stack(Console(out), Interrupt(), tmp_path / "up")
    stack.clear_leftovers()
    yield stack
    stack.stop()


def test_a_service_that_is_killed_comes_back_with_a_new_process(stack: Stack, out: io.StringIO) -> None:
    stack.start(service())
    (member,) = stack._members
    first = member.child.process
    first.kill()
    assert Interrupt().wait(lambda: member.child.process is not first and member.child.alive, timeout=20)
    assert "thing ended (SIGKILL); the next start is in 1 s." in out.getvalue()


def test_one_service_is_stopped_and_stays_so_while_others_run(stack: Stack) -> None:
    stack.start(service("one"), service("other"))
    one, other = stack._members
    stack.stop_one("one")
    stack.stop_one("one")
    assert (one.child.alive, other.child.alive, stack.runs("one"), stack.runs("other")) == (False, True, False, True)
    stack.start(service("one"))
    assert stack.runs("one")


def test_the_wait_before_a_restart_doubles_and_begins_anew_after_a_healthy_minute(stack: Stack) -> None:
    stack.start(service())
    stack.stop()
    stack._members.append(member := _dead_member(stack))
    delays = []
    for now in (10.0, 20.0, 30.0, 200.0):
        stack._revive(member, now)
        delays.append((member.due_at or 0) - now)
        member.due_at = None
    assert delays == [1.0, 2.0, 4.0, 1.0]


def _dead_member(stack: Stack) -> _Member:
    dead = service(script="")
    child = stack._spawn(dead)
    child.process.wait(10)
    return _Member(dead, child, started_at=9.0)


def test_stop_ends_the_last_started_first(stack: Stack, out: io.StringIO) -> None:
    stack.start(service("first"))
    stack.start(service("second"))
    stack.stop()
    said = [line.split("| ")[1] for line in out.getvalue().splitlines() if "Stopping" in line]
    assert said == ["Stopping second.", "Stopping first."]


def test_a_service_that_fails_at_first_is_stopped_with_the_rest(stack: Stack, tmp_path: Path) -> None:
    bad = Service("bad", [sys.executable, "-c", "raise SystemExit(3)"], is_ready=lambda: False, ready_timeout=20)
    with pytest.raises(SetupError, match="bad ended with exit code 3"):
        stack.start(service("good"), bad)
    good = stack._members[0].child
    stack.stop()
    assert not good.alive
    assert list((tmp_path / "up").iterdir()) == []


def test_a_stop_that_was_asked_for_ends_a_wait() -> None:
    interrupt = Interrupt()
    interrupt._receive()
    with pytest.raises(Interrupted):
        interrupt.wait(lambda: False, timeout=60)
    assert not interrupt.hurry
    interrupt._receive()
    assert interrupt.hurry


def _hold(state: Path, held: Event, release: Event) -> None:
    with only_stack(state):
        held.set()
        release.wait(30)


def test_a_second_stack_on_the_same_state_is_refused_with_the_first_ones_process(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    first = context.Process(target=_hold, args=(tmp_path, held, release))
    first.start()
    assert held.wait(30)
    with pytest.raises(SetupError, match=rf"process {first.pid}\b"), only_stack(tmp_path):
        pass
    release.set()
    first.join(30)
    with only_stack(tmp_path):
        pass
