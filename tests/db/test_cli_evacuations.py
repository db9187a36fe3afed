"""`headgate evacuate` and `headgate evacuations` against the real API, over HTTP."""

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
    HostFactory.create(name="beta")
    row = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=row)
    return command_line("admin", Role.ADMIN)


def test_an_evacuation_is_listed_followed_and_cancelled(run: Run) -> None:
    assert "No host was emptied yet" in run("evacuations", "list").stdout
    begun = run("evacuate", "alpha", "--reason", "kernel")
    assert begun.exit_code == 0, begun.output
    named = str(Evacuation.objects.get().pk)
    assert f"{named}: alpha is being emptied. Follow it: headgate evacuations watch {named}" in begun.stdout
    listed = run("evacuations", "list").stdout
    assert all(word in listed for word in (named, "alpha", "under way", "kernel"))
    late = run("evacuations", "watch", named, "--wait", "--timeout", "0.1")
    assert late.exit_code == ExitCode.TIMED_OUT
    assert f"headgate evacuations watch {named} --wait" in late.stderr
    cancelled = run("evacuations", "cancel", named)
    assert cancelled.exit_code == 0, cancelled.output
    assert "cancelled" in cancelled.stdout
    assert json.loads(run("evacuations", "watch", named, "--json").stdout)["outcome"] == "cancelled"
    assert run("evacuations", "cancel", named).exit_code == ExitCode.REFUSED
    assert run("evacuations", "watch", named, "--wait").exit_code == ExitCode.FAILED


def test_a_host_that_is_being_emptied_says_how_to_follow_it_or_cancel_it(run: Run) -> None:
    run("evacuate", "alpha", "--reason", "kernel")
    again = run("evacuate", "alpha", "--reason", "kernel")
    assert again.exit_code == ExitCode.REFUSED
    assert all(f"headgate evacuations {word}" in again.stderr for word in ("list", "watch ID --wait", "cancel ID"))
