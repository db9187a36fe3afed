"""What the supervisor may expect of `Processes`, of the real host and of the fake one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from pipelines.domain.runs.protocol import TOKEN_VARIABLE, Handover, ProcessIdentity
from tests.waiting import wait_for
from workers.adapters.processes import HostProcesses
from workers.ports import Processes
from workers.simulated.host import SimulatedHost

SLEEP = "import time; time.sleep(60)"
KEEPER = "import os, sys, time; os.fork() and os._exit(0); os.setsid(); time.sleep(60)"


@dataclass
class Subject:
    """An implementation, and ways to start a process with a token, to end one, and to halt one."""

    processes: Processes
    start: Callable[[str | None], ProcessIdentity]
    end: Callable[[ProcessIdentity], None]
    halt: Callable[[ProcessIdentity], None]


def _real() -> Iterator[Subject]:
    processes = HostProcesses(keeper=(sys.executable, "-c", KEEPER))
    children: list[subprocess.Popen[bytes]] = []

    def start(token: str | None) -> ProcessIdentity:
        environment = {**os.environ, **({TOKEN_VARIABLE: token} if token else {})}
        children.append(subprocess.Popen([sys.executable, "-c", SLEEP], env=environment))
        pid = children[-1].pid
        wait_for(Path(f"/proc/{pid}/environ").read_bytes, "an environment, which a process in exec does not show")
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot_id = processes.current().boot_id
        return ProcessIdentity(pid=pid, start_time=int(stat[19]), boot_id=boot_id)

    def end(identity: ProcessIdentity) -> None:
        """The child becomes a zombie."""
        (child,) = [child for child in children if child.pid == identity.pid]
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    yield Subject(processes, start, end, lambda identity: os.kill(identity.pid, signal.SIGSTOP))
    for child in children:
        child.kill()
        child.wait()


def _fake() -> Iterator[Subject]:
    host = SimulatedHost()

    def end(identity: ProcessIdentity) -> None:
        host.processes[identity.pid].alive = False

    def halt(identity: ProcessIdentity) -> None:
        host.processes[identity.pid].halted = True

    yield Subject(host, lambda token: host.start(token).identity, end, halt)


@pytest.fixture(params=[_real, _fake], ids=["real", "fake"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    yield from request.param()


@pytest.fixture
def token() -> str:
    return uuid4().hex


def test_holders_are_the_living_processes_with_the_token(subject: Subject, token: str) -> None:
    first, second = subject.start(token), subject.start(token)
    subject.start(None)
    assert set(subject.processes.holders()[token]) == {first, second}


def test_a_zombie_is_not_a_process(subject: Subject, token: str) -> None:
    process = subject.start(token)
    subject.end(process)
    assert token not in subject.processes.holders()
    assert not subject.processes.is_alive(process)


def test_a_process_that_is_halted_is_seen_and_lives_on(subject: Subject, token: str) -> None:
    halted, other = subject.start(token), subject.start(token)
    subject.halt(halted)
    wait_for(lambda: subject.processes.holders() and halted in subject.processes.halted(), "it is halted")
    assert set(subject.processes.holders()[token]) == {halted, other}
    assert set(subject.processes.halted()) & {halted, other} == {halted}


def test_a_process_is_killed_when_everything_about_it_matches(subject: Subject, token: str) -> None:
    process = subject.start(token)
    assert subject.processes.kill(process, token)
    deadline = time.monotonic() + 10
    while subject.processes.is_alive(process):
        assert time.monotonic() < deadline
    assert token not in subject.processes.holders()


@pytest.mark.parametrize("change", [{"start_time": 1}, {"boot_id": "another"}])
def test_a_reused_pid_or_another_boot_is_never_signalled(
    subject: Subject, token: str, change: dict[str, object]
) -> None:
    process = subject.start(token)
    assert not subject.processes.kill(process.model_copy(update=change), token)
    assert subject.processes.is_alive(process)


def test_a_bystander_without_the_token_is_never_signalled(subject: Subject, token: str) -> None:
    bystander = subject.start(None)
    assert not subject.processes.kill(bystander, token)
    assert subject.processes.is_alive(bystander)


def test_a_process_that_is_gone_is_not_signalled(subject: Subject, token: str) -> None:
    process = subject.start(token)
    subject.end(process)
    assert not subject.processes.kill(process, token)


def test_the_current_process_is_alive(subject: Subject) -> None:
    assert subject.processes.is_alive(subject.processes.current())


def test_a_spawned_keeper_carries_the_token_when_the_call_returns(subject: Subject, token: str, tmp_path: Path) -> None:
    subject.processes.spawn_keeper(tmp_path, token, Handover())
    (keeper,) = subject.processes.holders()[token]
    assert subject.processes.kill(keeper, token)


def test_a_keeper_inherits_no_secrets_and_leads_a_session_of_its_own(
    monkeypatch: pytest.MonkeyPatch, token: str, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADGATE_SECRET_KEY", "canary")
    processes = HostProcesses(keeper=(sys.executable, "-c", KEEPER))
    processes.spawn_keeper(tmp_path, token, Handover())
    (keeper,) = processes.holders()[token]
    try:
        environment = Path(f"/proc/{keeper.pid}/environ").read_bytes()
        assert b"canary" not in environment
        assert os.getsid(keeper.pid) != os.getsid(0)
    finally:
        processes.kill(keeper, token)


def test_a_keeper_that_fails_at_once_is_an_error_that_says_where_to_look(tmp_path: Path, token: str) -> None:
    processes = HostProcesses(keeper=(sys.executable, "-c", "import sys; sys.exit('no')"))
    with pytest.raises(OSError, match=r"keeper\.log"):
        processes.spawn_keeper(tmp_path, token, Handover())
    assert (tmp_path / "keeper.log").read_text() == "no\n"
