"""Whom agents run as: a user for each pipeline, by a number out of a range, and a group that all of them share.

Which number is whose stands on the directories of the pipeline themselves, as their group: these are the worker's own,
so no agent can change it, and it lives as long as they do.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import workers
from pipelines.domain.hosts.isolation import AgentUids, Isolation
from pipelines.domain.runs.protocol import ACTIVE_LOCK, AgentUser
from workers.adapters.filelock import is_held
from workers.adapters.isolation import handing_over

NEEDED = {"CHOWN": 0, "DAC_OVERRIDE": 1, "KILL": 5, "SETGID": 6, "SETUID": 7, "SYS_PTRACE": 19}
"""Capabilities, by their bits. Without the last one the tokens in the environments of agents cannot be read."""
_PROJECT = Path(workers.__file__).resolve().parent.parent
_PROBE_SECONDS = 30.0
_UNITS = "Run the worker as deploy/systemd/headgate-worker.service does, or as root."
_PLACES = ("runs", "checkpoints", "data")


class Exhausted(OSError):
    """Every number of the range is a pipeline's, or of a process that lives."""


@dataclass(frozen=True)
class Accounts:
    """The users of one host's agents."""

    state: Path
    uids: AgentUids
    group: int

    def of(self, pipeline: str, pipeline_id: str) -> AgentUser:
        """The user of a pipeline: that of its agent that lives, the one that it has, or one that no other has. Raises
        Exhausted."""
        uid = self._living(pipeline) or self._given(pipeline) or self._free(pipeline_id)
        return AgentUser(uid=uid, gid=uid, groups=[self.group])

    def _living(self, pipeline: str) -> int | None:
        """Also out of another range: what is an agent's stays its own as long as it lives."""
        runs = self.state / "runs" / pipeline
        if not _is_held(runs / ACTIVE_LOCK):
            return None
        found = runs.lstat()
        return found.st_gid if handing_over.is_passed_through(found) else None

    def _given(self, pipeline: str) -> int | None:
        found = (self._number(self.state / place / pipeline) for place in _PLACES)
        return next((number for number in found if number), None)

    def _free(self, pipeline_id: str) -> int:
        taken = {self._number(each) for place in _PLACES for each in _entries(self.state / place)} | _alive()
        first, count = self.uids.first + 1, self.uids.last - self.uids.first
        start = int.from_bytes(hashlib.sha256(pipeline_id.encode()).digest()[:8], "big")
        for step in range(count):
            uid = first + (start + step) % count
            if uid not in taken and uid != os.geteuid() and not _is_known(uid):
                return uid
        raise Exhausted(f"Every number of HEADGATE_AGENT_UIDS ({self.uids}) is the user of a pipeline of this host.")

    def _number(self, directory: Path) -> int | None:
        try:
            found = directory.lstat()
        except OSError:
            return None
        ours = stat.S_ISDIR(found.st_mode) and self.uids.first < found.st_gid <= self.uids.last
        return found.st_gid if ours else None


def _group_of_living(state: Path) -> int | None:
    """The group by which agents that live pass the state directory: without it they reach their runs no more."""
    if not any(map(_is_held, (state / "runs").glob(f"*/{ACTIVE_LOCK}"))):
        return None
    found = state.lstat()
    return found.st_gid if handing_over.is_passed_through(found) else None


def _is_held(lock: Path) -> bool:
    try:
        return is_held(lock)
    except OSError:
        return False


def _entries(directory: Path) -> Iterator[Path]:
    return directory.iterdir() if directory.is_dir() else iter(())


def _alive() -> set[int]:
    """Users of living processes: an agent may have left one behind, which could trace those of the next one."""
    return {uid for path in Path("/proc").glob("[0-9]*/status") for uid in _users(path)}


def _users(status: Path) -> list[int]:
    try:
        lines = status.read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [int(each) for line in lines if line.startswith("Uid:") for each in line.split()[1:]]


def _is_known(uid: int) -> bool:
    """Whether the machine has a user of this number."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def set_up(
    state: Path, uids: AgentUids | None, group: int | None, needed: Sequence[str]
) -> tuple[Accounts | None, Isolation]:
    """The users of this host's agents, and whether they have any. `needed`: files and directories beside Headgate
    itself that an agent opens. Where it can be, the state directory is opened for agents to pass."""
    if uids is None or group is None:
        return None, Isolation.none("HEADGATE_AGENT_UIDS is none.", "Remove it, or name a range of free user numbers.")
    if missing := _missing():
        words = (
            f"The worker's user ({_own_name()}) may not start processes of other users: {', '.join(missing)} missing."
        )
        return None, Isolation.none(words, _UNITS, required=uids.required)
    accounts = Accounts(state, uids, _group_of_living(state) or group)
    if trouble := _closed(accounts, [*needed, str(state.parent)]):
        hint = "Install Headgate, Python, Java, its cache and its state where other users can read: not below a home."
        return None, Isolation.none(trouble, hint, required=uids.required)
    handing_over.pass_through(state, state, accounts.group)
    return accounts, Isolation.on(f"{uids.first + 1}-{uids.last}", accounts.group)


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _missing() -> list[str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return [f"CAP_{name}" for name, bit in NEEDED.items() if not effective >> bit & 1]


def _closed(accounts: Accounts, needed: Sequence[str]) -> str:
    """What keeps a user of the range from running an agent, found by a process of that user; empty: nothing does."""
    uid = accounts.uids.last
    argv = [sys.executable, "-P", "-m", "workers.keeper.reach", *needed]
    try:
        tried = subprocess.run(
            argv,
            cwd="/",
            env={"PYTHONPATH": str(_PROJECT), "PATH": os.environ.get("PATH", "")},
            user=uid,
            group=uid,
            extra_groups=[accounts.group],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return _closed_by(Path(sys.executable)) or f"A process of the user {uid} cannot be started: {error}."
    if tried.returncode == 0:
        return ""
    closed = tried.stdout.strip() or str(_PROJECT)
    return _closed_by(Path(closed)) or f"Other users cannot use {closed}."


def _closed_by(path: Path) -> str:
    """The first directory on the way that other users cannot pass."""
    for start in (path.absolute(), path.resolve()):
        for each in [*reversed(start.parents)]:
            mode = each.stat().st_mode
            if not mode & stat.S_IXOTH:
                return f"{each} (mode {stat.S_IMODE(mode):04o}) keeps other users from {path}."
    return ""
