"""The hints that the demo prints reach this stack, whatever other stacks run beside it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from controlplane.devstack.welcome import welcome

URL = "http://127.0.0.1:8123"


def hints(state: Path) -> str:
    return welcome(URL, state=state, password="secret", kafka="127.0.0.1:19099", pipeline="demo")


@contextmanager
def driver(state: Path) -> Iterator[int]:
    """A process with the command line of an agent's driver; yields its pid."""
    argv = [sys.executable, "-c", "print(flush=True); input()", "-m", "workers.agent", f"{state}/runs/demo/1"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize("name", ["state", "st.te", "a state", "it's"])
def test_the_kill_matches_the_driver_of_this_stack_alone(tmp_path: Path, name: str) -> None:
    state = tmp_path / name
    (found,) = re.findall(r"kill -9 \$\((pgrep .*)\)", hints(state))
    with ExitStack() as running:
        own = running.enter_context(driver(state))
        for other in (tmp_path / "other", tmp_path / "stXte", Path(f"{state}-2")):
            running.enter_context(driver(other))
        shown = subprocess.run(found, shell=True, capture_output=True, text=True, check=False)  # noqa: S602 - as a user does
    assert shown.stdout.split() == [str(own)], found


def test_commands_know_the_address_and_the_state_directory_of_this_stack(tmp_path: Path) -> None:
    shown = hints(tmp_path / "a state")
    assert f"export HEADGATE_URL={URL}\n" in shown
    assert f"export HEADGATE_STATE='{tmp_path}/a state'\n" in shown
    assert "127.0.0.1:19099" in shown
    assert not re.search(r":(8000|16379|19092)\b", shown)
