"""Dumps of all stacks of a run: of its driver and its Python workers by faulthandler, of its JVM by SIGQUIT.

None of it needs the interpreter's lock of anybody: a process that is stuck in a C call answers, too. A component is
named by the frames themselves: the agent calls it from a function whose name is its path in the definition.
"""

from __future__ import annotations

import contextlib
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.keeper import files, processes
from workers.keeper.jvm_dump import JvmDump

DRIVER = "python.txt"
_LOOK = 0.03
_QUIET = 5
"""So many looks without a change end the text of a Python process."""
_KEPT = 20
_MOST = 4 << 20
_LONGEST_NAME = 4096
_COMPONENT = re.compile(r"^  File .*, line \S+ in ((?:sources|channels|sinks|dead_letters)\.\S+)$", re.MULTILINE)


@dataclass
class Scratch:
    """The file that faulthandler of one process writes to; only what follows `start` is new."""

    pid: int
    path: Path
    start: int
    size: int = 0
    quiet: int = 0

    def grows(self) -> bool:
        """Look; False once it has text and that does not grow any more, or its process is gone."""
        size = _size(self.path) - self.start
        self.quiet = self.quiet + 1 if size == self.size else 0
        self.size = size
        if size == 0:
            return processes.start_time(self.pid) is not None
        return self.quiet < _QUIET

    def text(self) -> bytes:
        """What is new."""
        with contextlib.suppress(OSError):
            return files.read_some(self.path, self.start, _MOST)
        return b""


@dataclass
class Dumper:
    """Takes dumps of one run, one at a time; `driver` is its pid once it has one."""

    run_dir: Path
    token: str
    jvm: JvmDump
    say: Callable[[str], None]
    driver: int = 0
    taken: list[dict[str, Any]] = field(default_factory=list)
    _filed: int = 0

    def take(self, stop_stage: str, *, number: int = 0, asked: str = "", timeout: float) -> dict[str, Any]:
        """Ask every process, wait at most `timeout` seconds, file what came; returns the entry of dumps.json."""
        end = time.monotonic() + timeout
        pids = {pid: processes.kind_of(pid) for pid in processes.holders(self.token)}
        workers = [pid for pid, kind in pids.items() if kind == "worker"]
        jvms = [pid for pid, kind in pids.items() if kind == "jvm"]
        self.jvm.expect()
        asked_all = [pid for pid in jvms if self._signal(pid, signal.SIGQUIT)]
        driver = Scratch(self.driver, self._stacks / DRIVER, self._filed)
        each = [Scratch(pid, self._worker(pid), _size(self._worker(pid))) for pid in workers]
        waiting = [scratch for scratch in [driver, *each] if self._signal(scratch.pid, signal.SIGUSR1)]
        while sum(scratch.grows() for scratch in waiting) and time.monotonic() < end:
            time.sleep(_LOOK)
        dump = self._of_jvm(asked_all, end)
        answers = {scratch.pid: scratch.text() for scratch in [driver, *each]}
        self._filed += len(answers[self.driver])
        silent = [pid for pid, text in answers.items() if not text] + ([] if dump else jvms)
        texts = {"driver": answers.pop(self.driver), "workers": self._joined(answers), "jvm": dump}
        return self._file({"stop_stage": stop_stage, "number": number, "asked": asked, "silent": silent}, texts)

    def _of_jvm(self, asked: list[int], end: float) -> bytes:
        while any(map(processes.start_time, asked)) and time.monotonic() < end and not self.jvm.over(_LOOK):
            pass
        return self.jvm.take(_LOOK if asked else 0)

    def rest(self, stop_stage: str) -> None:
        """File what the driver has said since the last dump: the last words of its watchdog, or of a crash."""
        if text := Scratch(self.driver, self._stacks / DRIVER, self._filed).text():
            self._file({"stop_stage": stop_stage, "number": 0, "asked": "", "silent": []}, {"driver": text})
        for path in self._stacks.glob("worker-*"):
            files.remove(path)

    def _joined(self, answers: dict[int, bytes]) -> bytes:
        """What the Python workers say; of one that does not answer, what it has written down and the kernel knows."""
        texts = [b"Python worker %d\n%b" % (pid, text or self._known_of(pid)) for pid, text in answers.items()]
        return b"\n".join(texts)

    def _known_of(self, pid: int) -> bytes:
        lines = [f"  {line}" for line in processes.kernel_messages(pid)]
        with contextlib.suppress(OSError):
            if component := self._at_work(pid):
                lines.insert(0, f"  File (no answer), line ? in {component}")
        return "".join(f"{line}\n" for line in lines).encode()

    def _at_work(self, pid: int) -> str:
        """The component that a worker has written down."""
        return files.read_some(self._worker(pid).with_suffix(".at"), 0, _LONGEST_NAME).decode(errors="replace").strip()

    def _signal(self, pid: int, number: signal.Signals) -> bool:
        """Send it to a process that has a handler; one that has none would end."""
        return bool(pid) and processes.catches(pid, number) and processes.send(pid, self.token, number)

    def _worker(self, pid: int) -> Path:
        return self._stacks / f"worker-{pid}.txt"

    @property
    def _stacks(self) -> Path:
        return self.run_dir / "stacks"

    def _file(self, entry: dict[str, Any], texts: dict[str, bytes]) -> dict[str, Any]:
        """Write one file for each text, then dumps.json."""
        at, stuck = time.time(), _stuck(texts)
        step = f"{entry['stop_stage']}-{entry['number']}" if entry["number"] else entry["stop_stage"]
        stem = time.strftime("%Y%m%dT%H%M%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03}Z-{step}"
        head = f"{stem}\nat work: {', '.join(stuck) or 'no component'}\n"
        head += f"no answer from: {', '.join(map(str, entry['silent']))}\n\n" if entry["silent"] else "\n"
        names = [
            f"{stem}-{process}.txt"
            for process, text in texts.items()
            if text and self._write(self._stacks / f"{stem}-{process}.txt", head.encode() + text)
        ]
        self._keep(entry | {"at": at, "stuck": stuck, "files": names})
        return self.taken[-1]

    def _write(self, path: Path, content: bytes) -> bool:
        try:
            path.parent.mkdir(exist_ok=True)
            if path.parent.is_symlink():
                raise OSError(f"{path.parent} is a link")
            with files.create(path) as file:
                file.write(content)
        except OSError as error:
            self.say(f"{path.name} cannot be written: {error}")
            return False
        return True

    def _keep(self, entry: dict[str, Any]) -> None:
        self.taken.append(entry)
        for old in self.taken[:-_KEPT]:
            for name in old["files"]:
                (self._stacks / name).unlink(missing_ok=True)
        self.taken = self.taken[-_KEPT:]
        try:
            files.write_atomically(self.run_dir / "dumps.json", {"token": self.token, "taken": self.taken})
        except OSError as error:
            self.say(f"dumps.json cannot be written: {error}")


def _stuck(texts: dict[str, bytes]) -> list[str]:
    """The components at work: those inside a Python worker, since the driver only waits for them; else the driver's."""
    return sorted(set(_components(texts.get("workers", b"")) or _components(texts.get("driver", b""))))


def _components(text: bytes) -> list[str]:
    return _COMPONENT.findall(text.decode(errors="replace"))


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
