"""PySpark's daemon of Python workers, with three additions: a worker shows its stack to the keeper that asks for it,
one that ends closes its interceptors, and one on which Spark hangs up ends without a trace in the log.

Spark starts it in place of `pyspark.daemon` (`spark.python.daemon.module`). Workers end without Python's own clean-up:
by SIGHUP when the daemon ends, or when Spark closes the connection of one that was idle.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pyspark import daemon

_stock_worker = daemon.worker


@cache
def _answer_dumps() -> None:
    """On the host of the run, whose directory is the current one; once per worker, which does many tasks."""
    if Path("launch.json").exists() and Path("stacks").is_dir():
        file = Path("stacks", f"worker-{os.getpid()}.txt").open("a")  # noqa: SIM115 - it stays open for the handler
        faulthandler.register(signal.SIGUSR1, file, all_threads=True)


def _close() -> None:
    """Close what is open, once: the end of the connection and SIGHUP come at about the same time."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    runtime = sys.modules.get("workers.agent.interceptors.worker")
    if runtime is not None:
        runtime.close_all()


def _hang_up(_number: int, _frame: Any) -> None:
    _close()
    os._exit(0)


def _with_hang_up(main: Any) -> Any:
    """The daemon gives a worker the default handlers before each task; this comes after that."""

    def run(infile: Any, outfile: Any) -> None:
        signal.signal(signal.SIGHUP, _hang_up)
        signal.signal(signal.SIGTERM, _hang_up)
        main(infile, outfile)

    run.closes = True  # type: ignore[attr-defined]
    return run


def worker(sock: Any, authenticated: bool) -> int:
    """One task, or the end of the worker."""
    import pyspark.worker as tasks  # not before the fork, as in the daemon itself

    _answer_dumps()
    if not hasattr(tasks.main, "closes"):
        tasks.main = _with_hang_up(tasks.main)
    try:
        code = _stock_worker(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        code = 1  # Spark has hung up on a task whose run was stopped; that is no error of a healthy run
    except BaseException:
        _close()
        raise
    if code:
        _close()
    return code


daemon.worker = worker

if __name__ == "__main__":
    daemon.manager()
