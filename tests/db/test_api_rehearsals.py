"""Rehearsals through the API: one at a time, bounded, and with the findings of the child."""

from __future__ import annotations

import fcntl
from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from pipelines.api.definitions import rehearsals
from pipelines.foundation.rehearsal import RehearsalFailed
from tests.factories import PipelineFactory, definition_data

pytestmark = pytest.mark.django_db
UNNAMED = "/api/v1/pipelines/rehearse"
EVENTS = [{"headers": {"a": "1"}, "body": "x"}, {"headers": {}, "body_base64": "/w=="}]
RESULT = {
    "channels": {"lake": [EVENTS[0]]},
    "filtered": 1,
    "unrouted": [],
    "dead_letters": [{"event": EVENTS[1], "component": "sources.shop.interceptors[0]", "cause": "bad"}],
}


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the child process is asked; it answers RESULT, or raises what stands in `failure`."""
    asked: list[dict[str, Any]] = []

    def rehearse(definition: dict[str, Any], events: list[Any], **keys: Any) -> dict[str, Any]:
        asked.append({"definition": definition, "events": events, **keys})
        return RESULT

    monkeypatch.setattr(rehearsals, "rehearse", rehearse)
    return asked


def test_a_definition_is_rehearsed_without_being_stored(operator: APIClient, child: list[dict[str, Any]]) -> None:
    body = {"definition": definition_data(), "events": EVENTS, "source": "shop"}
    response = operator.post(UNNAMED, body, format="json")
    assert response.status_code == 200, response.content
    shown = response.json()
    assert shown["filtered"] == 1
    assert shown["channels"]["lake"][0]["body"] == "x"
    assert shown["dead_letters"][0]["cause"] == "bad"
    assert child[0]["events"] == EVENTS
    assert child[0]["source"] == "shop"


def test_a_stored_pipeline_is_rehearsed_with_its_present_revision(
    operator: APIClient, viewer: APIClient, child: list[dict[str, Any]]
) -> None:
    pipeline = PipelineFactory.create(name="orders")
    address = "/api/v1/pipelines/orders/rehearse"
    assert operator.post(address, {"events": EVENTS}, format="json").status_code == 200
    assert pipeline.current_revision is not None
    assert child[0]["definition"] == pipeline.current_revision.definition
    assert viewer.post(address, {"events": EVENTS}, format="json").status_code == 403
    assert operator.post(address, {"events": [{}] * 1001}, format="json").status_code == 422


def test_a_second_rehearsal_is_asked_to_wait(operator: APIClient, child: list[dict[str, Any]]) -> None:
    with (settings.HEADGATE.state / "rehearsal.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        response = operator.post(UNNAMED, {"definition": definition_data(), "events": []}, format="json")
    assert response.status_code == 429
    assert response.json()["code"] == "rehearsal_running"
    assert child == []


FINDING = {"path": "sources.shop", "code": "INTERCEPTOR_FAILED", "message": "no", "suggestion": "", "retryable": False}


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (RehearsalFailed("rehearsal_refused", "no", findings=[FINDING]), 422),
        (RehearsalFailed("too_many_events", "no"), 422),
        (RehearsalFailed("rehearsal_timeout", "no"), 503),
        (RehearsalFailed("not_provisioned", "no", "make setup"), 503),
    ],
)
def test_what_keeps_a_rehearsal_from_working_is_told(
    operator: APIClient, monkeypatch: pytest.MonkeyPatch, failure: RehearsalFailed, status: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(rehearsals, "rehearse", fail)
    response = operator.post(UNNAMED, {"definition": definition_data(), "events": EVENTS}, format="json")
    assert response.status_code == status
    assert response.json()["code"] == failure.code
    assert len(response.json()["findings"]) == len(failure.findings)
