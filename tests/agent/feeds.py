"""What feeds the sources that are no broker: each knows its definition, when it flows, and what has to be there."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

from controlplane.install.services.ports import free_port
from tests.agent.harness import Pipeline, Run
from tests.agent.sources import Sender, bodies, delivered
from tests.counts import not_once
from tests.waiting import wait_for


class Feed:
    """A source of the name `name`, with a channel and a directory of its own; `flow` in each run as many records."""

    name: str
    flow = 1

    def __init__(self, directory: Path) -> None:
        self.out = directory / "out" / self.name

    def source(self) -> dict[str, Any]:
        """The source of a definition."""
        raise NotImplementedError

    def begin(self) -> None:
        """Before the first run."""

    def wait_flowing(self, run: Run) -> None:
        """Until this run has delivered some."""
        run.wait_status(
            lambda s: any(q.source == self.name and q.delivered >= self.flow for q in s.queries), f"some of {self.name}"
        )

    def died(self) -> None:
        """Right after a process of the run was killed, and before the next run."""

    def end(self) -> None:
        """Nothing more will come."""

    def arrived(self) -> bool:
        """Whether everything is there; whether it is there once is checked then."""
        raise NotImplementedError

    def check(self, pipeline: Pipeline) -> None:
        """When all runs are over."""


class Sequence(Feed):
    """Numbered events out of nothing."""

    name, limit = "sequence", 60_000

    def source(self) -> dict[str, Any]:
        return {"type": "sequence", "rate": 3000, "limit": self.limit, "body": '{"n": {n}}', "partitions": 3}

    def wait_flowing(self, run: Run) -> None:
        wait_for(lambda: bodies(self.out), "numbers")

    def arrived(self) -> bool:
        return bodies(self.out).total() >= self.limit

    def check(self, pipeline: Pipeline) -> None:
        assert not not_once(bodies(self.out), (f'{{"n": {n}}}' for n in range(self.limit)))


class Writer(threading.Thread):
    """Appends numbered lines to one file and rotates it in turn by renaming and by copy-and-truncate."""

    def __init__(self, path: Path, lines_per_file: int) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self.rotations = 0
        self._path = path
        self._lines = lines_per_file
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.01):
            with self._path.open("a") as file:
                for _ in range(25):
                    file.write(f"line {self.count}\n")
                    self.count += 1
            if self.count // self._lines > self.rotations:
                self._rotate()

    def _rotate(self) -> None:
        self.rotations += 1
        older = self._path.with_name(f"app.log.{self.rotations}")
        if self.rotations % 2:
            self._path.rename(older)
        else:
            shutil.copyfile(self._path, older)
            with self._path.open("r+") as file:
                file.truncate(0)

    def end(self) -> None:
        self._done.set()
        self.join(10)


class Tail(Feed):
    """Lines of one file, which is rotated while it is read, and while no run lives."""

    name, flow = "tail", 3000

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._logs = directory / "logs"
        self._logs.mkdir()
        self._writer = Writer(self._logs / "app.log", 4500)

    def source(self) -> dict[str, Any]:
        group = {"directory": str(self._logs), "pattern": r"app\.log(\.\d+)?", "headers": {"service": "shop"}}
        return {"type": "taildir", "file_groups": {"app": group}, "byte_offset_header": True, "file_header": True}

    def begin(self) -> None:
        self._writer.start()

    def wait_flowing(self, run: Run) -> None:
        super().wait_flowing(run)
        self._wait_rotated()

    def died(self) -> None:
        self._wait_rotated()

    def _wait_rotated(self) -> None:
        before = self._writer.rotations
        wait_for(lambda: self._writer.rotations >= before + 2, "rotations", 60)

    def end(self) -> None:
        self._writer.end()

    def arrived(self) -> bool:
        return len(bodies(self.out)) >= self._writer.count

    def check(self, pipeline: Pipeline) -> None:
        assert not not_once(bodies(self.out), (f"line {n}" for n in range(self._writer.count)))
        first = next(event for event in delivered(self.out) if event["body"] == "line 1")
        assert (first["headers"]["byteoffset"], first["headers"]["service"]) == ("7", "shop")
        assert self._writer.rotations >= 6


class Spool(Feed):
    """Finished files: read whole, let go of once delivered, and once only."""

    name, flow = "spool", 1000

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.directory = directory / "spool"
        self.directory.mkdir()
        self._files = 0

    def source(self) -> dict[str, Any]:
        return {
            "type": "spooldir",
            "directory": str(self.directory),
            "basename_header": True,
            "scan_interval": "100ms",
            "max_line_bytes": 1000,
        }

    def drop(self, name: str, numbers: range) -> None:
        """Put a finished file there, as one should: under another name first."""
        part = self.directory / f".{name}"
        part.write_text("".join(f"line {n}\r\n" for n in numbers))
        part.rename(self.directory / name)

    def begin(self) -> None:
        (self.directory / "empty.txt").touch()
        (self.directory / "long.txt").write_text("x" * 5000 + "\nshort\n")
        self.died()

    def died(self) -> None:
        for file in range(self._files, self._files + 10):
            self.drop(f"in-{file:02}.txt", range(file * 1000, file * 1000 + 1000))
        self._files += 10

    def arrived(self) -> bool:
        return len(list(self.directory.glob("*.COMPLETED"))) == self._files + 2

    def check(self, pipeline: Pipeline) -> None:
        assert self._files == 30
        assert not not_once(bodies(self.out), [*(f"line {n}" for n in range(30_000)), "", "short"])
        line = next(event for event in delivered(self.out) if event["body"] == "line 2500")
        assert line["headers"] == {"basename": "in-02.txt"}
        assert sum(done.counts.dead_lettered for done in pipeline.books["spool", "spool"].done) == 1


class Command(Feed):
    """What a command prints, which never outlives its agent; it prints all of it again with every start."""

    name, flow = "command", 510

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.file = directory / "followed.log"

    def source(self) -> dict[str, Any]:
        return {
            "type": "exec",
            "shell": ["/bin/bash", "-c"],
            "command": f"tail -n +1 -F {self.file} & wait",
            "batch_timeout_ms": 100,
            "restart": True,
            "restart_throttle_ms": 100,
        }

    def begin(self) -> None:
        self.file.write_text("".join(f"old {n}\n" for n in range(10)))

    def wait_flowing(self, run: Run) -> None:
        if self.file.read_text().count("\n") == 10:
            run.wait_status(lambda s: any(q.source == self.name and q.delivered == 10 for q in s.queries), "old lines")
            with self.file.open("a") as file:
                file.writelines(f"new {n}\n" for n in range(500))
        super().wait_flowing(run)
        assert len(self._followers()) >= 1

    def died(self) -> None:
        wait_for(lambda: not self._followers(), "the command to be gone", 10)

    def _followers(self) -> list[int]:
        """Living processes whose command line names the file."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0] if line else "Z"
            except OSError:
                continue
            if str(self.file).encode() in line and b"tail" in line and state != "Z":
                found.append(int(entry.name))
        return found

    def arrived(self) -> bool:
        return len(bodies(self.out)) >= 510

    def check(self, pipeline: Pipeline) -> None:
        assert bodies(self.out).keys() == {f"old {n}" for n in range(10)} | {f"new {n}" for n in range(500)}


class Posted(Feed):
    """Events that are posted: every one that was answered with 200 arrives, once."""

    name, flow = "posted", 500

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._port = free_port()
        self._sender = Sender(f"http://127.0.0.1:{self._port}/events")

    def source(self) -> dict[str, Any]:
        return {"type": "http", "port": self._port, "path": "/events", "intake": "file"}

    def begin(self) -> None:
        self._sender.start()

    def wait_flowing(self, run: Run) -> None:
        before = len(self._sender.accepted)
        wait_for(lambda: len(self._sender.accepted) > before + 2000, "events to be accepted", 180)
        super().wait_flowing(run)

    def end(self) -> None:
        self._sender.end()

    def arrived(self) -> bool:
        return self._sender.accepted <= bodies(self.out).keys()

    def check(self, pipeline: Pipeline) -> None:
        assert max(bodies(self.out).values()) == 1
        sample = delivered(self.out)[0]
        assert sample["headers"]["n"] == sample["body"]
