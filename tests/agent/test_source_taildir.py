"""Growing files while they rotate and the agent is killed: every line arrives once."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from tests.agent.sources import MakeSourcePipeline, bodies, delivered, make_source_pipeline
from tests.chaos.extent import WHOLE
from tests.counts import not_once
from tests.waiting import wait_for

__all__ = ["make_source_pipeline"]

KILLS = 2 if WHOLE else 1


class Writer(threading.Thread):
    """Appends a thousand numbered lines a second to one file and rotates it in turn by renaming and by
    copy-and-truncate."""

    def __init__(self, path: Path, lines_per_file: int) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self.rotations = 0
        self._path = path
        self._lines = lines_per_file
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.05):
            with self._path.open("a") as file:
                for _ in range(50):
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

    def end(self) -> int:
        self._done.set()
        self.join(10)
        return self.count


def test_rotations_and_kills_lose_no_line_and_double_none(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    group = {"directory": str(logs), "pattern": r"app\.log(\.\d+)?", "headers": {"service": "shop"}}
    source = {"type": "taildir", "file_groups": {"app": group}, "byte_offset_header": True, "file_header": True}
    pipeline = make_source_pipeline(source)
    writer = Writer(logs / "app.log", 3000)
    writer.start()
    for _ in range(KILLS):
        before = writer.count
        run = pipeline.start()
        run.wait_delivered(2000)
        rotations = writer.rotations
        wait_for(lambda: writer.rotations >= rotations + 2, "rotations", 60)  # noqa: B023 - called at once
        run.kill("driver")
        run.wait_exit()
        wait_for(lambda: writer.count > before + 5000, "rotations while it is down", 60)  # noqa: B023
    run = pipeline.start()
    run.wait_delivered(1000)
    count = writer.end()
    out = tmp_path / "out"
    wait_for(lambda: len(bodies(out)) >= count, "every line", 240)
    assert run.stop().exit_code == 0
    assert not not_once(bodies(out), (f"line {n}" for n in range(count)))
    first = next(event for event in delivered(out) if event["body"] == "line 1")
    assert (first["headers"]["byteoffset"], first["headers"]["service"]) == ("7", "shop")
    assert writer.rotations >= 6
