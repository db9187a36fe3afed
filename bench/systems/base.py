"""What all systems have in common."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from bench.usage import end_all, holders, wait_until
from controlplane.install.tools.java import find_java
from pipelines.domain.runs.protocol import TOKEN_VARIABLE

LINGER_MS = 20
BATCH_BYTES = 512 * 1024
BUFFER_BYTES = 64 * 2**20
COMPRESSION = "lz4"
_STOP_TIMEOUT = 30.0
_SETTLE = 3.0
_LOG4J = """\
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %m (%c{1})%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
"""


class Failed(Exception):
    """A system did not do its work, or not in time; the message ends with the last lines of its log."""


@dataclass(frozen=True)
class Work:
    """Move `source` to the topic `sink`; everything else is below `directory`.

    `hurry`: for latency instead of throughput, with no waiting for fuller batches on any side.
    """

    servers: str
    source: str
    run: str
    directory: Path
    hurry: bool = False

    @property
    def sink(self) -> str:
        """The name that MirrorMaker gives to the copy; the others follow it."""
        return f"{self.run}.{self.source}"

    def more(self, name: str) -> str:
        """A further sink topic of work that has several."""
        return f"{self.sink}.{name}"

    @property
    def linger_ms(self) -> int:
        """How long the producers of all systems wait for a fuller batch."""
        return 0 if self.hurry else LINGER_MS


@dataclass
class Running:
    """A system at work. `spawn`: starts its one process again; `started_at`: wall time just before its first process
    was started.
    """

    token: str
    log: Path
    process: subprocess.Popen[bytes] | None = None
    spawn: Callable[[], subprocess.Popen[bytes]] | None = None
    started_at: float = field(default_factory=time.time)

    @property
    def alive(self) -> bool:
        """Whether a process of it lives."""
        return self.process.poll() is None if self.process else bool(holders(self.token))

    def crash(self) -> float:
        """SIGKILL its one process and start it again at once; returns the wall time of the kill. Raises Failed where it
        has none."""
        if self.process is None or self.spawn is None or not self.alive:
            raise self.failed("there is no process to be killed")
        killed = time.time()
        self.process.kill()
        self.process.wait(_STOP_TIMEOUT)
        self.process = self.spawn()
        return killed

    def settle(self) -> None:
        """Let it finish what it has delivered: Flume sends again what a stop finds in a sink's open transaction."""
        time.sleep(_SETTLE)

    def stop(self) -> None:
        """End it in good order; what is left after half a minute is killed."""
        if self.process and self.alive:
            self.process.terminate()
            wait_until(lambda: not self.alive, _STOP_TIMEOUT)
        end_all(self.token)
        if self.process:
            self.process.wait(_STOP_TIMEOUT)

    def await_(self, probe: Callable[[], bool], what: str, timeout: float, interval: float = 0.1) -> None:
        """Wait until it is true; raises Failed when the system ends before, or `timeout` seconds have passed."""
        wait_until(lambda: probe() or not self.alive, timeout, interval)
        if not probe():
            raise self.failed(f"{what} did not come about: it {'is too slow' if self.alive else 'has ended'}")

    def failed(self, what: str) -> Failed:
        """An error with the end of its log."""
        lines = self.log.read_text(errors="replace").splitlines()[-15:] if self.log.exists() else []
        return Failed("\n    ".join([what, *lines]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class System(ABC):
    """One competitor. `name` is its name in the report."""

    name: str

    def refusal(self, work: Work) -> str | None:
        """Why it cannot do this work here, in a line; None where it can."""
        return None

    @abstractmethod
    def start(self, work: Work) -> Running:
        """Start its processes; returns at once."""


def start_java(work: Work, flags: Sequence[str], class_path: str, arguments: Sequence[str]) -> Running:
    """Start a peer's JVM in a session of its own, with its output in a log."""
    work.directory.mkdir(parents=True, exist_ok=True)
    logging, log = work.directory / "log4j2.properties", work.directory / "log"
    logging.write_text(_LOG4J)
    token = uuid.uuid4().hex
    argv = [str(find_java().executable), *flags, f"-Dlog4j2.configurationFile={logging}", "-cp", class_path]

    def spawn() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                [*argv, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, TOKEN_VARIABLE: token},
                cwd=work.directory,
                start_new_session=True,
            )

    running = Running(token, log, spawn=spawn)
    running.process = spawn()
    return running


def properties(entries: dict[str, object]) -> str:
    """A Java properties file."""
    return "".join(f"{key}={str(value).replace(chr(92), chr(92) * 2)}\n" for key, value in entries.items())
