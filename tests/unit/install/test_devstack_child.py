from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from controlplane.install.services.child import Child, Service, end_leftover, running
from controlplane.install.tools.errors import SetupError

STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)
QUIET = "import time; time.sleep(60)"


def python(script: str, *, ready: Path | None = None, stop_timeout: float = 10) -> Service:
    return Service(
        "thing",
        [sys.executable, "-c", script],
        is_ready=lambda: ready is None or (ready.exists() and b"up" in ready.read_bytes()),
        ready_timeout=20,
        stop_timeout=stop_timeout,
    )


def test_a_service_runs_in_a_session_of_its_own_and_is_gone_after_the_block(tmp_path: Path) -> None:
    with running(python(QUIET), tmp_path / "log") as child:
        assert psutil.Process(child.process.pid).ppid() == psutil.Process().pid
        assert child.alive
    assert not psutil.pid_exists(child.process.pid)


def test_a_service_that_ends_before_it_is_ready_shows_its_last_lines(tmp_path: Path) -> None:
    service = python("import sys; sys.exit('no space left')", ready=tmp_path / "never")
    with (
        pytest.raises(SetupError, match=r"(?s)thing ended with exit code 1 .*no space left"),
        running(service, tmp_path / "log"),
    ):
        pass


def test_a_service_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    with running(python(STUBBORN, ready=tmp_path / "log", stop_timeout=0.1), tmp_path / "log") as child:
        pass
    assert child.process.returncode == -9


def test_what_a_dead_service_left_in_its_session_ends_with_it(tmp_path: Path) -> None:
    script = "import subprocess; p = subprocess.Popen(['sleep', '60']); print('up', p.pid, flush=True); p.wait()"
    with running(python(script, ready=tmp_path / "log"), tmp_path / "log") as child:
        grandchild = psutil.Process(int((tmp_path / "log").read_text().split()[1]))
        child.process.kill()
        child.process.wait(10)
        child.bury()
        grandchild.wait(10)
    assert not grandchild.is_running()


def test_a_process_left_behind_is_ended_by_its_record(tmp_path: Path) -> None:
    record = tmp_path / "thing.json"
    child = Child(python(QUIET), output=subprocess.DEVNULL, record=record)
    assert end_leftover(record)
    assert child.process.wait(10) == -15
    assert not record.exists()


def test_a_record_of_another_life_of_the_pid_ends_nobody(tmp_path: Path) -> None:
    record = tmp_path / "thing.json"
    with running(python(QUIET), tmp_path / "log") as child:
        identity = {"pid": child.process.pid, "start_time": 1, "boot_id": "another boot"}
        record.write_text(json.dumps(identity))
        assert not end_leftover(record)
        assert child.alive
    assert not record.exists()


@pytest.mark.parametrize("content", ["", "{}", "not json"])
def test_a_torn_record_is_removed(tmp_path: Path, content: str) -> None:
    record = tmp_path / "thing.json"
    record.write_text(content)
    assert not end_leftover(record)
    assert not record.exists()
