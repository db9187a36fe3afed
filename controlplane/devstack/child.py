"""A child process of the local stack: started, waited for by condition, stopped by identity.

A record file (pid, start time, boot id) outlives a stack that was killed, so that the next one can end what was left.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from controlplane.provision.errors import SetupError
from pipelines.domain.protocol import boot_id

POLL = 0.05  # seconds between two looks at a condition


@dataclass(frozen=True)
class Service:
    """What to run and how to see that it works. Times are seconds; `env` is added to the stack's own environment."""

    name: str
    argv: Sequence[str]
    is_ready: Callable[[], bool]
    env: Mapping[str, str] = field(default_factory=dict)
    ready_timeout: float = 60.0
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
            record.write_text(json.dumps({"pid": self.process.pid, **_birth(self.process.pid)}))

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_ready(self) -> None:
        """Raise SetupError when the process ends or is not ready within its time."""
        deadline = time.monotonic() + self.service.ready_timeout
        while not self.service.is_ready():
            if not self.alive:
                raise SetupError(
                    f"{self.service.name} ended with exit code {self.process.returncode} before it was ready.",
                    "Its last lines above say why.",
                )
            if time.monotonic() > deadline:
                raise SetupError(
                    f"{self.service.name} was not ready after {self.service.ready_timeout:.0f} s.",
                    "Its last lines above say what it waits for; a loaded machine may need a second try.",
                )
            time.sleep(POLL)

    def stop(self) -> None:
        """SIGTERM, then SIGKILL to the whole session when it has not ended in time. Harmless when it is over."""
        if self.alive:
            self.process.terminate()
            try:
                self.process.wait(self.service.stop_timeout)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(10)
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
    """End the process of a stack that was killed, if the record's process is still that very process.

    Returns whether there was one. The record is removed.
    """
    try:
        found = json.loads(record.read_text())
        process = psutil.Process(found["pid"])
        same = _birth(process.pid) == {key: found[key] for key in ("start_ticks", "boot_id")}
    except (OSError, ValueError, KeyError, psutil.NoSuchProcess):
        same = False
    if same:
        _end(process)
    record.unlink(missing_ok=True)
    return same


def _wait_ready(child: Child, log: Path) -> None:
    try:
        child.wait_ready()
    except SetupError as error:
        raise SetupError(f"{error.message}\n{_tail(log)}", error.hint) from error


def _end(process: psutil.Process) -> None:
    process.terminate()
    try:
        process.wait(20)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(10)


def _birth(pid: int) -> dict[str, int | str]:
    """What makes a process this one and no other with its number: start time in clock ticks, and the boot."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return {"start_ticks": int(stat.rpartition(")")[2].split()[19]), "boot_id": boot_id()}


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
