"""`headgate requests`, `--request` and `--break-glass` against the real API, over HTTP."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState
from pipelines.models import Alert, ChangeRequest, Pipeline
from tests.attacks.test_governance import freeze, running, stopped, two_approve
from tests.db.conftest import CommandLine
from tests.factories import definition_data


def wanted() -> str:
    return Pipeline.objects.get().desired_state


def test_a_refusal_says_which_command_makes_the_request(command_line: CommandLine) -> None:
    running()
    two_approve()
    refused = command_line("ana", Role.OPERATOR)("stop", "orders")
    assert refused.exit_code == ExitCode.REFUSED
    assert "2 other users have to approve it" in refused.stderr
    assert "--request REASON" in refused.stderr


def test_the_life_of_a_change_request(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    running()
    two_approve()
    ana = command_line("ana", Role.OPERATOR)
    anas = os.environ["HEADGATE_TOKEN"]
    assert "No change requests" in ana("requests", "list").stdout
    made = ana("stop", "orders", "--no-drain", "--request", "maintenance")
    assert made.exit_code == 0, made.output
    assert "Requested: stop of orders" in made.stdout
    row = ChangeRequest.objects.get()
    assert f"headgate requests approve {row.pk}" in made.stderr
    assert (row.arguments["drain"], row.reason, wanted()) == (False, "maintenance", DesiredState.RUNNING)
    assert ana("requests", "approve", "orders").exit_code == ExitCode.NO_ACCESS
    for name in ("ben", "cleo"):
        assert command_line(name, Role.APPROVER)("requests", "approve", "orders").exit_code == 0
    monkeypatch.setenv("HEADGATE_TOKEN", anas)
    shown = ana("requests", "show", str(row.pk)).stdout
    assert [word for word in ("APPROVED", "2 of 2", "maintenance") if word not in shown] == []
    done = ana("requests", "apply", str(row.pk))
    assert (done.exit_code, done.stdout) == (0, "Made: stop of orders.\n"), done.output
    assert wanted() == DesiredState.STOPPED
    assert json.loads(ana("requests", "list", "--state", "final", "-o", "json").stdout)[0]["state"] == "APPLIED"


@pytest.mark.parametrize(
    ("command", "state"), [(("deny", "--reason", "not today"), "DENIED"), (("cancel",), "CANCELLED")]
)
def test_a_request_is_denied_or_cancelled(command_line: CommandLine, command: tuple[str, ...], state: str) -> None:
    running()
    two_approve()
    ana = command_line("ana", Role.OPERATOR)
    ana("pause", "orders", "--request", "why")
    done = ana("requests", command[0], "orders", *command[1:])
    assert (done.exit_code, state in done.stdout) == (0, True), done.output
    assert ana("requests", "show", "orders").exit_code == ExitCode.FAILED


def test_a_definition_is_published_by_a_request(command_line: CommandLine, tmp_path: Path) -> None:
    stopped()
    two_approve()
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    file = tmp_path / "orders.yaml"
    file.write_text(yaml.safe_dump(data))
    made = command_line("ana", Role.OPERATOR)("apply", "-f", str(file), "--request", "a new topic")
    assert (made.exit_code, "Changes sinks.out.topic." in made.stdout) == (0, True), made.output


def test_an_administrator_breaks_glass(command_line: CommandLine) -> None:
    running()
    freeze()
    ana = command_line("ana", Role.OPERATOR)
    assert ana("stop", "orders", "--break-glass", "the sink is flooded").exit_code == ExitCode.NO_ACCESS
    root = command_line("root", Role.ADMIN)
    both = root("stop", "orders", "--break-glass", "why", "--request", "why")
    assert (both.exit_code, wanted()) == (ExitCode.USAGE, DesiredState.RUNNING)
    done = root("stop", "orders", "--break-glass", "the sink is flooded")
    assert (done.exit_code, wanted()) == (0, DesiredState.STOPPED), done.output
    assert Alert.objects.filter(rule="glass_broken").count() == 1
