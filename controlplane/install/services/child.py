"""A child process of the local stack: started, waited for by condition, stopped by identity.

A record file outlives a stack that was killed, so that the next one can end what was left.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from controlplane.install.services.interrupt import POLL, Interrupt
from controlplane.install.tools.errors import SetupError
from pipelines.domain.base.files import write_atomically
from pipelines.domain.runs.protocol import ProcessIdentity, boot_id

KILL_TIMEOUT = 10.0  # seconds for the kernel to take away a process that got SIGKILL


@dataclass(frozen=True)
class Service:
    """What to run and how to see that it works. Times are seconds; `env` is added to the stack's own environment."""

    name: str
    argv: Sequence[str]
    is_ready: Callable[[], bool]
    env: Mapping[str, str] = field(default_factory=dict)
    ready_timeout: float = 120.0
    stop_timeout: float = 20.0


class Child:
    """One life of a service, in a session of its own: Ctrl-C reaches the stack alone, which stops in order."""

    def __init__(self, service: Service, *, output: int | IO[bytes], record: Path | None = None) -> None:
        self.service = service
        self._record = record
        self.process = subprocess.Popen(
            service.argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **service.env},
            start_new_session=True,
        )
        if record is not None:
            write_atomically(record, _identify(self.process.pid).model_dump_json().encode())

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_ready(self, interrupt: Interrupt) -> None:
        """Raise SetupError when the process ends or is not ready within its time, Interrupted when asked to stop."""
        in_time = interrupt.wait(lambda: not self.alive or self.service.is_ready(), self.service.ready_timeout)
        if not self.alive:
            raise SetupError(
                f"{self.service.name} ended with exit code {self.process.returncode} before it was ready.",
                "Its last lines above have the reason.",
            )
        if not in_time:
            raise SetupError(
                f"{self.service.name} was not ready after {self.service.ready_timeout:.0f} s.",
                "See its last lines above; a loaded machine may need a second try.",
            )

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """SIGTERM, then SIGKILL when it has not ended in time or `hurry` says so. Harmless when it is over."""
        if self.alive:
            self.process.terminate()
            _await_end(lambda: not self.alive, self.service.stop_timeout, hurry)
        if self.alive:
            self.process.kill()
            self.process.wait(KILL_TIMEOUT)
        self.bury()

    def bury(self) -> None:
        """Kill what an ended process left in its session, and forget it."""
        for process in _members(self.process.pid):
            process.kill()
        if self._record is not None:
            self._record.unlink(missing_ok=True)


@contextmanager
def running(service: Service, log: Path) -> Iterator[Child]:
    """Run a service with its output in `log`, from ready until the end of the block."""
    with log.open("ab") as output:
        child = Child(service, output=output)
    try:
        _wait_ready(child, log)
        yield child
    finally:
        child.stop()


def end_leftover(record: Path) -> bool:
    """End the process of a stack that was killed, with its session, if it is still that very process.

    Returns whether there was one. The record is removed.
    """
    identity = recorded(record)
    process = identified(identity) if identity else None
    if process is not None:
        process.terminate()
        _await_end(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, 20, lambda: False)
        for member in _members(process.pid):
            member.kill()
    record.unlink(missing_ok=True)
    return process is not None


def recorded(record: Path) -> ProcessIdentity | None:
    """The process that a record names; None where there is no record."""
    try:
        return ProcessIdentity.model_validate_json(record.read_bytes())
    except (OSError, ValueError):
        return None


def identified(identity: ProcessIdentity) -> psutil.Process | None:
    """The process, if it is still that very one; a signal through it reaches no later owner of the pid."""
    try:
        process = psutil.Process(identity.pid)
        return process if _identify(identity.pid) == identity else None
    except (OSError, psutil.NoSuchProcess):
        return None


def _wait_ready(child: Child, log: Path) -> None:
    try:
        child.wait_ready(Interrupt())
    except SetupError as error:
        raise SetupError(f"{error.message}\n{_tail(log)}", error.hint) from error


def _await_end(ended: Callable[[], bool], timeout: float, hurry: Callable[[], bool]) -> None:
    deadline = time.monotonic() + timeout
    while not ended() and not hurry() and time.monotonic() < deadline:
        time.sleep(POLL)


def _members(session: int) -> list[psutil.Process]:
    """The processes of a session; psutil sees to it that a signal reaches these and no later owner of a pid."""
    return [process for process in psutil.process_iter() if _session(process.pid) == session]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _identify(pid: int) -> ProcessIdentity:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return ProcessIdentity(pid=pid, start_time=int(stat.rpartition(")")[2].split()[19]), boot_id=boot_id())


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
