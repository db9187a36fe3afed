"""The commands that run Headgate on this machine: what they start, and what they say where they cannot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from controlplane.cli.app import app
from controlplane.cli.base.errors import CommandError
from controlplane.cli.server import running
from controlplane.devstack.services import web_argv, worker_argv
from controlplane.install.services.ports import free_port
from controlplane.provision import setup, steps
from controlplane.provision.steps import Step
from tests.settings import BASE_DIR


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # the commands set it for their children
    monkeypatch.delenv("PYTHONSAFEPATH")
    monkeypatch.setenv("HEADGATE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HEADGATE_HOST", "alpha")


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Step]]:
    """The plans of steps that were run."""
    ran: list[Sequence[Step]] = []

    def succeed(plan: Sequence[Step]) -> int:
        ran.append(plan)
        return 0

    monkeypatch.setattr(steps, "run", succeed)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return ran


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The programs that the process was replaced with."""
    programs: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, argv: programs.append(argv))
    return programs


@pytest.fixture
def managed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The calls of `manage.py`."""
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr("django.core.management.call_command", lambda *words: calls.append(words))
    return calls


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_the_worker_is_that_of_the_local_stack_once_agents_could_start(
    plans: list[Sequence[Step]], became: list[list[str]]
) -> None:
    assert run("worker").exit_code == 0
    assert plans == [setup.AGENTS]
    assert became == [worker_argv("alpha")]


def test_a_worker_whose_agents_could_not_start_ends_with_the_code_of_the_step(
    monkeypatch: pytest.MonkeyPatch, plans: list[Sequence[Step]], became: list[list[str]]
) -> None:
    monkeypatch.setattr(steps, "run", lambda _: 7)
    assert run("worker").exit_code == 7
    assert became == []


def test_the_web_server_listens_where_it_is_told(became: list[list[str]]) -> None:
    port = free_port()
    assert run("web", "--host", "127.0.0.2", "--port", str(port)).exit_code == 0
    assert became == [web_argv(address="127.0.0.2", port=port)]


@pytest.mark.parametrize(
    ("address", "given", "https"),
    [("127.0.0.2", None, None), ("0.0.0.0", None, "true"), ("0.0.0.0", "false", "false")],  # noqa: S104
)
def test_cookies_are_for_https_where_other_machines_reach_the_web_server(
    became: list[list[str]], monkeypatch: pytest.MonkeyPatch, address: str, given: str | None, https: str | None
) -> None:
    monkeypatch.setenv("HEADGATE_HTTPS", given or "")
    if given is None:
        monkeypatch.delenv("HEADGATE_HTTPS")
    assert run("web", "--host", address, "--port", str(free_port())).exit_code == 0
    assert os.environ.get("HEADGATE_HTTPS") == https


def test_a_port_in_use_is_told_before_the_web_server_starts(became: list[list[str]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        refused = run("web", "--port", str(busy.getsockname()[1]))
    assert refused.exit_code == 1
    assert "is in use" in refused.stderr
    assert "--port PORT, or HEADGATE_WEB_PORT=PORT" in refused.stderr
    assert became == []


def test_the_demo_sets_the_machine_up_and_passes_its_options_on(
    plans: list[Sequence[Step]], managed: list[tuple[str, ...]]
) -> None:
    ended = run("demo", "--exit", "--records", "500", "--web-port", "8100", "--bootstrap-servers", "kafka:9092")
    assert ended.exit_code == 0
    assert plans == [setup.HOST]
    (words,) = managed
    assert words[:2] == ("up", "--demo")
    assert {"--exit", "--records=500", "--web-port=8100", "--no-kafka", "--bootstrap-servers=kafka:9092"} < set(words)


def test_a_machine_that_cannot_be_set_up_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, plans: list[Sequence[Step]], managed: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(steps, "run", lambda _: 1)
    assert [run(name).exit_code for name in ("demo", "up", "setup")] == [1, 1, 1]
    assert managed == []


def test_options_without_a_value_are_not_passed_on() -> None:
    assert running.options(web_port=None, replace=False, exit=True, name="ci job") == ["--exit", "--name=ci job"]


@pytest.mark.parametrize(("first", "safe"), [("/somewhere/bin", "1"), ("", None)])
def test_children_look_for_modules_where_the_command_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: str, safe: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [first, "/lib/python"])
    running.import_where_this_process_does()
    assert os.environ.get("PYTHONSAFEPATH") == safe


def test_the_worker_does_not_take_files_of_the_user_for_modules(tmp_path: Path) -> None:
    for package in ("pipelines", "workers", "controlplane", "celery"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('imported from the current directory')")
    (tmp_path / "redis.py").write_text("raise SystemExit('imported from the current directory')")
    argv = worker_argv("alpha")
    report = [*argv[: argv.index("worker")], "report"]  # imports the tasks and the broker's client, as a worker does
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(BASE_DIR)}
    ended = subprocess.run(report, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, "redis:" in ended.stdout) == (0, True), ended.stderr


def test_an_environment_that_cannot_work_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_HOST", "No Name")
    refused = run("worker")
    assert refused.exit_code == 1
    assert "HEADGATE_HOST" in refused.stderr


def test_a_state_directory_that_cannot_be_written_is_told_with_the_variable_that_moves_it() -> None:
    with pytest.raises(CommandError) as raised, running.environment_errors():
        raise PermissionError(13, "Permission denied", "/var")
    assert "Permission denied: '/var'" in raised.value.title
    assert "HEADGATE_STATE=" in raised.value.hint
