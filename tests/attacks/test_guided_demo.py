"""The guided demo breaks the demo's own pipeline in the demo stack, for those who may act on it, and nothing else."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.models import AuditRow, DemoFault
from pipelines.services.access.teams import bind
from tests.factories import PipelineFactory, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db
GUIDE = "/api/v1/pipelines/demo/guide"
BREAK = {"card": "kill-agent"}
PASSWORD = "correct horse battery"


@pytest.fixture
def demo(settings: Settings) -> None:
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"demo_pipeline": "demo"})
    PipelineFactory.create(name="demo")


def test_outside_of_a_demo_the_routes_do_not_exist_even_for_a_pipeline_of_that_name(admin: APIClient) -> None:
    PipelineFactory.create(name="demo")
    assert admin.get(GUIDE).status_code == 404
    assert admin.post(GUIDE, BREAK, format="json").status_code == 404
    assert admin.get("/api/v1/session").json()["demo_pipeline"] == ""
    assert not DemoFault.objects.exists()


def test_no_other_pipeline_can_be_broken(demo: None, admin: APIClient) -> None:
    PipelineFactory.create(name="orders")
    other = GUIDE.replace("demo", "orders")
    assert admin.get(other).status_code == 404
    assert admin.post(other, BREAK, format="json").status_code == 404
    assert admin.get(GUIDE).status_code == 200
    assert not DemoFault.objects.exists()


def test_nobody_breaks_it_without_a_log_in_and_a_viewer_only_looks(
    demo: None, viewer: APIClient, anonymous: APIClient
) -> None:
    assert anonymous.get(GUIDE).status_code == 401
    assert anonymous.post(GUIDE, BREAK, format="json").status_code == 401
    assert anonymous.get("/api/v1/session").json()["demo_pipeline"] == ""
    assert viewer.get(GUIDE).status_code == 200
    assert viewer.post(GUIDE, BREAK, format="json").status_code == 403
    assert not DemoFault.objects.exists()
    assert not AuditRow.objects.filter(action="demo.broken").exists()


def test_an_operator_of_another_team_does_not_find_it(demo: None) -> None:
    user = UserFactory.create(role=None)
    bind(user=user, role=Role.OPERATOR, team=TeamFactory.create(name="payments"))
    client = APIClient()
    client.force_authenticate(user)
    assert client.get(GUIDE).status_code == 404
    assert client.post(GUIDE, BREAK, format="json").status_code == 404


def test_a_page_of_another_site_breaks_nothing(demo: None) -> None:
    UserFactory.create(username="eve", role=Role.OPERATOR)
    browser = Client(enforce_csrf_checks=True)
    token = browser.get("/api/v1/session").json()["csrf_token"]

    def send(place: str, body: object, **headers: str) -> int:
        return browser.post(place, body, content_type="application/json", headers=headers).status_code

    assert send("/api/v1/session", {"username": "eve", "password": PASSWORD}, **{"X-CSRFToken": token}) == 200
    assert send(GUIDE, BREAK) == 403
    assert not DemoFault.objects.exists()
    token = browser.get("/api/v1/session").json()["csrf_token"]
    assert send(GUIDE, BREAK, **{"X-CSRFToken": token}) == 202
