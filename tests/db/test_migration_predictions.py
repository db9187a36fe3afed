"""Plans of revisions predict by previews of the host; where most records would be lost, a number is acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.preview.comparing import Totals
from pipelines.domain.preview.protocol import PreviewResult, RangeRead
from pipelines.models import AuditRow, Event, Host, Migration, Pipeline, Preview
from pipelines.services.base import host_tasks
from pipelines.services.preview import previews
from tests.factories import HostFactory, PipelineFactory, RunFactory, UserFactory, definition_data, now

pytestmark = pytest.mark.django_db
MIGRATIONS = "/api/v1/migrations"
FILTER = "sources.shop.interceptors[0]"


@pytest.fixture
def ana() -> APIClient:
    client = APIClient()
    client.force_authenticate(UserFactory.create(username="ana", role=Role.OPERATOR))
    return client


@pytest.fixture
def orders() -> Pipeline:
    HostFactory.create(responding=True)
    pipeline: Pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=pipeline)
    return pipeline


def filtering(topic: str = "orders-out") -> dict[str, Any]:
    data = definition_data("orders")
    data["sources"]["shop"]["interceptors"] = [{"type": "regex_filter", "regex": ".", "exclude_events": True}]
    data["sinks"]["out"]["topic"] = topic
    return data


def post(client: APIClient, path: str, data: Any, status: int) -> dict[str, Any]:
    answer = client.post(f"{MIGRATIONS}{path}", data, format="json")
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    return found


def asked(client: APIClient, definition: dict[str, Any] | None = None) -> dict[str, Any]:
    spec = {"definition": definition or filtering()}
    return post(client, "", {"pipeline": "orders", "kind": "revision", "spec": spec, "reason": "new"}, 201)


def replanned(client: APIClient, made: dict[str, Any]) -> dict[str, Any]:
    return post(client, f"/{made['id']}/plan", {}, 200)


def totals(delivered: int) -> Totals:
    filtered = {FILTER: 1000 - delivered} if delivered < 1000 else {}
    return Totals(events=1000, delivered=delivered, channels={"main": delivered}, filtered=filtered, size=delivered)


def answer(before: int = 1000, after: int = 0, records: int = 1000) -> None:
    """What the host has found in every preview that is waited for."""
    for preview in Preview.objects.filter(state="PENDING"):
        assert host_tasks.start(preview)
        found = PreviewResult(
            source="shop",
            records=records,
            size=0,
            ranges=[RangeRead(topic="in", partition=0, start=0, end=1)],
            before=totals(before),
            after=totals(after),
        )
        assert previews.finish(preview=preview, result=found)


def approved(client: APIClient, made: dict[str, Any]) -> dict[str, Any]:
    found = post(client, f"/{made['id']}/approve", {"hash": made["plan_hash"]}, 200)
    assert found["stage"] == "APPROVED"
    return found


def test_a_plan_that_is_made_again_and_is_the_same_is_no_event(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana)
    told = list(Event.objects.values_list("kind", "message"))
    for _ in range(3):
        assert replanned(ana, made)["stage"] == "DRAFT"
    assert list(Event.objects.values_list("kind", "message")) == told
    answer()
    replanned(ana, made)
    replanned(ana, made)
    assert [each.kind for each in Event.objects.order_by("id")][len(told) :] == ["migration.planned"]


def test_a_plan_waits_for_the_preview_and_contains_it(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana)
    assert (made["stage"], [each["code"] for each in made["findings"]]) == ("DRAFT", ["PREDICTING"])
    (preview,) = Preview.objects.all()
    assert (preview.source, preview.selection["since"]) == ("shop", 600)
    assert replanned(ana, made)["stage"] == "DRAFT"
    answer()
    found = replanned(ana, made)
    assert (found["stage"], Preview.objects.count()) == ("PLANNED", 1)
    (predicted,) = found["plan"]["predictions"]
    assert (predicted["records"], predicted["reason"]) == (1000, "")
    assert [predicted[side]["delivered"] for side in ("before", "after")] == [1000, 0]
    assert predicted["after"]["filtered"] == {FILTER: 1000}
    assert found["plan"]["to_acknowledge"] == 1000
    assert replanned(ana, made)["plan_hash"] == found["plan_hash"]


def test_a_loss_starts_only_with_its_number_which_audit_and_evidence_keep(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana)
    answer()
    made = approved(ana, replanned(ana, made))
    for number in ({}, {"acknowledge": 999}):
        refused = post(ana, f"/{made['id']}/advance", {"hash": made["plan_hash"], **number}, 409)
        assert (refused["code"], refused["to_acknowledge"]) == ("not_acknowledged", 1000)
    assert Migration.objects.get().started_at is None
    started = post(ana, f"/{made['id']}/advance", {"hash": made["plan_hash"], "acknowledge": 1000}, 202)
    assert started["stage"] == "PREFLIGHT"
    rows = AuditRow.objects.filter(action="migration.advance").order_by("pk")
    assert [(row.outcome, (row.after or {}).get("code")) for row in rows[:2]] == [("refused", "not_acknowledged")] * 2
    assert (rows[2].after or {})["acknowledged"] == 1000
    content = ana.get(f"{MIGRATIONS}/{made['id']}/evidence").json()["content"]
    assert (content["acknowledged"]["number"], content["acknowledged"]["by"]) == (1000, "ana")
    assert content["prediction"][0]["after"]["delivered"] == 0
    share = next(row for row in content["outcome"] if row["figure"] == "delivered_share")
    assert (share["present"], share["predicted"], share["found"]) == (1.0, 0.0, None)
    page = ana.get(f"{MIGRATIONS}/{made['id']}/evidence?format=html").content.decode()
    assert "1,000 records that would not be delivered any more" in page


def test_what_keeps_half_of_its_records_starts_without_a_number(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana)
    answer(after=500)
    made = approved(ana, replanned(ana, made))
    assert made["plan"]["to_acknowledge"] is None
    post(ana, f"/{made['id']}/advance", {"hash": made["plan_hash"]}, 202)


def fail() -> None:
    for preview in Preview.objects.filter(state="PENDING"):
        message = "Records of a source of the type file cannot be read beside its pipeline."
        assert host_tasks.start(preview)
        host_tasks.fail(preview, {"code": "preview_refused", "message": message, "hint": ""})


def be_late() -> None:
    Preview.objects.update(requested_at=now() - timedelta(seconds=200))


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (lambda: answer(records=0), "no records of the last 10 minutes"),
        (fail, "cannot be read beside its pipeline"),
        (be_late, "was not made within 150 s"),
    ],
)
def test_what_is_not_predicted_says_why_and_can_start(
    ana: APIClient, orders: Pipeline, happens: Callable[[], None], words: str
) -> None:
    made = asked(ana)
    happens()
    made = approved(ana, replanned(ana, made))
    (predicted,) = made["plan"]["predictions"]
    assert words in predicted["reason"]
    assert (predicted["before"], made["plan"]["to_acknowledge"]) == (None, None)
    post(ana, f"/{made['id']}/advance", {"hash": made["plan_hash"]}, 202)


@pytest.mark.parametrize("happens", [lambda: answer(records=0), fail])
def test_what_was_not_predicted_is_previewed_once_more_when_it_is_planned_again(
    ana: APIClient, orders: Pipeline, happens: Callable[[], None]
) -> None:
    made = asked(ana)
    happens()
    made = replanned(ana, made)
    assert made["plan"]["predictions"][0]["reason"]
    made = replanned(ana, made)
    assert (Preview.objects.count(), [each["code"] for each in made["findings"]]) == (2, ["PREDICTING"])
    answer()
    made = replanned(ana, made)
    assert made["plan"]["predictions"][0]["after"]["delivered"] == 0


def test_a_late_preview_is_not_requested_twice_and_counts_once_it_is_there(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana)
    be_late()
    assert "150 s" in replanned(ana, made)["plan"]["predictions"][0]["reason"]
    assert "150 s" in replanned(ana, made)["plan"]["predictions"][0]["reason"]
    answer()
    found = replanned(ana, made)["plan"]["predictions"][0]
    assert (Preview.objects.count(), found["reason"], found["after"]["delivered"]) == (1, "", 0)


def test_a_host_with_too_many_previews_keeps_no_plan_waiting(
    ana: APIClient, orders: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_tasks, "QUEUED", 0)
    made = asked(ana)
    assert made["stage"] == "PLANNED"
    assert "previews wait for the host" in made["plan"]["predictions"][0]["reason"]


def test_a_change_that_concerns_no_record_is_not_previewed(ana: APIClient, orders: Pipeline) -> None:
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    made = asked(ana, data)
    assert (made["stage"], Preview.objects.count()) == ("PLANNED", 0)
    assert "as they are" in made["plan"]["predictions"][0]["reason"]


def test_a_plan_with_other_blockers_requests_no_preview(ana: APIClient, orders: Pipeline) -> None:
    Host.objects.update(drained_at=now())
    made = asked(ana)
    assert [each["code"] for each in made["findings"]] == ["HOST_DRAINED"]
    assert not Preview.objects.exists()


def test_another_definition_has_a_preview_of_its_own(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana)
    answer()
    post(ana, f"/{made['id']}/abort", {"reason": ""}, 202)
    assert asked(ana)["stage"] == "PLANNED", "the same change again"
    Migration.objects.all().delete()
    assert asked(ana, filtering("elsewhere"))["stage"] == "DRAFT"
