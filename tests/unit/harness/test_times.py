from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.times import records
from tests.times.__main__ import main, tables
from tests.times.plugin import ModuleTimes
from tests.times.processes import Sampler, kind
from tests.times.records import Module, Step

JVM = ["/usr/bin/java", "-Xmx512m"]
GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"


@pytest.mark.parametrize(
    ("argv", "counted"),
    [
        ([*JVM, "-cp", "a.jar", "kafka.Kafka", "server.properties"], "brokers"),
        ([*JVM, "-cp", "a.jar", "kafka.tools.StorageTool", "format"], None),
        (["java", "-Djava.io.tmpdir=/tmp/t/runs/p/1/tmp", "-cp", "a.jar", GATEWAY], "agent JVMs"),
        (["java", "-Djava.io.tmpdir=/tmp/spark0", "-cp", "a.jar", GATEWAY], "Spark sessions"),
        (["/venv/bin/python", "manage.py", "up", "--demo"], "stacks"),
        (["/venv/bin/python", "/venv/bin/headgate", "demo", "--exit"], "stacks"),
        (["/venv/bin/python", "manage.py", "migrate"], None),
        (["/usr/lib/chromium/chromium", "--headless"], "Chromium"),
        (["/usr/lib/chromium/chromium", "--type=renderer"], None),
        (["/usr/lib/postgresql/15/bin/postgres", "-D", "/tmp/data"], "PostgreSQL"),
        (["/usr/lib/postgresql/15/bin/postgres", "--single", "-F"], None),
        (["postgres: checkpointer"], None),
        (["/venv/bin/redis-server", "--bind", "127.0.0.1"], "Redis"),
        (["/venv/bin/redis-server 127.0.0.1:6400   "], "Redis"),
    ],
)
def test_what_is_counted_is_known_by_its_command_line(argv: list[str], counted: str | None) -> None:
    assert kind(argv) == counted


class FakeProc:
    """A /proc whose processes a test makes and ends. CPU seconds are given as of the process and its children."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, pid: int, parent: int, *argv: str, cpu: float = 0.0, environ: str = "") -> None:
        directory = self.root / str(pid)
        directory.mkdir(exist_ok=True)
        ticks = round(cpu * os.sysconf("SC_CLK_TCK"))
        stat = f"{pid} (a (b) c) S {parent} 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5"
        (directory / "stat").write_text(stat)
        (directory / "cmdline").write_text("\0".join(argv) + "\0")
        (directory / "environ").write_text(environ)

    def end(self, pid: int) -> None:
        for file in (self.root / str(pid)).iterdir():
            file.unlink()
        (self.root / str(pid)).rmdir()


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.fixture
def sampler(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> Sampler:
    """One whose own process takes no CPU time."""
    monkeypatch.setattr(resource, "getrusage", lambda _: _Nothing())
    return Sampler("mine", "/tmp/tests-7", str(proc.root))


class _Nothing:
    ru_utime = ru_stime = 0.0


ME = os.getpid()
REDIS = ("redis-server", "--bind")


def test_descendants_and_the_marked_and_those_of_the_directory_count_and_others_do_not(
    proc: FakeProc, sampler: Sampler
) -> None:
    proc.put(ME, 1, "pytest")
    proc.put(ME + 1, ME, *REDIS, cpu=1)
    proc.put(ME + 2, ME + 1, *REDIS, "again", cpu=2)
    proc.put(ME + 3, 1, *REDIS, cpu=4, environ="PATH=/\0TEST_TIMES_OF=mine\0")
    proc.put(ME + 4, 1, *REDIS, "/tmp/tests-7/data", cpu=8)
    proc.put(ME + 5, 1, *REDIS, cpu=16)
    assert sampler.sample() == (Counter({"Redis": 4}), 15)
    assert sampler.sample() == (Counter(), 15)


def test_a_fork_counts_when_it_has_a_command_line_of_its_own(proc: FakeProc, sampler: Sampler) -> None:
    proc.put(ME + 1, ME, *JVM, "kafka.Kafka")
    proc.put(ME + 2, ME + 1, *JVM, "kafka.Kafka")
    assert sampler.sample()[0] == {"brokers": 1}
    proc.put(ME + 2, ME + 1, *REDIS)
    assert sampler.sample()[0] == {"Redis": 1}


def test_an_orphan_leaves_its_seconds_and_a_child_leaves_them_to_whoever_waits(
    proc: FakeProc, sampler: Sampler
) -> None:
    proc.put(ME + 1, ME, "child", cpu=1)
    proc.put(ME + 2, 1, "orphan", "/tmp/tests-7", cpu=2)
    proc.put(ME + 3, ME + 2, "of the orphan", cpu=4)
    assert sampler.sample()[1] == 7
    for pid in (ME + 1, ME + 2, ME + 3):
        proc.end(pid)
    assert sampler.sample()[1] == 6


def test_the_seconds_of_an_orphans_child_that_ended_are_the_orphans(proc: FakeProc, sampler: Sampler) -> None:
    proc.put(ME + 1, 1, "keeper", "/tmp/tests-7", cpu=2)
    proc.put(ME + 2, ME + 1, "driver", cpu=4)
    assert sampler.sample()[1] == 6
    proc.end(ME + 2)
    proc.put(ME + 1, 1, "keeper", "/tmp/tests-7", cpu=6)
    assert sampler.sample()[1] == 6


def test_parts_of_a_browser_are_no_browsers_however_they_write_their_command_line() -> None:
    assert kind(["/usr/lib/chromium/chromium", "--headless"]) == "Chromium"
    assert kind(["/usr/lib/chromium/chromium", "--type=renderer"]) is None
    assert kind(["/usr/lib/chromium/chromium --type=renderer --lang=en"]) is None


def test_the_seconds_of_a_real_child_are_counted_once() -> None:
    sampler = Sampler("of no process", "/no/such/directory")
    _, before = sampler.sample()
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
    child = subprocess.Popen([sys.executable, "-S", "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    own = time.process_time()
    _, running = sampler.sample()
    child.communicate(b"\n", timeout=30)
    _, ended = sampler.sample()
    assert running - before > 0.25
    assert ended - running < 0.2 + time.process_time() - own


def test_what_happens_belongs_to_the_module_that_runs_at_that_moment(tmp_path: Path) -> None:
    times = ModuleTimes(tmp_path, "tests/unit")
    seen = iter([(Counter(), 1.0), (Counter(Redis=1), 4.0), (Counter(Redis=2), 9.0)])
    times._sampler = type("Told", (), {"sample": lambda self: next(seen)})()
    times.pytest_runtest_logstart(("tests/unit/test_a.py", 1, "test_one"))
    times.pytest_runtest_logstart(("tests/unit/test_b.py", 1, "test_two"))
    times._note()
    modules = {module.path: module for module in times._modules.values()}
    assert [modules[path].cpu for path in ("collection", "tests/unit/test_a.py", "tests/unit/test_b.py")] == [1, 3, 5]
    assert modules["tests/unit/test_b.py"].started == {"Redis": 2}


def test_the_table_adds_up_workers_and_puts_the_costly_modules_first(tmp_path: Path) -> None:
    fast = "tests/unit tests/db"
    records.write(tmp_path, Step("types", 33.4, 34.0), Step(fast, 100.0, 2.0))
    records.write(tmp_path, Module("tests/unit/test_a.py", fast, 3, 20.0, 6.0, {"Redis": 1}))
    records.write(tmp_path, Module("tests/unit/test_a.py", fast, 4, 30.0, 7.0, {"Redis": 1, "brokers": 2}))
    records.write(tmp_path, Module("tests/unit/test_b.py", fast, 1, 60.0, 1.0))
    records.write(tmp_path, *(Module(f"tests/db/test_{name}.py", fast, 2, 1.0, 0.5) for name in "cd"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables(list(records.read(tmp_path))) if line]
    assert rows[0][:4] == ["step", "tests", "seconds", "CPU seconds"]
    assert rows[2] == ["types", "", "33", "34", "", "", "", "", "", "", ""]
    assert rows[3] == [fast, "12", "100", "17", "", "2", "", "", "", "", "2"]
    assert [row[:4] for row in rows[4:8]] == [
        ["tier", "tests", "seconds", "CPU seconds"],
        ["---"] + ["---:"] * 3,
        ["tests/unit", "8", "110", "14"],
        ["tests/db", "4", "2", "1"],
    ]
    assert [row[:4] for row in rows[10:]] == [
        ["tests/unit/test_b.py", "1", "60", "1"],
        ["tests/unit/test_a.py", "7", "50", "13"],
        [f"2 more of {fast}", "4", "2", "1"],
    ]


def test_a_table_of_nothing_names_the_command_that_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "make test" in capsys.readouterr().err
