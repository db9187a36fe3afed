"""Processes of a run, found by the token in their environment and signalled by pidfd, never by a bare pid."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

TOKEN_VARIABLE = "HEADGATE_RUN_TOKEN"  # noqa: S105 - an environment variable's name
KEEPER_FD_VARIABLE = "HEADGATE_KEEPER_FD"
RUN_VARIABLE = "HEADGATE_RUN"
"""PIPELINE/NUMBER, for the lines of the log."""

_INHERITED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH"}
    | {"PYTHONPATH", "VIRTUAL_ENV", "KRB5_CONFIG", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    | {"HEADGATE_FAULT_AT"}  # tests alone set it: where the driver is to die
    | {"HADOOP_CONF_DIR", "YARN_CONF_DIR", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}
)
_PR_SET_CHILD_SUBREAPER = 36
_MOST = 128 * 1024
"""Bytes of an environment, or of a command line: more than a run's processes have."""


def clean_environment(token: str) -> dict[str, str]:
    """What a run's processes inherit: an allow-list, so that no credential of the control plane travels along."""
    kept = {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}
    kept[TOKEN_VARIABLE] = token
    return kept


def become_subreaper() -> None:
    """Adopt the orphans of the driver, so that they can be reaped; where the kernel refuses, init does it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start_time(pid: int) -> int | None:
    """Start time in clock ticks since boot (field 22 of /proc/PID/stat); None for one that is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def carries(pid: int, token: str) -> bool:
    """Whether the process was started with the run's token in its environment."""
    return f"{TOKEN_VARIABLE}={token}".encode() in _vector(pid, "environ").split(b"\0")


def _vector(pid: int, name: Literal["environ", "cmdline"]) -> bytes:
    """What a process was started with; nothing of one that has ended. A process can name any part of its memory as
    either of them, so it is not read to its end."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
        return file.read(_MOST)
    return b""


def holders(token: str) -> Iterator[int]:
    """Living processes of this host that carry the token, this one excepted."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - names only, once per poll
        if name.isdigit() and int(name) != os.getpid() and carries(int(name), token) and start_time(int(name)):
            yield int(name)


def send(pid: int, token: str, number: signal.Signals) -> bool:
    """Signal one process through a pidfd, after its token was seen behind that pidfd; False where it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not carries(pid, token):
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


Kind = Literal["jvm", "worker"]
_WORKERS = b"workers.agent.spark.python_daemon"


def kind_of(pid: int) -> Kind | None:
    """What a process of the run is: its JVM, or a Python worker, a child of the daemon that forks them; else None."""
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
            return "jvm"
    except OSError:
        return None
    return "worker" if _is_of_daemon(pid) and (parent := _parent(pid)) is not None and _forked(parent) else None


def _is_of_daemon(pid: int) -> bool:
    return _WORKERS in _vector(pid, "cmdline")


def _forked(parent: int) -> bool:
    """Whether a process of the daemon with this parent is a worker: the daemon itself is a child of the JVM, and a
    worker whose daemon has ended is adopted."""
    return _is_of_daemon(parent) or parent in {1, os.getpid()}


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return None


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal, without which it would end, and a thread that lets it in."""
    bit = 1 << (number - 1)
    masks = [_masks(status) for status in Path(f"/proc/{pid}/task").glob("*/status")]
    return any(caught & bit and not blocked & bit for caught, blocked in masks)


def _masks(status: Path) -> tuple[int, int]:
    """Signals that a thread's process catches, and those that the thread blocks."""
    try:
        lines = status.read_text(errors="replace").splitlines()
    except OSError:
        return 0, 0
    fields = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return int(fields.get("SigCgt", "0"), 16), int(fields.get("SigBlk", "0"), 16)


_REPORTING = ("Name:", "State:", "Threads:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigCgt:")


def kernel_messages(pid: int) -> list[str]:
    """What the kernel says of a process that does not answer: its state, its signals, and where it waits."""
    lines = []
    with contextlib.suppress(OSError):
        lines += [
            line
            for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
            if line.startswith(_REPORTING)
        ]
    with contextlib.suppress(OSError):
        lines.append(f"Waits in: {Path(f'/proc/{pid}/wchan').read_text() or '?'}")
    return lines


def kill_all(token: str) -> list[int]:
    """SIGKILL every other process of the run; returns those that were still there."""
    return [pid for pid in holders(token) if send(pid, token, signal.SIGKILL)]


def kill_children() -> list[int]:
    """SIGKILL the own children, adopted orphans among them, even where they dropped the token; they are not reaped yet,
    so their pids are theirs."""
    try:
        children = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return children


def await_exit(pid: int, timeout: float) -> None:
    """Wait until a process is gone, or for `timeout` seconds."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(1000 * timeout)
    finally:
        os.close(handle)


def reap(pid: int) -> int | None:
    """Collect every child that has ended; returns the wait status of `pid` if it was among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            child, child_status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                break
            if child == pid:
                status = child_status
    return status
