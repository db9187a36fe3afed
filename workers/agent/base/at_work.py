"""Which component the code of a Python worker is inside of, written where others can read it.

A worker that blocks every signal does not answer a dump, and one that has ended by itself cannot: what it wrote down
before it called a component is still there, in `stacks/worker-PID.at` of the run's directory, where its processes work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

from workers.agent.base.frames import within

P = ParamSpec("P")
R = TypeVar("R")

_STACKS = Path("stacks")
_WIDTH = 256


@cache
def _note(_pid: int) -> int | None:
    """The descriptor of this process' note; None away from the run's directory."""
    if not (_STACKS.is_dir() and Path("launch.json").exists()):
        return None
    with suppress(OSError):
        return os.open(_STACKS / f"worker-{os.getpid()}.at", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return None


def _write(component: str) -> None:
    if (note := _note(os.getpid())) is not None:
        with suppress(OSError):
            os.pwrite(note, component.encode()[:_WIDTH].ljust(_WIDTH), 0)


def inside(component: str, action: Callable[P, R]) -> Callable[P, R]:
    """`action`, called in a frame with the component's name, while the note of this process says so, too."""
    framed = within(component, action)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        _write(component)
        try:
            return framed(*args, **kwargs)
        finally:
            _write("")

    return call


def ended_inside() -> list[str]:
    """Components that a Python worker of this run was inside of when it ended, each such worker told of once."""
    found = []
    for note in _STACKS.glob("worker-*.at"):
        pid = note.stem.removeprefix("worker-")
        with suppress(OSError):
            if not _lives(pid):
                found.append(note.read_text(errors="replace").strip())
                note.unlink()
    return sorted({component for component in found if component})


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False
