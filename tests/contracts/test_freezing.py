"""A process is halted for a bounded time, whatever becomes of what has halted it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from controlplane.devstack.guide.freezing import freeze, thaw
from controlplane.install.services.child import Child, Service
from tests.waiting import wait_for

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "broker.json"


@pytest.fixture
def child(record: Path) -> Iterator[Child]:
    made = Child(Service("broker", SLEEPS, is_ready=lambda: True), output=subprocess.DEVNULL, record=record)
    yield made
    made.process.send_signal(signal.SIGCONT)  # to nobody, once it was waited for
    made.stop()


def halted(child: Child) -> bool:
    return psutil.Process(child.process.pid).status() == psutil.STATUS_STOPPED


def watchers(child: Child) -> list[psutil.Process]:
    """Processes that wait to continue it. A zombie has no command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if f'"pid":{child.process.pid},' in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_it_is_continued_by_itself(child: Child, record: Path) -> None:
    """By a process in a session of its own, which outlives the one that has halted it."""
    imports = "from pathlib import Path; from controlplane.devstack.guide.freezing import freeze"
    starts = f"{imports}; freeze(Path({str(record)!r}), 4)"
    subprocess.run([sys.executable, "-c", starts], check=True, timeout=60)
    assert halted(child)
    wait_for(lambda: not halted(child), "it is continued", 30)
    wait_for(lambda: not watchers(child), "nobody watches it", 30)


def test_who_continues_it_earlier_ends_the_watch(child: Child, record: Path) -> None:
    identity = freeze(record, 600)
    wait_for(lambda: halted(child), "it is halted", 30)
    wait_for(lambda: len(watchers(child)) == 1, "it is watched", 30)
    thaw(identity)
    thaw(identity)
    wait_for(lambda: not halted(child), "it is continued", 30)
    wait_for(lambda: not watchers(child), "it ends", 30)


def test_a_process_that_is_gone_is_not_mistaken_for_another(child: Child, record: Path) -> None:
    text = record.read_text()
    child.stop()
    with pytest.raises(LookupError):
        freeze(record, 1)
    record.write_text(text)
    with pytest.raises(LookupError):
        freeze(record, 1)
    other = Child(Service("broker", SLEEPS, is_ready=lambda: True), output=subprocess.DEVNULL, record=record)
    try:
        reused = record.read_text().replace('"start_time":', '"start_time":1')
        record.write_text(reused)
        with pytest.raises(LookupError):
            freeze(record, 1)
        assert psutil.Process(other.process.pid).status() != psutil.STATUS_STOPPED
    finally:
        other.stop()
