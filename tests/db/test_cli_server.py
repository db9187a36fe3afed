"""The commands that work on the control plane's database, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from typer.testing import CliRunner, Result

from controlplane.cli.app import app
from pipelines.domain.base.roles import Role
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(app, arguments)


def test_a_user_is_created_with_the_password_of_the_environment_and_gets_a_token() -> None:
    created = run("create-user", "ann", "--role", "operator", HEADGATE_PASSWORD="a-long-enough-one")
    assert (created.exit_code, created.stdout) == (0, "ann is ready with the role operator.\n")
    assert User.objects.get(username="ann").check_password("a-long-enough-one")
    token = run("create-token", "ann", "--name", "ci", "--expires-days", "3")
    assert token.exit_code == 0
    assert token.stdout.startswith("hg_")


def test_what_is_wrong_is_told_in_words() -> None:
    refused = run("create-token", "nobody")
    assert refused.exit_code == 1
    assert "There is no user 'nobody'. Give --role to create it." in refused.stderr
    assert "invalid choice: 'boss'" in run("create-user", "ann", "--role", "boss", "--no-password").stderr


def test_a_database_without_tables_is_told_with_the_command_that_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: str) -> None:
        raise OperationalError("no such table: auth_user")

    monkeypatch.setattr("django.core.management.call_command", fail)
    refused = run("create-token", "ann")
    assert refused.exit_code == 1
    assert "no such table: auth_user" in refused.stderr
    assert "headgate migrate-db" in refused.stderr


def test_a_backup_is_restored(tmp_path: Path) -> None:
    UserFactory.create(username="kept", role=Role.ADMIN)
    file = tmp_path / "state.backup"
    assert run("backup", str(file)).exit_code == 0
    User.objects.all().delete()
    assert run("restore", str(file)).exit_code == 0
    assert User.objects.filter(username="kept").exists()
    assert "--replace" in run("restore", str(file)).stderr
