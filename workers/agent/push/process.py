"""The agent's side of a push process: starts it, starts it again when it fails, and knows how it is."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from workers.agent.base.log import say

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0


class PushProcess:
    """One process that takes events in, in the agent's process group.

    A thread of its own starts it and stays: the kernel ends the process with the thread that started it.
    """

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self._name = name
        self._options = options
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._lock = threading.Lock()
        self.failure = ""

    def start(self, first: Callable[[], None] = lambda: None) -> None:
        """Start it, once; `first` is called before that."""
        with self._lock:
            if self._thread is None:
                first()
                self._thread = threading.Thread(target=self._keep, name=f"intake {self._name}", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Have it take nothing more in: what it is in the midst of is answered, and it is not started again."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.terminate()

    def _keep(self) -> None:
        pause = _FIRST_PAUSE
        while not self._closed:
            started = time.monotonic()
            code = self._run()
            if code == 0 or self._closed:
                return  # a command that is not to be restarted has ended
            self.failure = f"The process that accepts events ended with {code}; see the agent's log."
            say(f"{self._name}: {self.failure}", "ERROR")
            pause = _FIRST_PAUSE if time.monotonic() - started > _LONGEST_PAUSE else min(_LONGEST_PAUSE, pause * 2)
            time.sleep(pause)

    def _run(self) -> int:
        argv = [sys.executable, "-P", "-m", "workers.agent.push.push"]
        with self._lock:
            if self._closed:
                return 0
            process = self._process = subprocess.Popen(argv, stdin=subprocess.PIPE)
            if process.stdin is None:
                raise RuntimeError("the process has no standard input")
            process.stdin.write(json.dumps(self._options).encode() + b"\n")
            process.stdin.flush()
        self.failure = ""
        return process.wait()
