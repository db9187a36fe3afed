"""What an agent of its own user may reach below the state directory: its run, its checkpoints and its data.

The directories above them let agents pass and show nothing. What an earlier user has left is given to the new one,
once: a directory that is the agent's already is not looked into, since an agent could change it meanwhile.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import structlog

from pipelines.domain.base.files import share
from pipelines.domain.runs.protocol import STACKS, TRACES, AgentUser, Launch

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory below it, which the worker makes for one user
_PASSED_THROUGH = 0o710
_OWN = 0o700

log = structlog.get_logger(__name__)


def prepare(state: Path, run_dir: Path, launch: Launch, user: AgentUser) -> None:
    """Everything for a run that is about to start. Raises OSError."""
    pass_through(state, run_dir.parent.parent, user.groups[0])
    pass_through(run_dir.parent.parent, run_dir.parent, user.gid)
    share(run_dir, user.gid)
    share(run_dir / STACKS, user.gid)
    if launch.trace:
        share(run_dir / TRACES, user.gid)
    if launch.epoch:
        give_checkpoints(state, Path(launch.checkpoint_root), user)
    _give_data(state, launch.data_root, user)
    _give_memory(_SHARED_MEMORY / f"headgate-{user.uid}", user)


def _give_memory(directory: Path, user: AgentUser) -> None:
    """Where the pipeline's buffers in memory are. Every user may make something of that name there, and the superuser
    alone can take it away."""
    with suppress(FileNotFoundError):
        found = directory.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user.uid:
            return
        log.warning("taken_away", path=str(directory), owner=found.st_uid, cause="it has the name of another user's")
        _take_away(directory)
    directory.mkdir(mode=_OWN)
    os.chown(directory, user.uid, user.gid)


def _take_away(path: Path) -> None:
    """Under another name, so that nothing of it is left in the way. Raises OSError."""
    path = path.rename(path.with_name(f".{path.name}.{secrets.token_hex(8)}"))
    with suppress(OSError, RecursionError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def give_checkpoints(state: Path, root: Path, user: AgentUser) -> None:
    """The checkpoints of one lineage, unless they lie on storage that hosts share: that is the administrator's. Raises
    OSError."""
    if not root.is_relative_to(state):
        return
    pass_through(state, root.parent.parent, user.groups[0])
    pass_through(root.parent.parent, root.parent, user.gid)
    root.mkdir(mode=_OWN, exist_ok=True)
    give(root, user)


def _give_data(state: Path, root: Path, user: AgentUser) -> None:
    """What the pipeline keeps: the agent writes beside the orders that the worker leaves there."""
    if not root.is_relative_to(state):
        return
    pass_through(state, root.parent.parent, user.groups[0])
    pass_through(root.parent.parent, root.parent, user.gid)
    share(root, user.gid)
    for each in [*root.iterdir()]:
        if each.name != "replays":
            give(each, user)
    share(root / "replays", user.gid)
    for order in [*(root / "replays").iterdir()]:
        share(order, user.gid)


def pass_through(state: Path, directory: Path, group: int) -> None:
    """Make a directory that a group may pass and not list. Raises OSError."""
    if not directory.is_relative_to(state):
        raise PermissionError(f"{directory} is not below {state}")
    directory.mkdir(mode=_OWN, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchown(descriptor, -1, group)
        os.fchmod(descriptor, _PASSED_THROUGH)
    finally:
        os.close(descriptor)


def is_passed_through(found: os.stat_result) -> bool:
    """Whether a directory was made so, for a group that is not the worker's own."""
    return stat.S_IMODE(found.st_mode) == _PASSED_THROUGH and found.st_gid != os.getegid()


def give(path: Path, user: AgentUser) -> None:
    """Make the agent the owner of what another user has left, with all in it. Links are not followed, and a file with a
    second name stays whose it is. Raises OSError."""
    found = path.lstat()
    if found.st_uid == user.uid:
        return
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _give(parent, path.name, user)
    finally:
        os.close(parent)


def _give(parent: int, name: str, user: AgentUser) -> None:
    """From the leaves up: what is the agent's already is whole."""
    kind = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not (stat.S_ISDIR(kind.st_mode) or stat.S_ISREG(kind.st_mode)):
        return
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            for each in os.listdir(descriptor):  # noqa: PTH208 - of the directory that is open
                _give(descriptor, each, user)
        elif found.st_nlink > 1:
            log.warning("not_handed_over", file=name, cause="the file has a second name")
            return
        os.fchown(descriptor, user.uid, user.gid)
    finally:
        os.close(descriptor)
