"""Files in directories that an agent may write to, which may run as another user and may mean harm.

What it puts in the place of a file is not followed, waited for, or read without end: no symbolic link, no second name
of a file elsewhere, no pipe. A directory of both has the sticky bit and the agent's group: an agent cannot take away
what is not its own, and what is written here is for that group to read.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

MOST = 32 << 20
"""Bytes of a document."""
_AT_ONCE = 64 << 10
"""Bytes; as many as may be read are set aside for each read, and most documents are small."""
_SHARED_DIRECTORY = 0o1770
_FOR_THE_GROUP = 0o640


class NotOurs(OSError):
    """It is no file of its own, or larger than any should be."""


def open_regular(path: Path | str) -> int:
    """A descriptor to read from. Raises OSError, NotOurs among them."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotOurs(f"{path} is a link") from None
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise NotOurs(f"{path} is not a regular file with one name")
    return descriptor


def read(path: Path | str, most: int = MOST) -> bytes:
    """All of a file. Raises OSError, NotOurs among them where it has more bytes than `most`."""
    with os.fdopen(open_regular(path), "rb", buffering=0) as file:
        content = file.read(_AT_ONCE)
        while content and len(content) <= most and (more := file.read(max(_AT_ONCE, len(content)))):
            content += more
    if len(content) > most:
        raise NotOurs(f"{path} is larger than {most} bytes")
    return content


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` so that a reader, or a crash, sees the old or the new content and nothing else: temporary file of
    a name that cannot be guessed, fsync, rename. Raises OSError."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            group = _group_of(path.parent)
            if group is not None:
                os.fchown(file.fileno(), -1, group)
                os.fchmod(file.fileno(), _FOR_THE_GROUP)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _put(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def _put(draft: Path, path: Path) -> None:
    """Give a file its name. A directory that an agent has made of that name is set aside."""
    try:
        draft.replace(path)
    except OSError:
        if not path.is_dir():
            raise
        path.rename(path.with_name(f".{path.name}.{secrets.token_hex(8)}"))
        draft.replace(path)


def share(directory: Path, group: int) -> None:
    """Make a directory, unless it is there, that `group` may write to, too. Raises OSError, also where something else
    has its name."""
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise NotOurs(f"{directory} belongs to another user")
        os.fchown(descriptor, -1, group)
        os.fchmod(descriptor, _SHARED_DIRECTORY)
    finally:
        os.close(descriptor)


def make_below(directory: Path) -> None:
    """Make a directory, for the group that its parent is shared with where it is. Raises OSError."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    group = _group_of(directory.parent)
    if group is None:
        directory.mkdir(exist_ok=True)
    else:
        share(directory, group)


def _group_of(directory: Path) -> int | None:
    """The group that a directory of ours is shared with."""
    found = directory.stat()
    shared = found.st_mode & stat.S_ISVTX and found.st_mode & stat.S_IWGRP and not found.st_mode & stat.S_IWOTH
    return found.st_gid if shared and found.st_uid == os.geteuid() else None
