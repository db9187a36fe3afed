"""`headgate audit` against the real API, over HTTP."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from typer.testing import CliRunner

from controlplane.cli.access.audit import Chosen
from controlplane.cli.app import app
from controlplane.cli.base.errors import ExitCode
from pipelines.api.ledger import audit as api
from pipelines.domain.access.audit.chain import Verified
from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.foundation.signing import PublicKey
from pipelines.services.access.audit import checking, forwarding
from pipelines.services.access.audit.sealing import seal
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from tests.db.conftest import CommandLine, Run


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """A command line of an admin, and rows of two users."""
    invoke = command_line("admin", Role.ADMIN)
    for number in range(5):
        audit.record(actor=Actor("ana", "10.0.0.1"), action="secret.replaced", after={"name": f"key-{number}"})
    audit.record(actor=Actor("=ben"), action="pipeline.stop", pipeline_name="orders", outcome="nothing to do")
    seal(signer=settings.HEADGATE.signer)
    return invoke


def _found(run: Run, *options: str) -> list[Any]:
    return list(json.loads(run("audit", "list", "-o", "json", *options).stdout))


def test_rows_are_listed_with_the_filters_of_the_api(run: Run) -> None:
    shown = run("audit", "list", "--action", "secret.").stdout
    assert shown.count("secret.replaced") == 5
    assert "key-4" in shown
    assert [row["object"] for row in _found(run, "--object", "key-3")] == ["key-3"]
    assert len(_found(run, "--text", "key-", "--limit", "2")) == 2
    assert [row["actor"] for row in _found(run, "--pipeline", "orders", "--outcome", "nothing to do")] == ["=ben"]
    assert len(_found(run, "--actor", "ana", "--since", "2020-01-01", "--until", "2100-01-01T00:00:00Z")) == 5
    assert _found(run, "--since", "2100-01-01") == []
    assert "No rows match" in run("audit", "list", "--actor", "nobody").stdout
    assert run("audit", "list", "--since", "yesterday").exit_code == ExitCode.USAGE


def test_a_row_is_shown_by_its_id_as_the_list_has_it(run: Run) -> None:
    (row,) = _found(run, "--object", "key-3")
    assert json.loads(run("audit", "show", str(row["id"]), "-o", "json").stdout) == row
    assert "key-3" in run("audit", "show", str(row["id"])).stdout
    missing = run("audit", "show", "999999999")
    assert missing.exit_code == ExitCode.FAILED
    assert "no row 999999999" in missing.stderr


def test_every_filter_of_the_api_is_an_option_and_the_other_way_round() -> None:
    assert set(Chosen.__dataclass_fields__) == set(api.Wanted.model_fields)


def test_an_export_is_written_whole_and_verified(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    assert run("audit", "export", "--file", str(file)).exit_code == 0
    key: PublicKey = settings.HEADGATE.signer.public
    verified = CliRunner().invoke(app, ["audit", "verify", str(file), "--public-key", key.text])
    assert "rows are as they were sealed" in verified.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["audit.jsonl"]
    rows = list(csv.DictReader(run("audit", "export", "--format", "csv", "--actor", "=ben").stdout.splitlines()))
    assert [row["actor"] for row in rows] == ["'=ben"]


def test_an_export_that_breaks_off_is_an_error_and_leaves_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the database is gone")

    monkeypatch.setattr(api, "_part", fail)
    file = tmp_path / "audit.jsonl"
    broken = run("audit", "export", "--file", str(file))
    assert broken.exit_code == ExitCode.FAILED
    assert "broke off" in broken.stderr
    assert list(tmp_path.iterdir()) == []
    assert run("audit", "export", "--file", str(tmp_path / "no" / "file")).exit_code == ExitCode.FAILED


def test_operators_list_and_administrators_export(command_line: CommandLine) -> None:
    run = command_line("ops", Role.OPERATOR)
    assert run("audit", "list").exit_code == 0
    refused = run("audit", "export")
    assert (refused.exit_code, refused.stdout) == (ExitCode.NO_ACCESS, "")


def test_a_receiver_that_is_behind_is_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"audit_syslog": "tls://logs:6514"}
    monkeypatch.setattr(settings, "HEADGATE", settings.HEADGATE.model_copy(update=changed))
    forwarding.claim(destination="syslog", owner="alpha", now=clock.now())
    forwarding.note_failure(destination="syslog", cause="No answer.", now=clock.now())
    shown = run("audit", "chain").stdout
    assert re.search(r"Forwarded to tls://logs:6514 up to row 0; \d+ rows behind since 20", shown)
    assert ": No answer." in shown


def test_the_state_of_the_chain_is_shown(run: Run) -> None:
    assert "not verified yet" in run("audit", "chain").stdout
    checking.Walk(lambda: settings.HEADGATE.signer).turn()
    audit.record(actor=Actor("ana"), action="pipeline.start")
    shown = run("audit", "chain").stdout
    assert "Verified at" in shown
    assert "Not sealed yet: 1 rows" in shown
    checking.record(found=Verified(2, "0" * 64, "Row 3 was changed."), signer=settings.HEADGATE.signer)
    assert "does not hold" in run("audit", "chain").stdout
