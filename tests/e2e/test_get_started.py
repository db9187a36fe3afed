"""A reader who follows the three pages of *get started* in a clean clone, command by command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import psutil
import pytest

from controlplane.install.services.interrupt import Interrupt
from controlplane.install.services.ports import free_port
from tests.chaos.extent import WHOLE, some

PROJECT = Path(__file__).resolve().parents[2]
PAGES = ("demo", "first-pipeline", "first-migration")
READ = [PAGES] if WHOLE else some([PAGES[:number] for number in (1, 2, 3)], 3)
"""How far somebody reads. Each page goes on where the one before ended."""
BLOCK = re.compile(r'^```(?P<kind>sh title="Terminal [12]"|text)\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
READY = "Ctrl-C stops everything."
STARTED_WITHIN = 600.0  # a set-up with an empty cache
COMMAND_WITHIN = 240.0
DONE = "--- exit code"


@dataclass(frozen=True)
class Block:
    """What the reader types into a terminal, or what the page says that is printed."""

    kind: str
    text: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page in order; those of other kinds show files and are read only."""
    text = (PROJECT / "docs" / "get-started" / f"{page}.md").read_text()
    return [Block(found["kind"].replace('sh title="', "").rstrip('"'), found["text"]) for found in BLOCK.finditer(text)]


class Reader:
    """Two terminals in a clone. `ports` replaces those of the pages, which other tests may use."""

    def __init__(self, clone: Path, ports: dict[str, int]) -> None:
        self.clone = clone
        self.log = clone.parent / "terminal-1.log"
        self.printed = ""
        self.ports = ports
        self.stack: subprocess.Popen[bytes] | None = None
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=clone,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HEADGATE_", "DJANGO_"))}
        inherited.pop("VIRTUAL_ENV", None)
        cache = {"HEADGATE_CACHE": os.environ["HEADGATE_CACHE"]} if "HEADGATE_CACHE" in os.environ else {}
        chosen = {f"HEADGATE_{name}_PORT": str(port) for name, port in self.ports.items()}
        url = {"HEADGATE_URL": f"http://127.0.0.1:{self.ports['WEB']}"}
        return {**inherited, **cache, **chosen, **url, "COLUMNS": "200"}

    def _here(self, text: str) -> str:
        """The text of a page with this test's ports."""
        return text.replace("127.0.0.1:8000", f"127.0.0.1:{self.ports['WEB']}").replace(
            "127.0.0.1:19092", f"127.0.0.1:{self.ports['KAFKA']}"
        )

    def do(self, block: Block) -> None:
        """Type a block, or compare what it says with what was printed since the last comparison."""
        if block.kind == "Terminal 1":
            self._start(self._here(block.text))
        elif block.kind == "Terminal 2":
            for command in commands(self._here(block.text)):
                self._type(command)
        else:
            self._compare(self._here(block.text))

    def _start(self, command: str) -> None:
        with self.log.open("wb") as output:
            self.stack = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.clone,
                env=self._environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        running = self.stack

        def ready() -> bool:
            return READY in self.log.read_text(errors="replace") or running.poll() is not None

        assert Interrupt().wait(ready, STARTED_WITHIN, poll=0.5)
        self.printed = self.log.read_text(errors="replace")
        assert READY in self.printed, self.printed[-5000:]

    def _type(self, command: str) -> None:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        patience = Timer(COMMAND_WITHIN, os.killpg, (self._shell.pid, signal.SIGKILL))
        patience.start()
        self._shell.stdin.write(f'{command}\necho "{DONE} $?"\n')
        self._shell.stdin.flush()
        lines = []
        for line in self._shell.stdout:
            if line.startswith(DONE):
                break
            lines.append(line)
        patience.cancel()
        self.printed += "".join(lines)
        assert line == f"{DONE} 0\n", f"{command}\n{''.join(lines)}"

    def _compare(self, expected: str) -> None:
        found = " ".join(self.printed.split())
        for line in expected.splitlines():
            words = " ".join(line.partition("...")[0].split())
            assert words in found, f"{words!r} is not in\n{self.printed[-5000:]}"
        self.printed = ""

    def close(self) -> int:
        """Ctrl-C in the first terminal. Returns the stack's exit code."""
        self._shell.kill()
        self._shell.wait()
        if self.stack is None:
            return 0
        (stack,) = [each for each in psutil.Process(self.stack.pid).children(recursive=True) if _is_stack(each)][:1]
        stack.send_signal(signal.SIGINT)
        return self.stack.wait(180)


def _is_stack(process: psutil.Process) -> bool:
    words = process.cmdline()
    return "manage.py" in words and "up" in words


def commands(text: str) -> Iterator[str]:
    """Whole commands: a here-document is one."""
    command, end = "", ""
    for line in text.splitlines():
        command += line + "\n"
        end = end or (line.partition("<<")[2].strip() if "<<" in line else "")
        if not end or line == end:
            yield command.rstrip("\n")
            command, end = "", ""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A clean clone with the dashboard that is built already, which saves a minute, and what a reader does in it."""
    clone = tmp_path_factory.mktemp("reader") / "headgate"
    subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(clone)], check=True, timeout=120)
    for built in ("node_modules", "dist"):
        copied = (PROJECT / "frontend" / built).resolve()
        subprocess.run(["cp", "-a", str(copied), str(clone / "frontend" / built)], check=True, timeout=120)
    reader = Reader(clone, {"WEB": free_port(), "REDIS": free_port(), "KAFKA": free_port()})
    try:
        yield reader
    finally:
        assert reader.close() == 0, reader.log.read_text(errors="replace")[-5000:]


@pytest.mark.parametrize("pages", READ, ids="-".join)
def test_every_command_of_the_pages_works_and_prints_what_they_say(reader: Reader, pages: tuple[str, ...]) -> None:
    for page in pages:
        for block in blocks(page):
            reader.do(block)


def test_every_block_of_the_pages_is_typed_or_compared() -> None:
    for page in PAGES:
        text = (PROJECT / "docs" / "get-started" / f"{page}.md").read_text()
        assert len(blocks(page)) == text.count("\n```") // 2, page


def test_a_here_document_is_one_command() -> None:
    assert list(commands("a\ncat > f <<EOF\nb\nEOF\nc\n")) == ["a", "cat > f <<EOF\nb\nEOF", "c"]
