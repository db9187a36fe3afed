"""A disk that is full whenever a test wants it: a small tmpfs in a mount namespace of the test's own."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNS = 0x00020000
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[None]:
    """A tmpfs of `size` at `path`, seen by this thread and the processes that it starts."""
    if _libc.unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "a mount namespace of its own needs the right to make one")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True, timeout=10)
    path.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "headgate-test", str(path)], check=True, timeout=10)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=False, timeout=10)


@contextmanager
def full(path: Path) -> Iterator[None]:
    """No byte is left on the disk of `path`."""
    ballast = path / ".ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), b"\0" * 4096)
        except OSError:
            pass
    try:
        yield
    finally:
        ballast.unlink()
