"""What other users of the machine may open of this installation: nothing."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipelines.foundation.errors import Invalid

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_log = logging.getLogger("headgate.privacy")


def close_umask() -> None:
    """Make what this process and its children create from now on its user's alone."""
    os.umask(_OTHERS)


def close_state(directory: Path, files: Iterable[Path] = (), *, agents: int | None = None) -> list[Path]:
    """Take from others what they may do with the state's directory, the files directly in it, and `files`. One line of
    the log tells of everything that was open; what was closed is returned. The group `agents`, whose members agents of
    their own users are, may pass through the directory. Raises Invalid where others could open it still, because
    another user owns it."""
    own = _within(directory) if directory.is_dir() else ()
    inside = [path for path in (*own, *files) if _close(path)]
    closed = [directory, *inside] if not _is_passed(directory, agents) and _close(directory) else inside
    if closed:
        names = ", ".join(map(str, closed))
        _log.warning("Other users of this machine could open these, and no longer can: %s", names)
    return closed


def _is_passed(directory: Path, group: int | None) -> bool:
    """Whether the group, and nobody else, may pass through, and do nothing more."""
    if group is None or not directory.is_dir():
        return False
    found = directory.stat()
    return found.st_gid == group and found.st_mode & _OTHERS == stat.S_IXGRP


def _within(directory: Path) -> Iterator[Path]:
    """Files directly in the directory: databases, keys, schedules. What lies deeper is closed by the directory."""
    with os.scandir(directory) as found:
        yield from sorted(Path(each.path) for each in found if each.is_file(follow_symlinks=False))


def _close(path: Path) -> bool:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & _OTHERS:
            return False
        path.chmod(mode & ~_OTHERS)
    except FileNotFoundError:  # SQLite's journals come and go
        return False
    except PermissionError:
        raise Invalid(
            f"Other users of this machine may open {path} (mode {mode:04o}), and its owner is another user.",
            code="state_is_open",
            hint=f"As its owner or as root: chmod go= {path}",
        ) from None
    return True
