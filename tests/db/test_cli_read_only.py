"""The read-only mode on the command line, against the real API."""

from __future__ import annotations

import json

import pytest

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.models import Event
from tests.db.conftest import CommandLine
from tests.factories import PipelineFactory

pytestmark = pytest.mark.django_db


def test_an_administrator_turns_it_on_and_off_and_users_are_told(command_line: CommandLine) -> None:
    PipelineFactory.create(name="orders")
    root = command_line("root", Role.ADMIN)
    assert "writable" in root("read-only", "show").stdout
    done = root("read-only", "on", "--reason", "Upgrade to 2.0")
    assert done.exit_code == 0, done.output
    assert "read-only" in done.stdout
    refused = command_line("ola", Role.OPERATOR)("start", "orders")
    assert refused.exit_code == ExitCode.NO_ACCESS
    for words in ("root", "Upgrade to 2.0", "administrator"):
        assert words in refused.stderr
    shown = json.loads(command_line("vera", Role.VIEWER)("read-only", "show", "-o", "json").stdout)
    assert (shown["read_only"], shown["set_by"]) == (True, "root")
    assert command_line("ana", Role.ADMIN)("read-only", "off", "--reason", "done").exit_code == 0
    assert Event.objects.count() == 2


def test_operators_cannot_turn_it_on_and_nobody_without_a_reason(command_line: CommandLine) -> None:
    refused = command_line("ola", Role.OPERATOR)("read-only", "on", "--reason", "x")
    assert refused.exit_code == ExitCode.NO_ACCESS
    assert command_line("root", Role.ADMIN)("read-only", "on").exit_code == ExitCode.USAGE
