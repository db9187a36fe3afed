"""Shadows are planned with a revision, shown with the migration, and hide what users may not see."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.migration.shadow import ShadowSample, ShadowState
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.preview.protocol import DifferenceRow, NotCompared, ShownSide
from pipelines.domain.preview.shadowing import ShadowCounts
from pipelines.models import Migration, Pipeline, RoleBinding
from tests.db.test_migration_predictions import MIGRATIONS, ana, orders
from tests.factories import definition_data

pytestmark = pytest.mark.django_db
WORD = "a-word-of-a-record"
__all__ = ["ana", "orders"]


def asked(client: APIClient, status: int = 201, **spec: Any) -> Any:
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    body = {"pipeline": "orders", "kind": "revision", "spec": {"definition": data, **spec}, "reason": "new"}
    answer = client.post(MIGRATIONS, body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def shown(client: APIClient) -> Any:
    return client.get(f"{MIGRATIONS}/{Migration.objects.get().pk}").json()


def a_state() -> dict[str, Any]:
    side = ShownSide(result=EventResult.DELIVERED, channels=["main"], cause="", event={"body": WORD})
    row = DifferenceRow(
        topic="in", partition=0, offset=7, kinds=[DifferenceKind.BODY], record={"body": WORD}, before=side, after=side
    )
    return ShadowState(
        since="2026-03-01T12:00:00+00:00",
        after={"shop": 5},
        counts=ShadowCounts(records=10, identical=9, different=1, kinds={DifferenceKind.BODY: 1}),
        not_compared={"shop": NotCompared(headers=["at"])},
        samples=[ShadowSample(source="shop", difference=row)],
        rate_before=100.0,
        rate=99.0,
    ).model_dump(mode="json")


def test_a_plan_has_its_shadow_and_the_stage(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana, shadow={"for": "10m", "most_different": 0.01})
    assert made["plan"]["shadow"] == {
        "seconds": 600.0,
        "records": None,
        "most_different": 0.01,
        "channels": {"shop": "main"},
    }
    stages = [step["stage"] for step in made["plan"]["steps"]]
    assert stages.index("PREFLIGHT") < stages.index("SHADOWING") < stages.index("PAUSING")
    assert made["spec"]["shadow"]["for"] == 600.0
    again = ana.post(f"{MIGRATIONS}/{made['id']}/plan", {}, format="json").json()
    assert (again["plan_hash"], again["shadow"]) == (made["plan_hash"], None)


def test_without_a_shadow_there_is_no_such_stage(ana: APIClient, orders: Pipeline) -> None:
    made = asked(ana)
    assert made["plan"]["shadow"] is None
    assert "SHADOWING" not in {step["stage"] for step in made["plan"]["steps"]}


def test_all_faults_of_a_request_are_told_with_their_paths(ana: APIClient, orders: Pipeline) -> None:
    refused = asked(ana, 422, shadow={"for": "soon", "records": 0, "often": True})
    assert {each["path"] for each in refused["findings"]} == {
        "spec.shadow.for",
        "spec.shadow.records",
        "spec.shadow.often",
    }
    both = asked(ana, 422, shadow={"for": "10m", "records": 5})
    (finding,) = both["findings"]
    assert finding["path"] == "spec.shadow"
    assert "exactly one of for and records" in finding["message"]


def test_a_paused_pipeline_has_nothing_to_compare(ana: APIClient, orders: Pipeline) -> None:
    Pipeline.objects.update(phase=Phase.PAUSED, desired_state=DesiredState.PAUSED)
    made = asked(ana, shadow={"records": 100})
    assert made["stage"] == "DRAFT"
    assert [(each["path"], each["code"]) for each in made["findings"]] == [("spec.shadow", "SHADOW_PAUSED")]


def test_the_comparison_is_shown_without_what_a_user_may_not_see(ana: APIClient, orders: Pipeline) -> None:
    asked(ana, shadow={"records": 100})
    Migration.objects.update(shadow=a_state())
    found = shown(ana)["shadow"]
    assert (found["share"], found["rate_before"], found["rate"]) == (0.1, 100.0, 99.0)
    assert (found["counts"]["identical"], found["counts"]["different"]) == (9, 1)
    (sample,) = found["samples"]
    assert sample["difference"]["before"]["event"] == {"body": WORD}
    assert not {"after", "part"} & found.keys()
    RoleBinding.objects.update(sees_records=False)
    hidden = ana.get(f"{MIGRATIONS}/{Migration.objects.get().pk}")
    assert WORD not in hidden.content.decode()
    assert (hidden.json()["shadow"]["shows_records"], len(hidden.json()["shadow"]["samples"])) == (False, 1)


def test_the_report_has_the_comparison_and_no_content_of_records(ana: APIClient, orders: Pipeline) -> None:
    asked(ana, shadow={"records": 100})
    Migration.objects.update(shadow=a_state())
    path = f"{MIGRATIONS}/{Migration.objects.get().pk}/evidence"
    answer = ana.get(path)
    found = answer.json()["content"]["shadow"]
    assert (found["counts"]["different"], found["rate"], found["samples"][0]["difference"]["offset"]) == (1, 99.0, 7)
    page = ana.get(f"{path}?format=html").content.decode()
    assert "Shadow comparison" in page
    assert "sources.shop: header at" in page
    assert WORD not in page + answer.content.decode()
