"""Diagnostic bundles: what is inside, by whose right, and what is said of the rest."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from pipelines.api.diagnostics import bundles
from pipelines.api.lifecycle.pipelines import PipelineStatus
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import RunState
from pipelines.models import AuditRow, Pipeline
from tests.factories import (
    EventFactory,
    HostFactory,
    LedgerBatchFactory,
    PipelineFactory,
    RunFactory,
    TeamFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/pipelines/orders/diagnostics"
INSTALLATION = "/api/v1/diagnostics"
OPERATORS_ONLY = {"audit.json"}
ADMINISTRATORS_ONLY = {"installation/settings.json"}


@pytest.fixture
def orders() -> Pipeline:
    """A pipeline with a run, whose log is on this server's host."""
    pipeline: Pipeline = PipelineFactory.create(name="orders", host=HostFactory.create(name="alpha", responding=True))
    run = RunFactory.create(pipeline=pipeline, number=7, run_dir=str(settings.HEADGATE.state / "runs" / "orders" / "7"))
    directory = Path(run.run_dir)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "agent.log").write_text("2026-03-01T10:00:00.000Z INFO driver 7 begun\n")
    EventFactory.create(pipeline=pipeline)
    LedgerBatchFactory.create(run=run)
    return pipeline


def opened(response: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Manifest and files of a bundle."""
    assert response.status_code == 200, response.content
    assert response.headers["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    return json.loads(files.pop("manifest.json")), files


def left_out(manifest: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["code"] for each in manifest["left_out"]}


def test_a_bundle_has_what_is_known_of_the_pipeline(orders: Pipeline, admin: APIClient) -> None:
    response = admin.get(ADDRESS)
    manifest, files = opened(response)
    assert response.headers["Content-Disposition"].startswith('attachment; filename="headgate-orders-20')
    assert left_out(manifest) == {}
    assert {each["name"] for each in manifest["parts"]} == set(files)
    assert json.loads(files["pipeline.json"])["name"] == "orders"
    assert json.loads(files["status.json"])["conditions"]
    assert [each["number"] for each in json.loads(files["runs.json"])["results"]] == [7]
    assert json.loads(files["events.json"])["results"]
    assert json.loads(files["ledger/batches.json"])["results"]
    assert "begun" in files["runs/7/agent.log"]
    assert json.loads(files["runs/7/stacks.json"])["run"]
    assert json.loads(files["host.json"])["name"] == "alpha"
    assert json.loads(files["installation/versions.json"])["headgate"]
    assert json.loads(files["installation/health.json"])["checks"] == {"database": "ok", "redis": "unreachable"}
    assert json.loads(files["installation/settings.json"])["host"] == "alpha"
    assert (manifest["pipeline"], manifest["collected_by"]) == ("orders", "admin")


def test_each_part_obeys_the_right_of_its_own_address(orders: Pipeline, viewer: APIClient, operator: APIClient) -> None:
    shown, files = opened(viewer.get(ADDRESS))
    assert left_out(shown) == {"audit.json": "forbidden", "installation/settings.json": "role_in_team_needed"}
    assert not set(files) & (OPERATORS_ONLY | ADMINISTRATORS_ONLY)
    assert set(left_out(opened(operator.get(ADDRESS))[0])) == ADMINISTRATORS_ONLY
    assert not AuditRow.objects.filter(outcome="refused").exists()


def test_administrators_of_a_team_get_no_settings_and_other_teams_get_nothing(orders: Pipeline) -> None:
    client, stranger = APIClient(), APIClient()
    client.force_authenticate(UserFactory.create(in_teams={orders.team: Role.ADMIN}))
    stranger.force_authenticate(UserFactory.create(in_teams={TeamFactory.create(name="risk"): Role.ADMIN}))
    manifest, _ = opened(client.get(ADDRESS))
    assert left_out(manifest) == {"installation/settings.json": "role_in_team_needed"}
    assert stranger.get(ADDRESS).status_code == 404
    assert (client.get(INSTALLATION).status_code, stranger.get(INSTALLATION).status_code) == (403, 403)


def test_what_fails_is_listed_and_prevents_nothing_else(
    orders: Pipeline, admin: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("canary-of-an-exception")

    whole = opened(admin.get(ADDRESS))[1]
    monkeypatch.setattr(PipelineStatus, "get", fail)
    manifest, files = opened(admin.get(ADDRESS))
    assert left_out(manifest) == {"status.json": "internal_error"}
    assert set(files) == set(whole) - {"status.json"}
    assert "canary-of-an-exception" not in json.dumps(manifest)


def test_a_log_that_is_gone_or_elsewhere_is_listed_with_its_reason(orders: Pipeline, admin: APIClient) -> None:
    elsewhere = HostFactory.create(name="beta")
    RunFactory.create(pipeline=orders, number=8, host=elsewhere, state=RunState.ENDED)
    RunFactory.create(
        pipeline=orders,
        number=6,
        state=RunState.ENDED,
        keeper_pid=4,
        run_dir=str(settings.HEADGATE.state / "runs" / "gone"),
    )
    manifest, files = opened(admin.get(ADDRESS))
    assert left_out(manifest) == {"runs/8/agent.log": "log_on_other_host", "runs/6/agent.log": "log_not_found"}
    assert "runs/7/agent.log" in files
    reasons = {each["name"]: each["reason"] for each in manifest["left_out"]}
    assert "beta" in reasons["runs/8/agent.log"]
    assert "was removed" in reasons["runs/6/agent.log"]


def test_when_the_time_is_up_the_rest_is_listed(
    orders: Pipeline, admin: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "SECONDS", -1.0)
    manifest, files = opened(admin.get(ADDRESS))
    assert files == {}
    assert {each["code"] for each in manifest["left_out"]} == {"time_is_up"}


def test_a_log_that_is_cut_says_so(orders: Pipeline, admin: APIClient) -> None:
    log = settings.HEADGATE.state / "runs" / "orders" / "7" / "agent.log"
    log.write_text("".join(f"line {number:07}\n" for number in range(200_000)))
    manifest, files = opened(admin.get(ADDRESS))
    part = next(each for each in manifest["parts"] if each["name"] == "runs/7/agent.log")
    assert files["runs/7/agent.log"].endswith("line 0199999\n")
    assert part["cut"] == f"The last {part['bytes']} of 2600000 bytes."


def test_the_bundle_of_the_installation_has_settings_and_hosts(orders: Pipeline, admin: APIClient) -> None:
    manifest, files = opened(admin.get(INSTALLATION))
    assert left_out(manifest) == {}
    assert manifest["pipeline"] is None
    assert [each["name"] for each in json.loads(files["hosts.json"])] == ["alpha"]
    assert [each["name"] for each in json.loads(files["pipelines.json"])["results"]] == ["orders"]
    assert json.loads(files["installation/settings.json"])["run_days"] == 30


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_administrators_get_the_bundle_of_the_installation(role: str, request: pytest.FixtureRequest) -> None:
    assert request.getfixturevalue(role).get(INSTALLATION).status_code == 403


def test_each_bundle_is_in_the_audit(orders: Pipeline, admin: APIClient, viewer: APIClient) -> None:
    viewer.get(ADDRESS)
    admin.get(INSTALLATION)
    rows = list(AuditRow.objects.order_by("pk").values_list("actor", "action", "pipeline_name", "team"))
    assert rows == [
        ("viewer", "pipeline.diagnose", "orders", orders.team.name),
        ("admin", "installation.diagnose", "", ""),
    ]
    after = AuditRow.objects.filter(actor="viewer").values_list("after", flat=True)[0] or {}
    assert after["left_out"] == ["installation/settings.json", "audit.json"]


def test_a_user_has_few_of_them_at_once(orders: Pipeline, admin: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    original = bundles.Bundle.response

    def once_more(bundle: bundles.Bundle) -> Any:
        if len(tried) < 2:
            tried.append(0)
            tried.append(admin.get(ADDRESS).status_code)
        return original(bundle)

    monkeypatch.setattr(bundles.Bundle, "response", once_more)
    monkeypatch.setattr("pipelines.api.http.rate_limits.HEAVY_AT_ONCE", 1)
    assert admin.get(ADDRESS).status_code == 200
    assert tried == [0, 429]
