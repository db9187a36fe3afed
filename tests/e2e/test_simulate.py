"""`headgate simulate`, as an operator runs it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import psutil

from tests.postgres import running_postgres

CODE = "from controlplane.cli.app import main; main()"
TIMEOUT = 300
PROJECT = Path(__file__).resolve().parents[2]


def simulate(directory: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE, "simulate", *options],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(PROJECT)} | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def test_a_small_fleet_is_simulated_and_reported_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ended = simulate(
        tmp_path, "--hosts", "3", "--pipelines", "3", "--lose", "1", "--rest", "1", "--out", "simulation.md"
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    page = (tmp_path / "simulation.md").read_text()
    assert "## Loss of hosts" in page
    assert "| pipelines | 3 |" in page
    assert "loss: begins" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["simulation.md"]


def test_a_simulation_that_is_ended_leaves_neither_processes_nor_files(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", CODE, "simulate"],
        env=os.environ | {"PYTHONPATH": str(PROJECT), "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stderr is not None
        assert any("start: begins" in line for line in iter(started.stderr.readline, ""))
        its = psutil.Process(started.pid).children(recursive=True)
        assert {"simulation" in " ".join(process.cmdline()) for process in its} == {True, False}, "and its Redis"
        started.terminate()
        assert started.wait(TIMEOUT) != 0
    _, alive = psutil.wait_procs(its, timeout=30)
    assert (alive, list(tmp_path.iterdir())) == ([], [])


def test_a_fleet_is_simulated_on_postgresql(tmp_path: Path) -> None:
    with running_postgres() as url:
        ended = simulate(
            tmp_path,
            *("--hosts", "3", "--pipelines", "3", "--lose", "1", "--rest", "1"),
            HEADGATE_SIMULATION_DATABASE_URL=url,
        )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "| database | postgresql |" in ended.stdout


def test_the_environment_names_a_database_whose_password_nobody_sees(tmp_path: Path) -> None:
    url = "postgresql://u:a-password@127.0.0.1:1/fleet"
    ended = simulate(tmp_path, "--hosts", "2", "--lose", "0", HEADGATE_SIMULATION_DATABASE_URL=url)
    assert ended.returncode == 1
    assert "127.0.0.1" in ended.stderr
    assert "a-password" not in ended.stdout + ended.stderr


def test_a_fleet_that_would_have_no_host_left_is_refused(tmp_path: Path) -> None:
    ended = simulate(tmp_path, "--hosts", "3", "--lose", "2")
    assert ended.returncode == 2
    assert "Use --lose 1 or less" in ended.stderr


def test_a_database_that_has_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "headgate.sqlite3"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE somebodys (row)")
    ended = subprocess.run(
        [sys.executable, "-m", "controlplane.simulation", '{"hosts": 2, "pipelines": 1, "lose": 0}'],
        cwd=PROJECT,
        env=os.environ | {"HEADGATE_STATE": str(tmp_path), "HEADGATE_HOST": "simulation"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "The database is not empty" in ended.stderr
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("somebodys",)]
