"""Previewers: a child process for each pipeline that was previewed lately, with a JVM that stays warm.

A child runs as the user of the pipeline's agents and holds values of its secrets, so it serves no other pipeline.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from pipelines.domain.access.secrets import Mask
from pipelines.domain.preview.protocol import MOST_ANSWER, AnswerT, HostRequest
from pipelines.domain.runs.protocol import AgentUser
from workers.adapters.processes import Child
from workers.ports import PreviewFailed, PreviewInterrupted

AT_ONCE = 2
"""Children of a host, each with a JVM."""
_MODULE = "workers.agent.evaluation.previewer"
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "JAVA_HOME")
_LAST_WORDS = 500
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_KEPT_WORDS = 64 * 1024
_GRACE = 5.0
"""Seconds in which a child that is late ends by itself."""
_DRAIN = 1.0
_ASKED_EVERY = 0.5
"""Seconds between questions whether an answer is still wanted."""
_AT_A_TIME = 1 << 20


class _Words(threading.Thread):
    """What a child and what it starts say beside its answers; the end of it alone is kept, and in no file."""

    def __init__(self) -> None:
        super().__init__(name="words of a previewer", daemon=True)
        self._source, self.sink = os.pipe()
        self._kept = b""

    def run(self) -> None:
        """Until nobody can say anything more."""
        while part := os.read(self._source, _KEPT_WORDS):
            self._kept = (self._kept + part)[-_KEPT_WORDS:]
        os.close(self._source)

    def last(self) -> str:
        """Of one that has ended; what it has started may still be on its way out."""
        self.join(_DRAIN)
        return self._kept.decode(errors="replace").strip()


@dataclass
class _Child:
    """A previewer. `words`: what it says beside its answers."""

    owner: str
    user: AgentUser | None
    process: Child
    requests: IO[bytes]
    answers: IO[bytes]
    words: _Words
    used_at: float = 0.0
    busy: bool = True


class ChildPreviews:
    """`workers.ports.Previews`. Requests, secrets included, go through a pipe and nothing else."""

    def __init__(self, argv: tuple[str, ...] = (sys.executable, "-m", "workers.keeper.lowered", _MODULE)) -> None:
        self._argv = argv
        self._children: list[_Child] = []
        self._lock = threading.Lock()
        self._closed = False

    def make(
        self,
        owner: str,
        user: AgentUser | None,
        request: HostRequest[AnswerT],
        wanted: Callable[[], bool] = lambda: True,
    ) -> AnswerT:
        child = self._child_for(owner, user)
        done = False
        try:
            answer = _asked(child, request, wanted)
            done = True
            return answer
        except PreviewFailed:
            if self._closed:
                raise PreviewInterrupted from None
            raise
        finally:
            self._give_back(child, keep=done)

    def tidy(self) -> None:
        with self._lock:
            self._forget([each for each in self._children if not each.busy and not each.process.lives])

    def close(self) -> None:
        """Who waits for a busy one sees its end, and lets go of it."""
        with self._lock:
            self._closed = True
            for child in self._children:
                child.process.end()
            self._forget([each for each in self._children if not each.busy])

    def _child_for(self, owner: str, user: AgentUser | None) -> _Child:
        with self._lock:
            if self._closed:
                raise PreviewInterrupted
            idle = [each for each in self._children if not each.busy]
            self._forget(
                [each for each in idle if not each.process.lives or (each.owner == owner and each.user != user)]
            )
            idle = [each for each in self._children if not each.busy]
            own = next((each for each in idle if each.owner == owner), None)
            if own is None:
                oldest = sorted(idle, key=lambda each: each.used_at)
                self._forget(oldest[: max(0, len(self._children) - AT_ONCE + 1)])
                own = _started(self._argv, owner, user)
                self._children.append(own)
            own.busy = True
            return own

    def _give_back(self, child: _Child, *, keep: bool) -> None:
        with self._lock:
            child.busy, child.used_at = False, time.monotonic()
            if not keep or self._closed:
                self._forget([child])

    def _forget(self, children: list[_Child]) -> None:
        for child in [*children]:
            _end(child)
            with suppress(ValueError):
                self._children.remove(child)


def _started(argv: tuple[str, ...], owner: str, user: AgentUser | None) -> _Child:
    words = _Words()
    (theirs, requests), (answers, said) = os.pipe(), os.pipe()
    try:
        process = Child(argv, user, passed_on=_PASSED_ON, stdin=theirs, stdout=said, stderr=words.sink)
    except BaseException:
        os.close(requests)
        os.close(answers)
        raise
    finally:
        words.start()
        for descriptor in (theirs, said, words.sink):
            os.close(descriptor)
    return _Child(owner, user, process, os.fdopen(requests, "wb"), os.fdopen(answers, "rb"), words)


def _asked(child: _Child, request: HostRequest[AnswerT], wanted: Callable[[], bool]) -> AnswerT:
    deadline = time.monotonic() + request.seconds + _GRACE
    try:
        _send(child, request.model_dump_json().encode() + b"\n", deadline)
        return request.answer_of(_line(child, deadline, wanted))
    except TimeoutError:
        raise _timed_out(request) from None
    except (OSError, ValueError):
        raise _failure(child, request, deadline) from None


def _send(child: _Child, data: bytes, deadline: float) -> None:
    descriptor = child.requests.fileno()
    os.set_blocking(descriptor, False)
    left = memoryview(data)
    while left:
        if not select.select([], [descriptor], [], max(0.0, deadline - time.monotonic()))[1]:
            raise TimeoutError
        left = left[os.write(descriptor, left[:_AT_A_TIME]) :]


def _line(child: _Child, deadline: float, wanted: Callable[[], bool]) -> bytes:
    """The next line of its answers. Raises TimeoutError, OSError where it ends before, ValueError for too long a one,
    and PreviewInterrupted where it is not wanted any more."""
    descriptor = child.answers.fileno()
    parts: list[bytes] = []
    size = 0
    while not parts or not parts[-1].endswith(b"\n"):
        left = max(0.0, deadline - time.monotonic())
        if not select.select([descriptor], [], [], min(left, _ASKED_EVERY))[0]:
            if left <= _ASKED_EVERY:
                raise TimeoutError
            if not wanted():
                raise PreviewInterrupted
            continue
        part = os.read(descriptor, _AT_A_TIME)
        parts.append(part)
        size += len(part)
        if not part:
            raise BrokenPipeError
        if size > MOST_ANSWER:
            raise ValueError(size)
    return b"".join(parts)


def _failure(child: _Child, request: HostRequest[Any], deadline: float) -> PreviewFailed:
    """It ended without an answer: by its own alarm, killed, or by an error, whose last words are told."""
    try:
        code = child.process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        code = 0
    if code == -signal.SIGALRM or time.monotonic() > deadline:
        return _timed_out(request)
    said = child.words.last()
    if _OUT_OF_MEMORY in said:
        message = "What was selected, or what becomes of it, does not fit into the memory of the previewer."
        return PreviewFailed(f"{request.noun}_failed", message, "Select other records; one may be very large.")
    words = Mask(request.masked).text(said)[-_LAST_WORDS:]
    message = f"The previewer ended with {code}: {words}" if words else f"The previewer ended with {code}."
    hint = f"Request it again; if it fails again: {request.advice[0].lower()}{request.advice[1:]}"
    return PreviewFailed(f"{request.noun}_failed", message, hint)


def _timed_out(request: HostRequest[Any]) -> PreviewFailed:
    message = f"The {request.noun} did not end within {request.seconds:g} s."
    return PreviewFailed(f"{request.noun}_timed_out", message, request.advice)


def _end(child: _Child) -> None:
    child.process.end()
    for each in (child.requests, child.answers):
        with suppress(OSError):
            each.close()
