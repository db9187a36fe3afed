"""The commands about migrations against the real API."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, MigrationStage, Phase
from pipelines.models import ApprovalPolicy, Migration, Pipeline
from tests.db.conftest import CommandLine, Run
from tests.factories import HostFactory, PipelineFactory, RunFactory, definition_data


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """A command line that may act, on an installation where orders runs on alpha."""
    HostFactory.create(responding=True)
    HostFactory.create(name="beta", responding=True)
    pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=pipeline)
    return command_line("operator", Role.OPERATOR)


def new_definition() -> str:
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    return yaml.safe_dump(data)


def file_of(tmp_path: Path, **more: object) -> str:
    file = tmp_path / "release.yaml"
    content = {"pipeline": "orders", "kind": "host", "spec": {"host": "beta"}, "reason": "new machine", **more}
    file.write_text(yaml.safe_dump(content))
    return str(file)


def test_one_is_planned_reviewed_begun_and_given_up(run: Run) -> None:
    made = run("migrations", "plan", "orders", "-f", "-", "--reason", "a new topic", text=new_definition())
    assert made.exit_code == 0, made.output
    for said in ("sinks.out.topic", "prepare_standby", "Expected impact", "approve"):
        assert said in made.stdout
    hashed = Migration.objects.get().plan_hash
    wrong = run("migrations", "approve", "orders", "--digest", "0" * 64)
    assert wrong.exit_code == ExitCode.REFUSED
    assert "headgate migrations replan" in wrong.stderr
    early = run("migrations", "advance", "orders")
    assert early.exit_code == ExitCode.REFUSED
    assert "This plan is not approved yet" in early.stderr or "must approve it" in early.stderr
    assert run("migrations", "approve", "orders", "--digest", hashed).exit_code == 0
    assert run("migrations", "advance", "orders").exit_code == 0
    assert "PREFLIGHT" in run("migrations", "show", "orders").stdout
    assert run("migrations", "cancel", "orders", "--reason", "not today").exit_code == 0
    assert Migration.objects.get().stage == MigrationStage.ROLLING_BACK


def test_what_is_stale_is_planned_again(run: Run) -> None:
    run("migrations", "plan", "orders", "--host", "beta", "--reason", "why")
    Pipeline.objects.update(closed_lineage=7)
    assert run("migrations", "approve", "orders").exit_code == ExitCode.REFUSED
    assert run("migrations", "replan", "orders").exit_code == 0
    assert run("migrations", "approve", "orders").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("plan", "nobody", "--host", "beta", "--reason", "why"), ExitCode.FAILED, "nobody"),
        (("plan", "orders", "--host", "beta"), ExitCode.USAGE, "--reason"),
        (("plan", "orders", "--host", "beta", "--reason", " "), ExitCode.REFUSED, "reason"),
        (("plan", "orders", "--reason", "why"), ExitCode.USAGE, "exactly one of"),
        (("plan", "orders", "--host", "beta", "--gate", "soon", "--reason", "why"), ExitCode.USAGE, "Gates: PAUSING"),
        (("plan", "orders", "-f", "/no/such/file", "--reason", "why"), ExitCode.USAGE, "cannot be read"),
        (("plan", "orders", "--host", "moon", "--reason", "why"), ExitCode.REFUSED, "HOST_UNKNOWN"),
        (("show", "orders"), ExitCode.FAILED, "no migration"),
        (("show", str(uuid4())), ExitCode.FAILED, "no such migration"),
        (("apply", "-f", "/no/such/file"), ExitCode.USAGE, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_words_with_the_code_of_the_docs(
    run: Run, arguments: tuple[str, ...], code: ExitCode, words: str
) -> None:
    done = run("migrations", *arguments)
    assert done.exit_code == code, done.output
    assert words in done.output.replace("\n", " "), done.output


def test_a_file_that_is_blocked_leaves_nothing_in_the_way_of_the_next_run(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        done = run("migrations", "apply", "-f", file_of(tmp_path, spec={"host": "moon"}), "--wait")
        assert done.exit_code == ExitCode.REFUSED
        assert "HOST_UNKNOWN" in done.stderr
    assert {row.stage for row in Migration.objects.all()} == {MigrationStage.ABORTED}
    started = run("migrations", "apply", "-f", file_of(tmp_path))
    assert started.exit_code == 0, started.output
    assert "PREFLIGHT" in started.stdout
    second = run("migrations", "apply", "-f", file_of(tmp_path))
    assert second.exit_code == ExitCode.REFUSED
    assert "headgate migrations show" in second.stderr


def test_waiting_ends_in_time_and_the_migration_continues(run: Run, tmp_path: Path) -> None:
    done = run("migrations", "apply", "-f", file_of(tmp_path), "--wait", "--timeout", "1")
    assert done.exit_code == ExitCode.TIMED_OUT
    assert "PREFLIGHT" in done.stderr
    assert Migration.objects.get().stage == MigrationStage.PREFLIGHT


def test_where_others_approve_the_author_is_told_whom_to_ask(run: Run) -> None:
    ApprovalPolicy.objects.create(approvers=2, updated_by="admin")
    done = run("migrations", "start", "orders", "--host", "beta", "--reason", "why")
    assert done.exit_code == 0
    assert "Awaiting approval by 2 other users" in done.stderr
    refused = run("migrations", "approve", "orders")
    assert refused.exit_code == ExitCode.NO_ACCESS
    assert "operator requested this migration" in refused.stderr


def test_the_report_of_one_under_way_verifies_and_has_a_page(run: Run, tmp_path: Path) -> None:
    run("migrations", "start", "orders", "--host", "beta", "--reason", "Zürich")
    file = tmp_path / "evidence.json"
    file.write_text(run("migrations", "report", "orders").stdout)
    assert run("migrations", "verify", str(file)).exit_code == 0
    seal = json.loads(file.read_text())["sha256"]
    assert seal in run("migrations", "report", "orders", "--html").stdout
    file.write_text(file.read_text().replace("operator", "somebody"))
    done = run("migrations", "verify", str(file))
    assert (done.exit_code, "was changed" in done.stderr) == (ExitCode.REFUSED, True)


def test_an_evacuation_of_an_unknown_host_and_by_an_operator_is_refused(run: Run) -> None:
    done = run("hosts", "evacuate", "alpha", "--reason", "kernel")
    assert done.exit_code == ExitCode.NO_ACCESS, done.output
