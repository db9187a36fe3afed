"""What the keeper does, in order.

1. Detach: clean environment with the run's token, secrets from standard input, double fork, own session, orphans
   adopted, no core dumps.
2. Take the pipeline's lock, write its own half of identity.json, start the driver in a process group of its own, hand
   it the secrets over a pipe that stays open (its end of file tells the driver that the keeper is gone), write the
   other half.
3. Until the driver has ended: pump its output, carry out the ladder of control.json.
4. Kill what is left of the run, write exit.json, end.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from workers.keeper import files, handover, processes
from workers.keeper.ladder import ControlFile, Rung
from workers.keeper.log import LogPump

_POLL = 0.2
_LEFTOVERS_TIMEOUT = 30.0
_STARTER_TIMEOUT = 5.0
_EXIT_RECORD_TIMEOUT = 60.0
_ROOT = Path(__file__).resolve().parents[2]


def main(run_dir: Path, driver: list[str] | None = None) -> int:
    """Detach and keep the run in `run_dir`; returns in the caller's process at once, and never in the keeper's.

    `driver` is the command line to run, by default the agent. Returns 2 where launch.json cannot be read, 3 where the
    secrets that it announces do not arrive whole.
    """
    run_dir = run_dir.resolve()
    launch = files.read(run_dir / "launch.json")
    if launch is None or not isinstance(launch.get("token"), str):
        sys.stderr.write(f"{run_dir / 'launch.json'} cannot be read\n")
        return 2
    _restart_with_clean_environment(launch["token"])
    frame = handover.receive(sys.stdin.fileno()) if launch.get("handover") else handover.EMPTY
    if frame is None:
        sys.stderr.write("the secrets of the run did not arrive whole\n")
        return 3
    starter = os.getpid()
    if _detach():
        return 0
    code = 1
    try:
        argv = driver or [sys.executable, "-P", "-m", "workers.agent", str(run_dir)]
        code = Keeper(run_dir, launch, argv, frame, starter).run()
    finally:
        os._exit(code)


def _python_path() -> str:
    """This project, then what the administrator has added for interceptors. The same when asked again."""
    added = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([str(_ROOT), *(path for path in added if path and path != str(_ROOT))])


def _restart_with_clean_environment(token: str) -> None:
    """/proc/PID/environ shows what a process was started with, so a clean environment needs a new start."""
    environment = processes.clean_environment(token)
    environment["PYTHONPATH"] = _python_path()
    if dict(os.environ) != environment:
        os.execve(sys.executable, [*sys.orig_argv], environment)  # noqa: S606 - an argv list, no shell


def _detach() -> bool:
    """Double fork into a session of its own; True in the process that should simply return."""
    if child := os.fork():
        os.waitpid(child, 0)
        return True
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, 256)
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump holds every secret of its process
    return False


def _identity(pid: int, boot_id: str) -> dict[str, Any]:
    return {"pid": pid, "start_time": processes.start_time(pid) or 0, "boot_id": boot_id}


class Keeper:
    """One run's keeper. `run` returns the process' exit code once exit.json is on disk.

    `starter`: the process that has detached it. It carries the token, too, and is not one of the run's leftovers.
    """

    def __init__(self, run_dir: Path, launch: dict[str, Any], driver: list[str], frame: bytes, starter: int) -> None:
        self._dir = run_dir
        self._starter = starter
        self._token: str = launch["token"]
        self._active = launch.get("role", "ACTIVE") == "ACTIVE"
        self._argv = driver
        self._frame = frame
        self._boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self._control = ControlFile(run_dir / "control.json", self._boot_id)
        self._log = LogPump(
            run_dir / "agent.log", size=launch.get("log_bytes", 16 << 20), files=launch.get("log_files", 4),
            masked=handover.masked(frame),
        )  # fmt: skip
        self._rung: Rung | None = None
        self._climbed: tuple[int, Rung] | None = None
        self._pid = 0
        self._group = 0

    def run(self) -> int:
        """Carry out steps 2 to 4."""
        os.chdir(self._dir)
        processes.become_subreaper()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self._signal_group(signal.SIGTERM))
        self._log.start()
        if (lock := self._lock()) is None:
            return self._record(1 << 8, "another agent of this pipeline is alive and holds its lock")
        try:
            status = self._keep(lock)
        except OSError as error:
            return self._record(1 << 8, f"the driver could not be started: {error}")
        self._kill_leftovers()
        return self._record(status, self._control.order.reason if self._rung else "")

    def _lock(self) -> int | None:
        """One ACTIVE agent per pipeline and host. The driver inherits the lock, so it outlives a killed keeper."""
        name = "active.lock" if self._active else f"{self._dir.name}.lock"
        descriptor = os.open(self._dir.parent / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        return descriptor

    def _keep(self, lock: int) -> int:
        identity = {"token": self._token, "keeper": _identity(os.getpid(), self._boot_id), "driver": None}
        files.write_atomically(self._dir / "identity.json", identity)
        secrets, ours = os.pipe()
        environment = {**os.environ, processes.KEEPER_FD_VARIABLE: str(secrets), "PYTHONUNBUFFERED": "1"}
        environment["MALLOC_ARENA_MAX"] = "2"
        child = subprocess.Popen(
            self._argv, stdin=subprocess.DEVNULL, stdout=self._log.sink, stderr=self._log.sink,
            pass_fds=(secrets, lock), process_group=0, env=environment, cwd=self._dir,
        )  # fmt: skip
        self._pid = self._group = child.pid
        child.returncode = 0  # reaped by processes.reap
        os.close(secrets)
        handover.pass_on(ours, self._frame)  # the pipe stays open while the keeper lives
        files.write_atomically(self._dir / "identity.json", {**identity, "driver": _identity(child.pid, self._boot_id)})
        return self._watch()

    def _watch(self) -> int:
        handle = os.pidfd_open(self._pid)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while (status := processes.reap(self._pid)) is None:
            if self._control.poll():
                self._log.say(self._control.complaint)
            self._climb(time.clock_gettime(time.CLOCK_BOOTTIME))
            poll.poll(_POLL * 1000)
        os.close(handle)
        return status

    def _climb(self, now: float) -> None:
        order = self._control.order
        self._rung = order.due(now)
        if self._rung is None or self._climbed == (order.seq, self._rung):
            return
        self._climbed = (order.seq, self._rung)
        if self._rung == "sigterm":
            self._log.say("the stop's first deadline has passed: SIGTERM to the driver")
            self._signal_group(signal.SIGTERM)
        elif self._rung == "sigkill":
            self._log.say("the stop's last deadline has passed: SIGKILL to the run")
            self._signal_group(signal.SIGKILL)
            processes.kill_all(self._token)

    def _signal_group(self, number: signal.Signals) -> None:
        """The driver is our child and not reaped yet, so its pid, and the group named after it, cannot be another's."""
        if self._group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, number)

    def _kill_leftovers(self) -> None:
        self._group = 0
        processes.await_exit(self._starter, _STARTER_TIMEOUT)
        deadline = time.monotonic() + _LEFTOVERS_TIMEOUT
        while (left := [*processes.kill_children(), *processes.kill_all(self._token)]) and time.monotonic() < deadline:
            time.sleep(0.01)
            processes.reap(self._pid)
        if left:
            self._log.say(f"processes {left} of this run cannot be killed")
        shutil.rmtree(self._dir / "tmp", ignore_errors=True)

    def _record(self, status: int, reason: str) -> int:
        """Write exit.json; a full disk is waited for, at most a minute."""
        self._log.close(timeout=1.0)
        code = os.waitstatus_to_exitcode(status)
        record = {
            "token": self._token,
            "exit_code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "killed_by": "keeper" if self._rung == "sigkill" and code == -signal.SIGKILL else None,
            "rung": self._rung,
            "reason": reason,
            "boottime": time.clock_gettime(time.CLOCK_BOOTTIME),
            "at": time.time(),
        }
        deadline = time.monotonic() + _EXIT_RECORD_TIMEOUT
        while time.monotonic() < deadline:
            try:
                files.write_atomically(self._dir / "exit.json", record)
            except OSError:
                time.sleep(0.5)
            else:
                return 0
        return 1
