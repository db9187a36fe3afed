"""The wheel in an empty environment, as a user has it who has no checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from controlplane.install.services.ports import free_port
from controlplane.install.tools.paths import cache_dir
from tests.e2e.test_demo_stack import PROJECT, processes_of

UV = str(Path(sys.executable).with_name("uv"))


def run(*command: str, cwd: Path = PROJECT, env: dict[str, str] | None = None, timeout: float = 300) -> str:
    """What a command prints; it must end well."""
    ended = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5000:]
    return ended.stdout


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    run(UV, "build", "--quiet", "--wheel", "--out-dir", str(tmp_path / "dist"))
    (built,) = (tmp_path / "dist").glob("*.whl")
    return built


@pytest.fixture
def installed(tmp_path: Path, wheel: Path) -> Path:
    """The wheel with the versions of the lock, from where set-up has them. What the wheel asks for is checked."""
    place, versions = tmp_path / "environment", tmp_path / "pylock.toml"
    python = str(place / "bin" / "python")
    run(UV, "venv", "--quiet", "--python", sys.executable, str(place))
    chosen = ("--frozen", "--no-dev", "--no-emit-project", "--format", "pylock.toml")
    run(UV, "export", "--quiet", *chosen, "--output-file", str(versions))
    run(UV, "pip", "install", "--quiet", "--python", python, "--requirement", str(versions))
    run(UV, "pip", "install", "--quiet", "--python", python, "--no-deps", str(wheel))
    run(UV, "pip", "check", "--python", python)
    return place


def files(place: Path) -> set[Path]:
    return {path for path in place.rglob("*") if path.suffix != ".pyc" and path.name != "__pycache__"}


def test_the_wheel_alone_runs_the_unattended_demo_and_accounts_for_every_record(
    tmp_path: Path, wheel: Path, installed: Path
) -> None:
    assert {"controlplane/page/index.html"} < set(zipfile.ZipFile(wheel).namelist())
    here, home, temporary = (tmp_path / name for name in ("here", "home", "temporary"))
    for directory in (here, home, temporary):
        directory.mkdir()
    clean = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "HEADGATE_CACHE": str(cache_dir()),
    }
    program, before = str(installed / "bin" / "headgate"), files(installed)

    ports = ["--web-port", str(free_port()), "--redis-port", str(free_port()), "--kafka-port", str(free_port())]
    shown = run(program, "demo", "--exit", "--records", "60000", *ports, cwd=here, env=clean, timeout=600)

    assert "start-up archive    fits this Java and these jars" in shown
    table = dict(re.findall(r"^headgate \| ([a-z ,]+?)  +(\S+)", shown, flags=re.MULTILINE))
    assert table["produced"] == table["read"] == "60,000"
    assert table["delivered"] == table["in the sink topic"] == "57,000" or int(table["duplicates"].replace(",", ""))
    assert (table["filtered"], table["missing"], table["balanced"]) == ("3,000", "0", "yes")
    assert int(table["restarts"]) >= 1
    assert processes_of(here / "var") == []
    assert "rows of" in run(program, "backup", str(here / "var" / "backup"), cwd=here, env=clean)
    assert [path.name for directory in (here, home, temporary) for path in directory.iterdir()] == ["var"]
    assert files(installed) == before
