"""Whom the driver runs as, where launch.json names another user than the keeper's."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "headgate-agent"
_WORKERS_UID = "HEADGATE_WORKER_UID"
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_NOT_ITS_OWN = ("HOME", "USER", "LOGNAME", "TMPDIR")


@dataclass(frozen=True)
class Account:
    """A user by number, who need not be in the machine's list."""

    uid: int
    gid: int
    groups: tuple[int, ...]

    @property
    def switch(self) -> dict[str, Any]:
        """What `subprocess.Popen` needs: real, effective and saved ids, and no group of the keeper's."""
        return {"user": self.uid, "group": self.gid, "extra_groups": list(self.groups)}

    def environment(self, inherited: dict[str, str], run_dir: Path) -> dict[str, str]:
        """Without the home of the keeper's user, which is closed to it, and without directories that others share:
        what lies in `tmp` goes with the run."""
        return {**of_another_user(inherited), **dict.fromkeys(("HOME", "TMPDIR"), str(run_dir / "tmp"))}


def of_another_user(inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process for one of an agent's user: nothing of this process' user but its number."""
    kept = {name: value for name, value in inherited.items() if name not in _NOT_ITS_OWN}
    return {**kept, "USER": NAME, "LOGNAME": NAME, _WORKERS_UID: str(os.geteuid())}


def of(launch: dict[str, Any]) -> Account | None:
    """The user that a launch names. Raises ValueError for the superuser, KeyError or TypeError for what is none."""
    user = launch.get("user")
    if user is None:
        return None
    account = Account(int(user["uid"]), int(user["gid"]), tuple(map(int, user.get("groups", []))))
    if not (account.uid > 0 and account.gid > 0 and all(group > 0 for group in account.groups)):
        raise ValueError("an agent does not run as the superuser")
    return account


def give_up_privileges() -> None:
    """Whatever this process executes from now on gains nothing by it: no set-user-id program, no capability of a file,
    none of the worker's own. What this process itself may do, it still may. Raises OSError."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)):
        if prctl(*map(ctypes.c_ulong, arguments)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def close(run_dir: Path) -> None:
    """A run that is over is its keeper's user's alone."""
    with contextlib.suppress(OSError):
        run_dir.chmod(0o700)
