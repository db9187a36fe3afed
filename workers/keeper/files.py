"""Reading and writing the run directory. A reader, or a crash, sees the old or the new content and nothing else.

The driver, which may be another user's process, may write there, too: what it puts in the place of a file is neither
followed, nor waited for, nor taken for the supervisor's.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from pathlib import Path
from typing import IO, Any

_MOST = 32 << 20


def write_atomically(path: Path, document: dict[str, Any]) -> None:
    """Replace `path`: temporary file, fsync, rename. Raises OSError, for example where the disk is full."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with create(temporary) as file:
            _for_the_group(file, path.parent)
            file.write(json.dumps(document, indent=1).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        put(temporary, path)
    except OSError:
        remove(temporary)
        raise


def put(file: Path, path: Path) -> None:
    """Give a file its name. A directory that the driver has made of that name is set aside. Raises OSError."""
    try:
        file.replace(path)
    except OSError:
        if not path.is_dir():
            raise
        path.rename(path.with_name(f".{path.name}.{secrets.token_hex(8)}"))
        file.replace(path)


def create(path: Path) -> IO[bytes]:
    """A new file. Raises OSError where anything has its name."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def append_to(path: Path) -> IO[bytes]:
    """A file of our own, made where there is none, to append to. Raises OSError where it is another's, or a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    if not _is_own(os.fstat(descriptor), os.geteuid()):
        os.close(descriptor)
        raise OSError(f"{path} is not the keeper's own file")
    return os.fdopen(descriptor, "ab", buffering=0)


def read_some(path: Path, start: int, most: int) -> bytes:
    """So many bytes of a regular file, whoever wrote it. Raises OSError."""
    with os.fdopen(_open_regular(path), "rb") as file:
        file.seek(start)
        return file.read(most)


def _open_regular(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file with one name")
    return descriptor


def _is_own(found: os.stat_result, *owners: int) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1 and found.st_uid in owners


def _for_the_group(file: IO[bytes], directory: Path) -> None:
    """In a directory that is shared with the agent's group, documents are for it to read."""
    found = directory.stat()
    if found.st_mode & stat.S_ISVTX and found.st_mode & stat.S_IWGRP and found.st_uid == os.geteuid():
        os.fchown(file.fileno(), -1, found.st_gid)
        os.fchmod(file.fileno(), 0o640)


def remove(path: Path) -> None:
    """Remove a file, if it is there and that is possible."""
    with contextlib.suppress(OSError):
        path.unlink()


def read(path: Path) -> dict[str, Any] | None:
    """The supervisor's document, or None where the file is absent, another user's, torn or not an object."""
    try:
        with os.fdopen(_open_regular(path), "rb") as file:
            content = file.read(_MOST) if _is_own(os.fstat(file.fileno()), 0, os.geteuid()) else b""
        document = json.loads(content)
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
