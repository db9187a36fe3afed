"""The exec source: runs a command and appends its lines (Flume's ExecSource)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from pipelines.domain.definitions.components.source.exec import ExecSource
from workers.agent.base.log import say
from workers.agent.push import command_state
from workers.agent.push.command_state import LastLine
from workers.agent.push.event import Event, record_batch
from workers.agent.push.log import IngestBuffer, LogFull, LogUnwritable

_CHUNK = 64 * 1024
_PR_SET_PDEATHSIG = 1
_POLL = 0.2
_SETTLED = 5.0
"""Seconds after which a command that was started again and prints nothing is taken for running."""
_END_PATIENCE = 5.0
_END_POLL = 0.01
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when the thread that started it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


class Lines:
    """Cuts a stream of bytes into lines; what is longer than `longest` is an event with a problem."""

    def __init__(self, longest: int, charset: str) -> None:
        self._longest = longest
        self._charset = charset
        self._rest = b""
        self._dropped = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The lines that end in this chunk."""
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            yield self._event(self._rest + part)
            self._rest, self._dropped = b"", 0
        self._rest += rest
        if len(self._rest) > self._longest:
            self._dropped += len(self._rest) - self._longest
            self._rest = self._rest[: self._longest]

    def end(self) -> Iterator[Event]:
        """A last line that has no end."""
        if self._rest:
            yield self._event(self._rest)
        self._rest, self._dropped = b"", 0

    def _event(self, line: bytes) -> Event:
        line = line.removesuffix(b"\r")
        length = len(line) + self._dropped
        if length > self._longest:
            return Event(line[: self._longest], problem=f"The line has {length} bytes; {self._longest} are allowed.")
        if self._charset.lower().replace("_", "-") in {"utf-8", "utf8"}:
            return Event(line)
        try:
            return Event(line.decode(self._charset).encode())
        except ValueError as error:
            return Event(line, problem=f"The line is not in {self._charset}: {error}")


class CommandPump:
    """Runs the command again and again, or once; ends when `stop` is called. Why it is down is told to `report`; after
    each end `sweep` ends what has left the command's process group."""

    def __init__(
        self,
        spec: ExecSource,
        log: IngestBuffer,
        report: Callable[[str], None] = lambda _: None,
        sweep: Callable[[], None] = lambda: None,
    ) -> None:
        self._spec = spec
        self._log = log
        self._report = report
        self._sweep = sweep
        self._failure = ""
        self._stopping = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Until the command has ended and is not to be restarted, or `stop`."""
        while True:
            self._tell(self._run_once())
            if not self._spec.restart or self._stopping.wait(self._spec.restart_throttle_ms / 1000):
                return

    def stop(self) -> None:
        """Kill the command with everything that it started."""
        self._stopping.set()
        if (child := self._child) is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    def _tell(self, failure: str) -> None:
        if failure != self._failure and not self._stopping.is_set():
            self._failure = failure
            try:
                self._report(failure)
            except OSError as error:
                say(f"the state of the command cannot be written: {error}", "WARNING")

    def _run_once(self) -> str:
        """Why it failed; empty where it has done what it should."""
        try:
            child = self._start()
        except OSError as error:
            say(f"the command cannot be started: {error}", "ERROR")
            return f"The command cannot be started: {error}. {self._what_follows()}"
        errors = LastLine(cast("BinaryIO", child.stderr), self._hand_on)
        try:
            errors.start()
            self._copy(child)
            self._await_end(child)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            code = child.wait()
            self._sweep()
        ended, line = command_state.ended_with(code), errors.text()
        say(f"the command ended with {ended}")
        cause = f": {line.removesuffix('.')}" if line else ""
        return f"The command ended with {ended}{cause}. {self._what_follows()}" if code else ""

    def _what_follows(self) -> str:
        if not self._spec.restart:
            return "It is not started again, since restart is false."
        return f"It is started again after {self._spec.restart_throttle_ms / 1000:g} s."

    def _hand_on(self, block: bytes) -> None:
        if self._spec.log_stderr:
            os.write(2, block)

    def _await_end(self, child: subprocess.Popen[bytes]) -> None:
        """A command that has closed its output is about to end: its own status says how."""
        deadline = time.monotonic() + _END_PATIENCE
        while child.poll() is None and time.monotonic() < deadline and not self._stopping.is_set():
            time.sleep(_END_POLL)

    def _start(self) -> subprocess.Popen[bytes]:
        self._child = subprocess.Popen(
            self._spec.argv(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            process_group=0,
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,
        )
        return self._child

    def _copy(self, child: subprocess.Popen[bytes]) -> None:
        """Append full batches at once, and what waits after `batch_timeout_ms`."""
        if child.stdout is None:
            raise RuntimeError("the command has no output")
        source, poll = child.stdout.fileno(), select.poll()
        poll.register(source, select.POLLIN)
        lines = Lines(self._spec.max_line_bytes, self._spec.charset)
        waiting: list[Event] = []
        flush_at, settled_at = 0.0, time.monotonic() + _SETTLED
        while not self._stopping.is_set():
            seconds = max(0.0, flush_at - time.monotonic()) if waiting else _POLL
            if poll.poll(1000 * seconds):
                chunk = os.read(source, _CHUNK)
                if not chunk:
                    break
                self._tell("")
                flush_at = flush_at if waiting else time.monotonic() + self._spec.batch_timeout_ms / 1000
                waiting += lines.feed(chunk)
            elif time.monotonic() >= settled_at:
                self._tell("")  # it runs and has nothing to say
            waiting = self._flush(waiting, all_of_it=bool(waiting) and time.monotonic() >= flush_at)
        self._flush([*waiting, *lines.end()], all_of_it=True)

    def _flush(self, waiting: list[Event], *, all_of_it: bool) -> list[Event]:
        size = self._spec.batch_size
        while len(waiting) >= size or (all_of_it and waiting):
            self._append(waiting[:size])
            waiting = waiting[size:]
        return waiting

    def _append(self, events: list[Event]) -> None:
        """A full log is waited for: meanwhile nothing is read, and the command waits at its full pipe."""
        batch, complained = record_batch(events), False
        while not self._stopping.is_set():
            try:
                self._log.append(batch)
            except (LogFull, LogUnwritable) as error:
                if not complained:
                    say(f"the command waits: {error}")
                complained = True
                self._stopping.wait(_POLL)
            else:
                return
