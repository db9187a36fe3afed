"""The commands about tokens and users against the real API."""

from __future__ import annotations

import json

import pytest

from pipelines.domain.base.roles import Role
from pipelines.models import AccessToken
from tests.db.conftest import CommandLine, Run


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """A command line of an administrator."""
    return command_line("ana", Role.ADMIN)


def test_a_token_is_created_listed_and_revoked(run: Run) -> None:
    text = run("tokens", "create", "ci", "--days", "7", "--role", "viewer", "--read-only").stdout.strip()
    made = AccessToken.objects.get(name="ci")
    assert (made.role_cap, made.read_only, made.created_by) == ("viewer", True, "ana")
    run("tokens", "create", "of-a-team", "--team", "default")
    assert "all, in default" in run("tokens", "list").stdout
    assert text.startswith(made.token_key)
    listed = run("tokens", "list").stdout
    assert made.token_key in listed
    assert text not in listed
    assert "viewer, read-only" in listed
    assert "never expires" in listed  # the token of this command line
    assert run("tokens", "revoke", made.token_key).stdout == f"{made.token_key}: revoked\n"
    assert run("tokens", "revoke", made.token_key).exit_code != 0


def test_a_program_gets_a_user_and_a_token(run: Run) -> None:
    assert run("users", "create", "robot", "--role", "operator").stdout == "robot: enabled, operator, 0 tokens\n"
    run("tokens", "create", "job", "--user", "robot")
    (token,) = json.loads(run("tokens", "list", "--user", "robot", "-o", "json").stdout)
    assert (token["user"], token["created_by"]) == ("robot", "ana")
    assert "tokens alone" in run("users", "list").stdout
    assert run("users", "set-role", "robot", "--role", "viewer").stdout == "robot: enabled, viewer, 1 tokens\n"
    assert run("users", "disable", "robot").stdout == "robot: DISABLED, viewer, 0 tokens\n"
    assert run("users", "enable", "robot").stdout == "robot: enabled, viewer, 0 tokens\n"
