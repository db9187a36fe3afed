"""Silences over REST and on the command line: for operators, every finding at once, visible to all."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.cli.base.errors import ExitCode
from pipelines.models import AuditRow, Silence
from tests.db.conftest import Run
from tests.db.test_cli_against_the_api import run
from tests.factories import PipelineFactory

__all__ = ["run"]
pytestmark = pytest.mark.django_db
SILENCES = "/api/v1/silences"


def body(**changes: Any) -> dict[str, Any]:
    ends_at = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    return {"matchers": {"severities": ["critical"]}, "ends_at": ends_at, "comment": "Works.", **changes}


def post(client: APIClient, **changes: Any) -> Any:
    return client.post(SILENCES, body(**changes), format="json")


def test_an_operator_makes_and_ends_one_and_a_viewer_sees_it(viewer: APIClient, operator: APIClient) -> None:
    assert post(viewer).status_code == 403
    made = post(operator)
    assert (made.status_code, made["Location"]) == (201, f"{SILENCES}/{made.json()['id']}")
    assert (made.json()["created_by"], made.json()["state"], made.json()["suppressed"]) == ("operator", "ACTIVE", 0)
    assert viewer.get(made["Location"]).json() == viewer.get(SILENCES).json()["results"][0] == made.json()
    assert viewer.post(f"{made['Location']}/end", {}, format="json").status_code == 403
    ended = operator.post(f"{made['Location']}/end", {}, format="json")
    assert (ended.status_code, ended.json()["state"], ended.json()["ended_by"]) == (200, "ENDED", "operator")
    assert [each["id"] for each in viewer.get(f"{SILENCES}?state=ENDED").json()["results"]] == [made.json()["id"]]
    for state in ("ACTIVE", "EXPIRED"):
        assert viewer.get(f"{SILENCES}?state={state}").json()["results"] == []
    actions = AuditRow.objects.filter(action__startswith="silence").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["silence.created", "silence.ended"]
    assert viewer.get(f"{SILENCES}/99").json()["code"] == "silence_not_found"


def test_every_finding_comes_at_once(operator: APIClient, settings: Any) -> None:
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"silence_days": 0.01})
    answer = post(operator, matchers={"pipelines": ["nobody"], "severities": ["high"]}, comment="")
    assert (answer.status_code, answer.json()["code"]) == (422, "silence_invalid")
    assert [(each["path"], each["code"]) for each in answer.json()["findings"]] == [
        ("matchers.severities[0]", "unknown_severity"),
        ("ends_at", "out_of_range"),
        ("comment", "comment_missing"),
        ("matchers.pipelines[0]", "pipeline_not_found"),
    ]
    empty = operator.post(SILENCES, {}, format="json")
    assert [each["code"] for each in empty.json()["findings"]] == [
        "matchers_missing",
        "end_missing",
        "comment_missing",
    ]
    for wrong in ({"ends_at": "tomorrow"}, {"ends_at": "2026-01-01T00:00:00"}, {"starts_at": "x"}):
        assert post(operator, **wrong).json()["code"] == "body_invalid"
    assert not Silence.objects.exists()


def test_a_repeated_request_makes_one(operator: APIClient) -> None:
    given = body()
    first, second = (operator.post(SILENCES, given, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json() == second.json()
    assert Silence.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_command_line(run: Run) -> None:
    PipelineFactory.create(name="orders")
    assert "No silences" in run("silences", "list").stdout
    made = run("silences", "create", "--pipeline", "orders", "--severity", "critical", "--for", "2h", "--comment", "x")
    assert made.exit_code == 0, made.output
    number = str(Silence.objects.get().pk)
    assert "pipelines: orders; severities: critical" in made.stdout
    listed = json.loads(run("silences", "list", "--state", "active", "-o", "json").stdout)
    assert [each["matchers"]["pipelines"] for each in listed] == [["orders"]]
    assert run("silences", "end", number).stdout == f"Silence {number}: ended\n"
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert run("silences", "create", "--label", "team:shop", "--until", until, "--comment", "x").exit_code == 0
    for wrong in (["--for", "2x"], [], ["--for", "2h", "--until", until]):
        refused = run("silences", "create", "--rule", "lag", "--comment", "x", *wrong)
        assert refused.exit_code == ExitCode.USAGE, wrong
    refused = run("silences", "create", "--for", "2h", "--comment", "x")
    assert (refused.exit_code, "matchers_missing" in refused.stderr) == (ExitCode.REFUSED, True)
