"""The keeper with real processes and tiny drivers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs.protocol import ExitRecord, Handover, Identity, boot_id, boottime

ROOT = Path(__file__).resolve().parents[3]
SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPER


def wait_for(probe: Callable[[], Any], timeout: float = 60.0) -> Any:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Kept:
    """A run directory with a fake driver under a real keeper."""

    def __init__(self, directory: Path, **launch: Any) -> None:
        self.dir = directory
        self.token = uuid.uuid4().hex
        directory.mkdir(parents=True, exist_ok=True)
        self.write("launch.json", {"token": self.token, **launch})

    def write(self, name: str, document: Any) -> None:
        temporary = self.dir / f".{name}.new"
        temporary.write_text(document if isinstance(document, str) else json.dumps(document))
        temporary.replace(self.dir / name)

    def start(self, driver: str, frame: bytes = b"") -> Kept:
        script = self.dir / "driver.py"
        script.write_text(textwrap.dedent(driver))
        call = f"main(Path({str(self.dir)!r}), [sys.executable, {str(script)!r}])"
        code = f"import sys; from pathlib import Path; from workers.keeper.keeper import main; sys.exit({call})"
        environment = {**os.environ, "HEADGATE_SECRET_KEY": "do not tell"}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60, env=environment, input=frame)
        return self

    def order(self, seq: int = 1, command: str = "stop", every: float | None = None, **times: float) -> None:
        at = {name: boottime() + seconds for name, seconds in times.items()}
        order = {"seq": seq, "command": command, "boot_id": boot_id(), "reason": "asked", "term_every": every}
        self.write("control.json", order | at)

    @property
    def log(self) -> str:
        path = self.dir / "agent.log"
        return path.read_text() if path.exists() else ""

    def said(self, text: str) -> None:
        """A driver writes a text and the end of its line apart: it breaks where its keeper is killed in between."""
        wait_for(lambda: "\n" in self.log.partition(text)[2])

    def identity(self) -> Identity:
        found: Identity = wait_for(
            lambda: (i := Identity.load(self.dir / "identity.json")) is not None and i.driver is not None and i
        )
        return found

    def driver(self) -> int:
        driver = self.identity().driver
        assert driver is not None
        return driver.pid

    def exit(self, timeout: float = 60.0) -> ExitRecord:
        record: ExitRecord = wait_for(lambda: ExitRecord.load(self.dir / "exit.json"), timeout)
        return record

    def holders(self) -> list[int]:
        found = []
        for path in Path("/proc").iterdir():
            try:
                if path.name.isdigit() and self.token.encode() in (path / "environ").read_bytes():
                    found.append(int(path.name))
            except OSError:
                continue
        return found


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    run = Kept(tmp_path / "runs" / "p" / "1", log_bytes=10_000, log_files=2)
    yield run
    for pid in run.holders():
        with suppress(ProcessLookupError):  # a keeper that has written exit.json needs a moment to end
            os.kill(pid, signal.SIGKILL)


def test_the_exit_code_of_the_driver_is_recorded_and_nothing_is_left(kept: Kept) -> None:
    kept.start("import sys; print('hello'); sys.exit(11)")
    record = kept.exit()
    assert (record.exit_code, record.signal, record.killed_by, record.stop_stage) == (11, None, None, None)
    assert record.token == kept.token
    assert "hello" in kept.log
    wait_for(lambda: not kept.holders())


def test_identity_names_both_processes_as_the_kernel_knows_them(kept: Kept) -> None:
    identity = kept.start(SLEEPER).identity()
    assert identity.driver is not None
    for process in (identity.keeper, identity.driver):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        assert process.start_time == int(fields[19])
        assert process.boot_id == boot_id()
        assert f"HEADGATE_RUN_TOKEN={kept.token}".encode() in Path(f"/proc/{process.pid}/environ").read_bytes()
    assert os.getpgid(identity.driver.pid) == identity.driver.pid
    assert os.getsid(identity.driver.pid) == os.getsid(identity.keeper.pid) != os.getsid(0)


def test_credentials_of_the_control_plane_do_not_reach_the_run(kept: Kept) -> None:
    kept.start(SLEEPER)
    for pid in (kept.identity().keeper.pid, kept.driver()):
        assert b"do not tell" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_the_driver_gets_the_frame_of_secrets_and_sees_the_keeper_die(kept: Kept) -> None:
    kept.start(
        """
        import os, struct, sys
        pipe = open(int(os.environ["HEADGATE_KEEPER_FD"]), "rb")
        print("frame", pipe.read(struct.unpack(">I", pipe.read(4))[0]), flush=True)
        pipe.read()
        open("keeper-lost", "w").close()
        """
    )
    kept.said("frame b'{}'")
    driver = kept.driver()
    os.kill(kept.identity().keeper.pid, signal.SIGKILL)
    wait_for(lambda: not alive(driver))
    assert (kept.dir / "keeper-lost").exists()
    assert not (kept.dir / "exit.json").exists()


SAYS_ITS_SECRET = """
    import json, os, struct, sys, time
    pipe = open(int(os.environ["HEADGATE_KEEPER_FD"]), "rb")
    values = json.loads(pipe.read(struct.unpack(">I", pipe.read(4))[0]))["values"]
    print("got", len(values["${secret:x}"]), "characters:", values["${secret:x}"], flush=True)
    sys.stdout.write(values["${secret:x}"][:5]); sys.stdout.flush()
    time.sleep(0.2)
    print(values["${secret:x}"][5:], "in two writes", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("length", [11, 2_000_000])
def test_secrets_reach_the_driver_and_neither_log_nor_directory_nor_environment(kept: Kept, length: int) -> None:
    canary = "canary-7f3a" + "y" * (length - 11)
    kept.write("launch.json", {"token": kept.token, "handover": True})
    kept.start(SAYS_ITS_SECRET, Handover(values={"${secret:x}": canary}, masked=[canary]).frame())
    kept.said(f"got {length} characters: [redacted]")
    kept.said("[redacted] in two writes")
    pids, files = kept.holders(), [path for path in kept.dir.rglob("*") if path.is_file()]
    assert {kept.identity().keeper.pid, kept.driver()} <= set(pids)
    assert {"launch.json", "identity.json"} <= {path.name for path in files}
    for pid in pids:
        for name in ("environ", "cmdline"):
            assert b"canary" not in Path(f"/proc/{pid}/{name}").read_bytes()
    for path in files:
        assert b"canary" not in path.read_bytes()


@pytest.mark.parametrize("frame", [b"", b"\0\0", b"\0\0\0\x09{}", b"\xff\xff\xff\xff{}"])
def test_secrets_that_do_not_arrive_whole_are_an_end_of_its_own_kind(kept: Kept, frame: bytes) -> None:
    kept.write("launch.json", {"token": kept.token, "handover": True})
    with pytest.raises(subprocess.CalledProcessError) as failed:
        kept.start("print('never')", frame)
    assert failed.value.returncode == 3
    assert not (kept.dir / "identity.json").exists()


def test_no_process_of_a_run_may_dump_its_core(kept: Kept) -> None:
    limits = Path(f"/proc/{kept.start(SLEEPER).driver()}/limits").read_text()
    assert "Max core file size        0                    0" in limits


def test_a_killed_driver_is_recorded_and_its_children_go_with_it(kept: Kept) -> None:
    kept.start(
        """
        import os, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True, env={})
        print("child", child.pid, flush=True)
        time.sleep(60)
        """
    )
    child = int(wait_for(lambda: re.search(r"child (\d+)\n", kept.log))[1])
    os.kill(kept.driver(), signal.SIGKILL)
    record = kept.exit()
    assert (record.exit_code, record.signal, record.killed_by) == (None, signal.SIGKILL, None)
    assert not alive(child)


def test_a_stop_that_the_driver_follows_is_the_rung_token(kept: Kept) -> None:
    kept.start(
        """
        import pathlib, time
        while not pathlib.Path("control.json").exists(): time.sleep(0.01)
        time.sleep(2)
        """
    )
    kept.driver()
    kept.order(term_at=30, kill_at=60)
    record = kept.exit()
    assert (record.exit_code, record.stop_stage, record.killed_by, record.reason) == (0, "DRAIN", None, "asked")


def test_a_stop_that_the_driver_follows_between_two_looks_is_the_rung_token(kept: Kept) -> None:
    kept.start(
        """
        import pathlib, time
        while not pathlib.Path("control.json").exists(): time.sleep(0.01)
        """
    )
    driver, keeper = kept.driver(), kept.identity().keeper.pid
    os.kill(keeper, signal.SIGSTOP)
    try:
        kept.order(term_at=30, kill_at=60)
        wait_for(lambda: not alive(driver))
    finally:
        os.kill(keeper, signal.SIGCONT)
    record = kept.exit()
    assert (record.exit_code, record.stop_stage, record.reason) == (0, "DRAIN", "asked")


def test_a_driver_that_ignores_the_token_gets_sigterm(kept: Kept) -> None:
    kept.start(SLEEPER).said("up")
    kept.order(term_at=0.1, kill_at=60)
    record = kept.exit()
    assert (record.signal, record.stop_stage, record.killed_by) == (signal.SIGTERM, "INTERRUPT", None)


def test_a_driver_that_ignores_everything_is_killed_at_the_deadline(kept: Kept) -> None:
    kept.start(STUBBORN).said("up")
    kept.order(term_at=0.1, kill_at=0.6)
    record = kept.exit()
    assert (record.signal, record.stop_stage, record.killed_by) == (signal.SIGKILL, "KILL", "keeper")


def test_a_withdrawn_stop_kills_nobody(kept: Kept) -> None:
    kept.start(SLEEPER).said("up")
    deadline = boottime() + 1
    kept.order(seq=1, kill_at=1)
    kept.order(seq=2, command="run")
    wait_for(lambda: boottime() > deadline + 0.5)
    assert alive(kept.driver())


@pytest.mark.parametrize(
    "garbage",
    ["", "{", "[]", "null", '{"seq": "x"}', '{"seq": 1, "command": "stop", "boot_id": "another", "kill_at": 0}'],
)
def test_a_damaged_control_file_is_ignored_and_a_later_good_one_obeyed(kept: Kept, garbage: str) -> None:
    kept.start(SLEEPER).said("up")
    kept.write("control.json", garbage)
    kept.said("control.json is ignored")
    assert alive(kept.driver())
    kept.order(kill_at=0)
    assert kept.exit().stop_stage == "KILL"


def test_the_log_is_rotated_by_size(kept: Kept) -> None:
    kept.start("for number in range(40_000): print('line', number)")
    kept.exit()
    sizes = {path.name: path.stat().st_size for path in kept.dir.glob("agent.log*")}
    assert sizes.keys() == {"agent.log", "agent.log.1", "agent.log.2"}
    assert max(sizes.values()) <= 10_000 + 65_536
    assert "line 39999" in (kept.dir / "agent.log.1").read_text() + kept.log


def test_a_log_that_cannot_be_written_does_not_hold_the_driver_up(kept: Kept) -> None:
    (kept.dir / "agent.log").mkdir()
    kept.start("for number in range(20000): print('x' * 100)")
    assert kept.exit().exit_code == 0


def test_a_second_agent_of_one_pipeline_is_refused_while_the_first_lives(kept: Kept) -> None:
    kept.start(SLEEPER).said("up")
    second = Kept(kept.dir.parent / "2").start("print('never')")
    record = second.exit()
    assert record.exit_code == 1
    assert "another agent" in record.reason
    assert "never" not in second.log


def test_the_lock_outlives_a_killed_keeper_for_as_long_as_its_driver_lives(kept: Kept) -> None:
    kept.start(SLEEPER).said("up")
    driver = kept.driver()
    os.kill(kept.identity().keeper.pid, signal.SIGKILL)
    assert Kept(kept.dir.parent / "2").start("print('never')").exit().exit_code == 1
    os.kill(driver, signal.SIGKILL)
    wait_for(lambda: not alive(driver))
    assert Kept(kept.dir.parent / "3").start("print('up')").exit().exit_code == 0


def test_an_unreadable_launch_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "launch.json").write_text("{")
    result = subprocess.run(
        [sys.executable, "-m", "workers.keeper", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "launch.json" in result.stderr
