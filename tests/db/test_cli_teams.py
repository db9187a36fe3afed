"""The commands about teams against the real API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.models import RoleBinding
from tests.db.conftest import CommandLine, Run
from tests.factories import definition_data


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """A command line of an administrator of all teams."""
    return command_line("ana", Role.ADMIN)


def test_a_team_is_created_filled_and_deleted(run: Run, tmp_path: Path) -> None:
    assert run("teams", "create", "payments", "--description", "Cards").stdout == "payments: created\n"
    file = tmp_path / "orders.yaml"
    file.write_text(yaml.safe_dump(definition_data("orders")))
    assert run("apply", "-f", str(file), "--team", "payments").stdout == "orders: created\n"
    assert "team:" not in run("show", "orders", "--definition").stdout
    (listed,) = json.loads(run("list", "--team", "payments", "-o", "json").stdout)
    assert (listed["name"], listed["team"]) == ("orders", "payments")
    (_, team) = json.loads(run("teams", "list", "-o", "json").stdout)
    assert (team["name"], team["pipelines"], team["role"]) == ("payments", 1, "admin")
    assert "payments" in run("teams", "list").stdout
    elsewhere = run("apply", "-f", str(file), "--team", "default")
    assert (elsewhere.exit_code, "headgate teams move orders --to default" in elsewhere.stderr) == (
        ExitCode.REFUSED,
        True,
    )
    refused = run("teams", "delete", "payments")
    assert (refused.exit_code, "pipelines (1)" in refused.stderr) == (ExitCode.REFUSED, True)
    assert run("teams", "move", "orders", "--to", "default").stdout == "orders: in the team default\n"
    assert run("apply", "-f", str(file), "--team", "default").stdout == "orders: unchanged (revision 1)\n"
    assert run("teams", "rename", "payments", "cards").stdout == "payments: renamed to cards\n"
    assert run("teams", "delete", "cards").stdout == "cards: deleted\n"


def test_roles_are_bound_listed_and_taken_back(run: Run) -> None:
    run("teams", "create", "payments")
    made = run("users", "create", "robot", "--role", "operator", "--team", "payments")
    assert made.stdout == "robot: enabled, operator in payments, 0 tokens\n"
    bound = run("teams", "bind", "payments", "--group", "oidc:cards", "--role", "approver")
    assert bound.stdout == "oidc:cards: approver in payments\n"
    assert run("teams", "bind", "all", "--user", "robot", "--role", "viewer").stdout == "robot: viewer in all\n"
    listed = run("teams", "roles", "payments").stdout
    assert "oidc:cards" in listed
    assert "robot" in listed
    assert "viewer, operator in payments" in run("users", "list").stdout
    assert run("teams", "unbind", "payments", "--group", "oidc:cards").stdout == "oidc:cards: no role in payments\n"
    assert run("teams", "unbind", "payments", "--group", "oidc:cards").exit_code == ExitCode.FAILED
    assert run("teams", "unbind", "all", "--user", "ana").exit_code == ExitCode.REFUSED
    assert run("teams", "bind", "payments", "--role", "viewer").exit_code == ExitCode.USAGE
    assert RoleBinding.objects.filter(user__username="robot").count() == 2
