"""`headgate freezes` and `headgate approval-policies` against the real API, over HTTP."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.models import ApprovalPolicy, FreezeWindow
from tests.db.conftest import CommandLine, Run
from tests.factories import now


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """A command line of an admin."""
    return command_line("admin", Role.ADMIN)


def test_the_life_of_a_freeze(run: Run) -> None:
    assert "No freezes" in run("freezes", "list").stdout
    later = (now() + timedelta(days=1)).isoformat()
    made = run("freezes", "add", "--ends-at", later, "--reason", "holidays", "--label", "tier:1")
    assert made.exit_code == 0, made.output
    row = FreezeWindow.objects.get()
    assert (row.label, row.pipeline_name, row.reason, row.ends_at.isoformat()) == ("tier:1", "", "holidays", later)
    assert f"Freeze {row.pk}: no migration of the label tier:1 starts from " in made.stdout
    run("freezes", "add", "--starts-at", later, "--ends-at", "9999-01-01", "--reason", "for ever", "--pipeline", "p")
    listed = run("freezes", "list").stdout
    assert [word for word in ("scheduled", "active", "the pipeline p", "for ever") if word not in listed] == []
    assert run("freezes", "remove", str(row.pk)).stdout == f"Freeze {row.pk}: removed\n"
    assert [each["reason"] for each in json.loads(run("freezes", "list", "-o", "json").stdout)] == ["for ever"]
    assert run("freezes", "remove", str(row.pk)).exit_code == ExitCode.FAILED


def test_a_freeze_that_cannot_be_meant_is_refused(run: Run) -> None:
    wrong = run("freezes", "add", "--ends-at", "friday", "--reason", "why")
    assert wrong.exit_code == ExitCode.USAGE
    assert "friday is not a time: use RFC 3339 such as" in wrong.stderr
    over = run("freezes", "add", "--starts-at", "2026-03-02", "--ends-at", "2026-03-01", "--reason", "why")
    assert over.exit_code == ExitCode.REFUSED
    assert "ends_at is after starts_at" in over.stderr
    both = ("--label", "tier", "--pipeline", "orders")
    assert run("freezes", "add", "--ends-at", "2099-01-01", "--reason", "why", *both).exit_code == ExitCode.REFUSED
    assert not FreezeWindow.objects.exists()


def test_the_life_of_an_approval_policy(run: Run) -> None:
    assert "authors can approve their own migrations" in run("approval-policies", "list").stdout
    made = run("approval-policies", "add", "--approvers", "2", "--expiry-seconds", "3600")
    assert made.exit_code == 0, made.output
    assert "2 users other than the author must approve a migration of all pipelines" in made.stdout
    again = run("approval-policies", "add", "--approvers", "1", "-o", "json")
    row = ApprovalPolicy.objects.get()
    assert json.loads(again.stdout)["id"] == row.pk
    assert (row.approvers, row.expiry_seconds) == (1, 86_400)
    assert "all pipelines" in run("approval-policies", "list").stdout
    removed = run("approval-policies", "remove", str(row.pk), "-o", "json")
    assert json.loads(removed.stdout) == {"id": row.pk, "result": "removed"}
    assert json.loads(run("approval-policies", "list", "-o", "json").stdout) == []
    assert run("approval-policies", "add", "--approvers", "0").exit_code == ExitCode.USAGE
