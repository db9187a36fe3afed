"""The commands about migrations against the real API, as somebody uses them for the first time."""

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
    HostFactory.create(name="beta")
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
    made = run("migrate", "plan", "orders", "-f", "-", "--reason", "a new topic", text=new_definition())
    assert made.exit_code == 0, made.output
    for said in ("sinks.out.topic", "prepare_standby", "Expected pause", "approve"):
        assert said in made.stdout
    hashed = Migration.objects.get().plan_hash
    wrong = run("migrate", "approve", "orders", "--hash", "0" * 64)
    assert wrong.exit_code == ExitCode.REFUSED
    assert "headgate migrate replan" in wrong.stderr
    early = run("migrate", "advance", "orders")
    assert early.exit_code == ExitCode.REFUSED
    assert "It is not approved yet" in early.stderr or "must approve it" in early.stderr
    assert run("migrate", "approve", "orders", "--hash", hashed).exit_code == 0
    assert run("migrate", "advance", "orders").exit_code == 0
    assert "PREFLIGHT" in run("migrate", "watch", "orders").stdout
    assert run("migrate", "abort", "orders", "--reason", "not today").exit_code == 0
    assert Migration.objects.get().stage == MigrationStage.ROLLING_BACK


def test_what_is_stale_is_planned_again(run: Run) -> None:
    run("migrate", "plan", "orders", "--host", "beta", "--reason", "why")
    Pipeline.objects.update(closed_lineage=7)
    assert run("migrate", "approve", "orders").exit_code == ExitCode.REFUSED
    assert run("migrate", "replan", "orders").exit_code == 0
    assert run("migrate", "approve", "orders").exit_code == 0


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
        (("watch", "orders"), ExitCode.FAILED, "no migration"),
        (("watch", str(uuid4())), ExitCode.FAILED, "no such migration"),
        (("run", "-f", "/no/such/file"), ExitCode.USAGE, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_words_with_the_code_of_the_docs(
    run: Run, arguments: tuple[str, ...], code: ExitCode, words: str
) -> None:
    done = run("migrate", *arguments)
    assert done.exit_code == code, done.output
    assert words in done.output.replace("\n", " "), done.output


def test_a_file_that_is_blocked_leaves_nothing_in_the_way_of_the_next_run(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        done = run("migrate", "run", "-f", file_of(tmp_path, spec={"host": "moon"}), "--wait")
        assert done.exit_code == ExitCode.REFUSED
        assert "HOST_UNKNOWN" in done.stderr
    assert {row.stage for row in Migration.objects.all()} == {MigrationStage.ABORTED}
    began = run("migrate", "run", "-f", file_of(tmp_path))
    assert began.exit_code == 0, began.output
    assert "PREFLIGHT" in began.stdout
    second = run("migrate", "run", "-f", file_of(tmp_path))
    assert second.exit_code == ExitCode.REFUSED
    assert "headgate migrate watch" in second.stderr


def test_waiting_ends_in_time_and_the_migration_goes_on(run: Run, tmp_path: Path) -> None:
    done = run("migrate", "run", "-f", file_of(tmp_path), "--wait", "--timeout", "1")
    assert done.exit_code == ExitCode.TIMED_OUT
    assert "PREFLIGHT" in done.stderr
    assert Migration.objects.get().stage == MigrationStage.PREFLIGHT


def test_where_others_approve_the_author_is_told_whom_to_ask(run: Run) -> None:
    ApprovalPolicy.objects.create(approvers=2, updated_by="admin")
    done = run("migrate", "start", "orders", "--host", "beta", "--reason", "why")
    assert done.exit_code == 0
    assert "2 people have to approve it" in done.stderr
    refused = run("migrate", "approve", "orders")
    assert refused.exit_code == ExitCode.NO_ACCESS
    assert "operator asked for this migration" in refused.stderr


def test_the_report_of_one_under_way_verifies_and_has_a_page(run: Run, tmp_path: Path) -> None:
    run("migrate", "start", "orders", "--host", "beta", "--reason", "Zürich")
    file = tmp_path / "evidence.json"
    file.write_text(run("migrate", "report", "orders").stdout)
    assert run("migrations", "verify", str(file)).exit_code == 0
    seal = json.loads(file.read_text())["sha256"]
    assert seal in run("migrate", "report", "orders", "--html").stdout
    file.write_text(file.read_text().replace("operator", "somebody"))
    done = run("migrations", "verify", str(file))
    assert (done.exit_code, "was changed" in done.stderr) == (ExitCode.REFUSED, True)


def test_an_evacuation_of_an_unknown_host_and_by_an_operator_is_refused(run: Run) -> None:
    done = run("evacuate", "alpha", "--reason", "kernel")
    assert done.exit_code == ExitCode.NO_ACCESS, done.output
