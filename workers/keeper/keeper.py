"""What the keeper does, in order.

1. Detach: clean environment with the run's token, secrets from standard input, double fork, own session, orphans
   adopted, no core dumps.
2. Take the pipeline's lock, or, for a standby, one of its own; write its own half of identity.json, start the driver in
   a process group of its own, hand it the secrets over a socket that stays open (its end of file tells the driver that
   the keeper is gone), write the other half.
3. Until the driver has ended: pump its output, carry out the ladder of control.json, take dumps of the stacks. When a
   standby is promoted, take the pipeline's lock and hand it to the driver over that socket.
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
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workers.keeper import account, files, handover, processes
from workers.keeper.dumps import Dumper
from workers.keeper.escalation import ControlFile, Due, DumpFile, StopStage
from workers.keeper.log import LogPump
from workers.keeper.promotion import PromotionFile

_POLL = 0.2
_STANDBY_POLL = 0.03
"""Seconds between two looks for a promotion: all that it takes is a pause of the pipeline."""
_LEFTOVERS_TIMEOUT = 30.0
_STARTER_TIMEOUT = 5.0
_PROMOTION_TIMEOUT = 10.0
"""Seconds that the pipeline's lock may still be taken after a promotion."""
_LOCK_TIMEOUT = 1.0
_EXIT_RECORD_TIMEOUT = 60.0
_DUMP_TIMEOUT = 2.0
_LAST_DUMP_TIMEOUT = 1.0
"""Seconds that a kill which no interrupt went before waits for a dump."""
_RESERVE = "reserve"
_WATCHDOG_EXIT = 1
"""Exit code of a driver that was ended by its own watchdog (faulthandler)."""
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
        sys.stderr.write("the secrets of the run are incomplete\n")
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


def _last_epoch(descriptor: int) -> int:
    """The epoch that a lock names; 0 where it names none."""
    text = os.pread(descriptor, 32, 0)
    return int(text) if text.isdigit() else 0


def _lock_name(standby: bool) -> str:
    return "keeper.lock" if standby else "active.lock"


def _open_lock(path: Path) -> int:
    """To hold and to read: the driver gets the same descriptor, and must not write another epoch there."""
    return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _name_epoch(lock: int, epoch: int) -> None:
    """Over the last one, which stays where the disk is full: epochs only grow, and so does their length."""
    text = str(epoch).encode()
    descriptor = os.open(f"/proc/self/fd/{lock}", os.O_WRONLY)
    try:
        os.pwrite(descriptor, text, 0)
        os.ftruncate(descriptor, len(text))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class AlreadyStarted(Exception):
    """The run has, or had, another keeper, or was ended before it began."""


class Keeper:
    """One run's keeper. `run` returns the process' exit code once exit.json is on disk.

    `starter`: the process that has detached it. It carries the token, too, and is not one of the run's leftovers.
    """

    def __init__(self, run_dir: Path, launch: dict[str, Any], driver: list[str], frame: bytes, starter: int) -> None:
        self._dir = run_dir
        self._starter = starter
        self._token: str = launch["token"]
        self._standby = launch.get("role", "ACTIVE") == "STANDBY"
        self._epoch = int(launch.get("epoch", 0))
        self._promotion = PromotionFile(run_dir / "promote.json", self._token)
        self._to_driver: socket.socket | None = None
        self._lock_held: int | None = None
        self._promoting_since: float | None = None
        self._refused = ""
        self._argv = driver
        self._frame = frame
        self._user = account.of(launch)
        self._boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self._control = ControlFile(run_dir / "control.json", self._boot_id)
        self._log = LogPump(
            run_dir / "agent.log",
            size=launch.get("log_bytes", 16 << 20),
            files=launch.get("log_files", 4),
            masked=handover.masked(frame),
            run=f"{launch.get('pipeline', '-')}/{launch.get('run', '-')}",
        )
        self._dumper = Dumper(run_dir, self._token, self._log.jvm, self._log.say)
        self._asked = DumpFile(run_dir / "dump.json")
        self._dumping: threading.Thread | None = None
        self._stop_stage: StopStage | None = None
        self._escalated: tuple[int, Due] | None = None
        self._interrupted = False
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
        self._log.say(f"The keeper starts as process {os.getpid()}.")
        try:
            lock = self._lock()
        except AlreadyStarted as started:
            self._log.say(str(started), "WARNING")
            self._log.close(timeout=1.0)
            return 0
        if lock is None:
            return self._record(1 << 8, "another agent of this pipeline is alive and holds its lock")
        try:
            status = self._keep(lock)
        except OSError as error:
            return self._record(1 << 8, f"the driver could not be started: {error}")
        self._kill_leftovers()
        return self._record(status, self._refused or (self._control.order.reason if self._stop_stage else ""))

    def _lock(self) -> int | None:
        """One ACTIVE agent per pipeline and host, each run at most once: the lock names the last epoch that held it. A
        standby has a lock in its own directory, so that it is begun once, too.

        The driver has the lock as well, so it outlives a killed keeper. Raises AlreadyStarted for a run that was begun
        before, by a supervisor that another has taken the lease from: it is that keeper's, and nothing is recorded.
        """
        directory = self._dir if self._standby else self._dir.parent
        descriptor = _open_lock(directory / _lock_name(self._standby))
        if not self._taken(descriptor):
            return None
        if self._started_before(descriptor) or (self._dir / "exit.json").exists():
            raise AlreadyStarted(f"run {self._dir.name} was already started; this keeper ends")
        _name_epoch(descriptor, self._epoch)
        return descriptor

    def _taken(self, descriptor: int) -> bool:
        """Take the lock, unless somebody has it. Raises AlreadyStarted where that is a keeper of this very run, which
        may need a moment to say so."""
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if self._standby or (self._epoch and _last_epoch(descriptor) == self._epoch):
                    raise AlreadyStarted(f"run {self._dir.name} already has a keeper") from None
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.05)
            else:
                return True

    def _started_before(self, descriptor: int) -> bool:
        if self._standby:
            return os.fstat(descriptor).st_size > 0
        return bool(self._epoch) and _last_epoch(descriptor) >= self._epoch

    def _keep(self, lock: int) -> int:
        identity = {"token": self._token, "keeper": _identity(os.getpid(), self._boot_id), "driver": None}
        files.write_atomically(self._dir / "identity.json", identity)
        ours, theirs = socket.socketpair()
        environment = {**os.environ, processes.KEEPER_FD_VARIABLE: str(theirs.fileno()), "PYTHONUNBUFFERED": "1"}
        environment["MALLOC_ARENA_MAX"] = "2"
        environment[processes.RUN_VARIABLE] = self._log.label
        if self._user:
            environment = self._user.environment(environment, self._dir)
            account.give_up_privileges()
        child = subprocess.Popen(
            self._argv,
            stdin=subprocess.DEVNULL,
            stdout=self._log.sink,
            stderr=self._log.sink,
            pass_fds=(theirs.fileno(), lock),
            process_group=0,
            env=environment,
            cwd=self._dir,
            **(self._user.switch if self._user else {}),
        )
        self._pid = self._group = self._dumper.driver = child.pid
        child.returncode = 0  # reaped by processes.reap
        self._log.say(f"The driver is started as process {child.pid}.")
        theirs.close()
        self._to_driver = ours  # it stays open while the keeper lives
        handover.pass_on(ours.fileno(), self._frame)
        files.write_atomically(self._dir / "identity.json", {**identity, "driver": _identity(child.pid, self._boot_id)})
        return self._watch()

    def _watch(self) -> int:
        handle = os.pidfd_open(self._pid)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while (status := processes.reap(self._pid)) is None:
            if self._control.poll():
                self._log.say(self._control.complaint, "WARNING")
            self._escalate(time.clock_gettime(time.CLOCK_BOOTTIME))
            self._dump_as_asked()
            self._promote()
            poll.poll(self._until_next_check() * 1000)
        self._group = 0  # it is reaped, so its number may become another's
        os.close(handle)
        self._notice_followed()
        self._await_dump(_DUMP_TIMEOUT)
        return status

    def _notice_followed(self) -> None:
        """A driver may have followed its order and ended before the next look here: it was told all the same."""
        self._control.poll()
        if self._stop_stage is None and self._control.order.stop:
            self._stop_stage = "DRAIN"

    def _until_next_check(self) -> float:
        left = self._control.order.kill_at - time.clock_gettime(time.CLOCK_BOOTTIME)
        pause = _STANDBY_POLL if self._standby else _POLL
        return min(pause, left) if left > 0 else pause

    def _promote(self) -> None:
        """Once promote.json is there: take the pipeline's lock, and hand it to the driver, which begins when it has it.

        What is ending may still hold the lock for a moment. Where it stays taken, or has been another's since the
        promotion, the run ends.
        """
        if not self._standby or self._refused or (epoch := self._promotion.epoch()) is None:
            return
        now = time.monotonic()
        if self._promoting_since is None:
            self._promoting_since = now
        lock = _open_lock(self._dir.parent / _lock_name(standby=False))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            if now == self._promoting_since:
                self._log.say(f"to be promoted under epoch {epoch}; waiting for the pipeline's lock")
            elif now - self._promoting_since > _PROMOTION_TIMEOUT:
                self._refuse("another agent of this pipeline is alive and holds its lock")
            return
        if (last := _last_epoch(lock)) < epoch:
            self._hand_over(lock, epoch)
        else:
            self._refuse(f"it was promoted under epoch {epoch}, and epoch {last} has started since")
        os.close(lock)

    def _hand_over(self, lock: int, epoch: int) -> None:
        """The driver keeps the lock from here on. One that has ended is noticed by itself."""
        _name_epoch(lock, epoch)
        self._standby, self._epoch, self._lock_held = False, epoch, os.dup(lock)
        self._log.say(f"promoted under epoch {epoch}")
        with contextlib.suppress(OSError):
            if self._to_driver is not None:
                socket.send_fds(self._to_driver, [str(epoch).encode()], [lock])

    def _refuse(self, reason: str) -> None:
        self._refused = reason
        self._log.say(f"not promoted: {reason}", "ERROR")
        self._signal_group(signal.SIGTERM)

    def _escalate(self, now: float) -> None:
        """Do what is due, once. An interrupt takes its time in a thread of its own, so that nothing holds the kill up;
        while one is under way the next is put off."""
        order = self._control.order
        due = order.due(now)
        self._stop_stage = due.stop_stage if due else None
        if due is None or self._escalated == (order.seq, due):
            return
        if due.stop_stage == "KILL":
            self._kill()
        elif due.stop_stage == "INTERRUPT" and not self._aside(lambda: self._interrupt(due.number)):
            return
        self._escalated = (order.seq, due)

    def _aside(self, action: Callable[[], object]) -> bool:
        """Do something in the one other thread; False while that is busy."""
        if self._busy:
            return False
        self._dumping = threading.Thread(target=action, name="dumping", daemon=True)
        self._dumping.start()
        return True

    @property
    def _busy(self) -> bool:
        return self._dumping is not None and self._dumping.is_alive()

    def _await_dump(self, timeout: float) -> None:
        if self._dumping is not None:
            self._dumping.join(timeout)

    def _interrupt(self, number: int) -> None:
        """Dump the stacks, tell the driver, interrupt its Python workers."""
        self._interrupted = True
        dump = self._dumper.take("INTERRUPT", number=number, timeout=_DUMP_TIMEOUT)
        at_work = ", ".join(dump["stuck"]) or "no component"
        self._log.say(f"interrupt {number} of the stop: SIGTERM to the driver; at work: {at_work}", "WARNING")
        self._signal_group(signal.SIGTERM)
        for pid in processes.holders(self._token):
            if processes.kind_of(pid) == "worker" and processes.catches(pid, signal.SIGINT):
                processes.send(pid, self._token, signal.SIGINT)

    def _kill(self) -> None:
        """The last stage. What no interrupt has dumped is dumped now, if that is quick."""
        self._log.say("the stop's last deadline has passed: SIGKILL to the run", "ERROR")
        if not self._interrupted and self._aside(lambda: self._dumper.take("KILL", timeout=_LAST_DUMP_TIMEOUT)):
            self._await_dump(_LAST_DUMP_TIMEOUT)
        self._signal_group(signal.SIGKILL)
        processes.kill_all(self._token)

    def _dump_as_asked(self) -> None:
        if not self._busy and (order := self._asked.poll()):
            asked, stop_stage = order
            self._aside(lambda: self._dumper.take(stop_stage, asked=asked, timeout=_DUMP_TIMEOUT))

    def _signal_group(self, number: signal.Signals) -> None:
        """The driver is our child and not reaped yet, so its pid, and the group named after it, cannot be another's."""
        if self._group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, number)

    def _kill_leftovers(self) -> None:
        processes.await_exit(self._starter, _STARTER_TIMEOUT)
        deadline = time.monotonic() + _LEFTOVERS_TIMEOUT
        while (left := [*processes.kill_children(), *processes.kill_all(self._token)]) and time.monotonic() < deadline:
            time.sleep(0.01)
            processes.reap(self._pid)
        if left:
            self._log.say(f"processes {left} of this run cannot be killed", "ERROR")
        with contextlib.suppress(RecursionError):
            shutil.rmtree(self._dir / "tmp", ignore_errors=True)

    def _record(self, status: int, reason: str) -> int:
        """Write exit.json, into the room that the run's reserve takes; a disk that is full all the same is waited for,
        at most a minute."""
        files.remove(self._dir / _RESERVE)
        self._say_end(os.waitstatus_to_exitcode(status), reason)
        self._log.close(timeout=1.0)
        self._control.poll()
        code = os.waitstatus_to_exitcode(status)
        killed_by = self._killed_by(code)
        self._stop_stage = "KILL" if killed_by else self._stop_stage
        self._dumper.rest("KILL" if killed_by else "crash")
        record = {
            "token": self._token,
            "exit_code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "killed_by": killed_by,
            "stop_stage": self._stop_stage,
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
                account.close(self._dir)
                return 0
        return 1

    def _say_end(self, code: int, reason: str) -> None:
        """The last line of the log, unless the driver's own output follows it."""
        how = f"exited with code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
        if not self._pid:
            how = "was not started"
        level = "INFO" if code == 0 else "ERROR"
        self._log.say(f"The driver {how}{f': {reason}' if reason else ''}.", level)

    def _killed_by(self, code: int) -> str | None:
        """Who has carried out the last stage: this process, or the driver's own watchdog, which a keeper that was held
        up itself finds done."""
        if self._stop_stage == "KILL" and code == -signal.SIGKILL:
            return "keeper"
        due = self._control.order.due(time.clock_gettime(time.CLOCK_BOOTTIME))
        late = due is not None and due.stop_stage == "KILL"
        return "agent" if late and code == _WATCHDOG_EXIT else None
