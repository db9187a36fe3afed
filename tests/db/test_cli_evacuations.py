"""`headgate hosts evacuate` and `headgate hosts evacuations` against the real API, over HTTP."""

from __future__ import annotations

import json

import pytest

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.models import Evacuation
from tests.db.conftest import CommandLine, Run
from tests.factories import HostFactory, PipelineFactory, RunFactory


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """A command line of an admin; one pipeline runs on alpha, and nobody carries an evacuation out."""
    HostFactory.create(responding=True)
    HostFactory.create(name="beta", responding=True)
    row = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=row)
    return command_line("admin", Role.ADMIN)


def test_an_evacuation_is_listed_followed_and_cancelled(run: Run) -> None:
    assert "No evacuations." in run("hosts", "evacuations", "list").stdout
    started = run("hosts", "evacuate", "alpha", "--reason", "kernel")
    assert started.exit_code == 0, started.output
    named = str(Evacuation.objects.get().pk)
    assert f"{named}: evacuating alpha. Follow it: headgate hosts evacuations watch {named}" in started.stdout
    listed = run("hosts", "evacuations", "list").stdout
    assert all(word in listed for word in (named, "alpha", "in progress", "kernel"))
    late = run("hosts", "evacuations", "watch", named, "--timeout", "0.1")
    assert late.exit_code == ExitCode.TIMED_OUT
    assert f"headgate hosts evacuations watch {named}" in late.stderr
    cancelled = run("hosts", "evacuations", "cancel", named)
    assert cancelled.exit_code == 0, cancelled.output
    assert "cancelled" in cancelled.stdout
    assert json.loads(run("hosts", "evacuations", "show", named, "-o", "json").stdout)["outcome"] == "cancelled"
    assert run("hosts", "evacuations", "cancel", named).exit_code == ExitCode.REFUSED
    assert run("hosts", "evacuations", "watch", named).exit_code == ExitCode.FAILED


def test_a_second_evacuation_is_refused_with_the_commands_for_the_first(run: Run) -> None:
    run("hosts", "evacuate", "alpha", "--reason", "kernel")
    again = run("hosts", "evacuate", "alpha", "--reason", "kernel")
    assert again.exit_code == ExitCode.REFUSED
    assert all(f"headgate hosts evacuations {word}" in again.stderr for word in ("list", "watch ID", "cancel ID"))
