"""Processes through /proc and pidfd. The only place that spawns a keeper or sends a signal.

A run is recognised by its token in /proc/PID/environ, never by a pid alone: pids are used again.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import workers
from pipelines.domain.runs.protocol import TOKEN_VARIABLE, AgentUser, Handover, ProcessIdentity, boot_id
from workers.keeper.account import of_another_user
from workers.ports import TokenHolders

_PROC = Path("/proc")
_MARK = f"\0{TOKEN_VARIABLE}=".encode()
_CHILD_VARIABLE = "HEADGATE_CHILD"
_CHILD_MARK = f"\0{_CHILD_VARIABLE}=".encode()
_LOOKS = 2
"""A process shows no environment while it executes another program: it is looked for again."""
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH")
"""Variables that a keeper inherits. Anything else could hold a secret."""
_PROJECT = Path(workers.__file__).resolve().parent.parent
_KEEPER = (sys.executable, "-m", "workers.keeper")
_DETACH_TIMEOUT = 10.0
_READ_BYTES = 8 * 1024
"""At a time: a larger buffer is mapped and unmapped again for each of thousands of files in a tick."""
_MOST = 128 * 1024
"""A process can name any part of its memory as its environment: it is not read to its end. That of a run is smaller."""
_KEEPER_LOG = "keeper.log"
_HALTED = frozenset({"T", "t"})
"""States of a process that a signal or a debugger has stopped."""


class Child(subprocess.Popen[bytes]):
    """A child in a session of its own, as the pipeline's user where it has one. `passed_on`: the only variables of the
    worker's that it has, and no directory of the worker's for another user; `streams`: those of `Popen`. It has a
    token, which what it starts inherits."""

    def __init__(
        self, argv: Sequence[str], user: AgentUser | None, *, passed_on: Collection[str], **streams: Any
    ) -> None:
        self._mark = secrets.token_hex(16)
        switch: dict[str, Any] = (
            {} if user is None else {"user": user.uid, "group": user.gid, "extra_groups": user.groups}
        )
        environment = {name: os.environ[name] for name in passed_on if name in os.environ}
        environment = environment if user is None else of_another_user(environment)
        super().__init__(
            argv,
            start_new_session=True,
            cwd=_PROJECT,
            env={**environment, "PYTHONPATH": str(_PROJECT), _CHILD_VARIABLE: self._mark},
            **streams,
            **switch,
        )

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self.poll() is None

    def end(self) -> None:
        """Kill it and what it has started, processes of groups of their own included, and wait for it."""
        self.kill()
        self.wait()
        for _ in range(_LOOKS):
            for pid in filter(self._has_started, _pids()):
                _kill_if(pid, partial(self._has_started, pid))

    def _has_started(self, pid: int) -> bool:
        return _token(pid, _CHILD_MARK) == self._mark


class HostProcesses:
    """`workers.ports.Processes` on Linux. `keeper` is the argv before the run directory."""

    def __init__(self, keeper: Sequence[str] = _KEEPER) -> None:
        self._keeper = tuple(keeper)
        self._boot_id = boot_id()
        self._halted: frozenset[ProcessIdentity] = frozenset()
        self._known: dict[int, ProcessIdentity] = {}

    def holders(self) -> TokenHolders:
        found: dict[str, list[ProcessIdentity]] = defaultdict(list)
        halted, known = set(), {}
        for pid in self.pids():
            token = _token(pid)
            state, identity = self._seen(pid) if token else ("", None)
            if token and identity:
                found[token].append(identity)
                known[pid] = identity
                if state in _HALTED:
                    halted.add(identity)
        self._halted, self._known = frozenset(halted), known
        return {token: tuple(processes) for token, processes in found.items()}

    def halted(self) -> frozenset[ProcessIdentity]:
        return self._halted

    def pids(self) -> Iterator[int]:
        """Everything that may be a process of a run."""
        return _pids()

    def is_alive(self, process: ProcessIdentity) -> bool:
        return self._identify(process.pid) == process

    def current(self) -> ProcessIdentity:
        identity = self._identify(os.getpid())
        if identity is None:
            raise OSError("/proc does not show this process; is /proc mounted?")
        return identity

    def kill(self, process: ProcessIdentity, token: str) -> bool:
        return _kill_if(process.pid, lambda: self.is_alive(process) and _token(process.pid) == token)

    def spawn_keeper(self, run_dir: Path, token: str, handover: Handover) -> None:
        """The first process of the keeper only forks and exits, which is waited for, so that no zombie stays."""
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(run_dir / _KEEPER_LOG, flags, 0o600), "ab") as log:
            child = subprocess.Popen(
                [*self._keeper, str(run_dir)],
                cwd=_PROJECT,
                env={**environment, TOKEN_VARIABLE: token, "PYTHONPATH": str(_PROJECT)},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._await_detached(child, handover.frame())

    def _await_detached(self, child: subprocess.Popen[bytes], frame: bytes) -> None:
        try:
            child.communicate(frame, _DETACH_TIMEOUT)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise OSError(f"the keeper did not detach within {_DETACH_TIMEOUT:.0f} s") from None
        if child.returncode:
            raise OSError(
                f"the keeper did not start (exit {child.returncode}); {_KEEPER_LOG} in the run directory has the reason"
            )

    def _identify(self, pid: int) -> ProcessIdentity | None:
        return self._seen(pid)[1]

    def _seen(self, pid: int) -> tuple[str, ProcessIdentity | None]:
        """State and identity from /proc/PID/stat, whose second field may hold spaces and parentheses (proc(5))."""
        try:
            fields = _read(pid, "stat").rpartition(b")")[2].split(None, 20)
        except OSError:
            return "", None
        if not fields or fields[0] in (b"Z", b"X"):
            return "", None
        state, start_time, known = fields[0].decode(), int(fields[19]), self._known.get(pid)
        if known is not None and known.start_time == start_time:
            return state, known
        return state, ProcessIdentity(pid=pid, start_time=start_time, boot_id=self._boot_id)


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def _kill_if(pid: int, is_meant: Callable[[], bool]) -> bool:
    """SIGKILL. The pidfd is opened before the check, so that the process checked is the process signalled."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_meant():
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _read(pid: int, name: str) -> bytes:
    """The head of a file of /proc/PID. Raises OSError. With two of them for every process in every tick, Path objects
    cost more."""
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while len(content) < _MOST and (part := os.read(descriptor, _READ_BYTES)):
            content += part
            if len(part) < _READ_BYTES:
                break
        return content
    finally:
        os.close(descriptor)


def _token(pid: int, mark: bytes = _MARK) -> str | None:
    """The run token of a process; None where it has none, has ended, or belongs to somebody else."""
    try:
        environment = b"\0" + _read(pid, "environ")
    except OSError:
        return None
    _, found, rest = environment.partition(mark)
    return rest.partition(b"\0")[0].decode(errors="replace") if found else None
