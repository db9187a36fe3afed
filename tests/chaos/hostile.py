"""Components that do not want to end, as interceptors and inside the driver; they begin when a file appears."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from workers.agent.interceptors.api import Context, Event

FLAG = "HOSTILE_FLAG"
HOW = "HOSTILE_HOW"


class Hostile:
    """An interceptor that hangs in `intercept` once `flag` exists. `how`: sleep, which an interrupt ends; hook, which
    hangs in `close`, too; masked, in C with every signal blocked."""

    def initialize(self, context: Context) -> None:
        self.config = context.config

    def intercept(self, event: Event) -> Event:
        if Path(self.config["flag"]).exists():
            hang(self.config["how"], Path(self.config["flag"]))
        return event

    def close(self) -> None:
        if self.config["how"] == "hook":
            time.sleep(3600)


def hang(how: str, flag: Path) -> None:
    """Never come back; `flag` with the suffix .hanging says that it has begun. locked: the interpreter's lock is held,
    too, as soon as there is a file with the suffix .lock."""
    flag.with_suffix(".hanging").touch()
    if how in {"sleep", "hook"}:
        time.sleep(3600)
    while how == "locked" and not flag.with_suffix(".lock").exists():
        time.sleep(0.05)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    library = ctypes.PyDLL(None) if how == "locked" else ctypes.CDLL(None)
    while True:
        library.sleep(3600)


def main(run_dir: Path) -> int:
    """An agent whose null sink `lake` hangs in the driver's own process once the file exists."""
    from workers.agent.__main__ import main as agent
    from workers.agent.components.sink import null

    write = null.Builder.write

    def hostile(self: Any, attempt: Any) -> Any:
        if self.place.name == "lake" and Path(os.environ[FLAG]).exists():
            hang(os.environ[HOW], Path(os.environ[FLAG]))
        return write(self, attempt)

    null.Builder.write = hostile  # type: ignore[method-assign]
    return agent(run_dir)


if __name__ == "__main__":
    os._exit(main(Path(sys.argv[1])))
