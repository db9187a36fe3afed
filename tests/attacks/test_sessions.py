"""A session that its user has left is taken up by another person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.test import Client

from pipelines.api.monitoring.stream import Caller, access_now
from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.services.access import sessions
from tests.factories import UserFactory

SESSION = "/api/v1/session"
PASSWORD = "correct horse battery"
START = datetime(2026, 3, 2, 8, tzinfo=UTC)


@pytest.fixture
def page(db: None) -> Client:
    """The page of a viewer, logged in at START."""
    UserFactory.create(username="ana", role=Role.VIEWER)
    client = Client()
    with time_machine.travel(START, tick=False):
        body = {"username": "ana", "password": PASSWORD}
        assert client.post(SESSION, body, content_type="application/json").status_code == 200
    return client


def status(client: Client, after: timedelta, **headers: str) -> int:
    """What a request so long after START is answered."""
    with time_machine.travel(START + after, tick=False):
        return client.get("/api/v1/pipelines", headers=headers).status_code


def test_a_session_ends_when_its_user_is_away(page: Client) -> None:
    assert status(page, timedelta(hours=7, minutes=59)) == 200
    assert status(page, timedelta(hours=15, minutes=58)) == 200
    assert status(page, timedelta(hours=24)) == 401
    assert not Session.objects.exists()


def test_what_an_open_page_asks_by_itself_does_not_keep_its_session(page: Client) -> None:
    for hour in range(1, 8):
        assert status(page, timedelta(hours=hour), **{"X-Headgate-Idle": "true"}) == 200
    assert status(page, timedelta(hours=8), **{"X-Headgate-Idle": "true"}) == 401


def test_a_session_ends_however_busy_its_user_is(page: Client) -> None:
    for step in range(1, 24 * 7):
        assert status(page, timedelta(hours=step)) == 200
    assert status(page, timedelta(days=7)) == 401


def test_a_session_from_before_an_update_ends_too(db: None) -> None:
    user, page = UserFactory.create(role=Role.VIEWER), Client()
    with time_machine.travel(START, tick=False):
        page.force_login(user)
        assert sessions.BEGAN not in Session.objects.get(session_key=page.session.session_key).get_decoded()
    assert status(page, timedelta(hours=1)) == 200
    assert status(page, timedelta(hours=9)) == 401


def test_a_stream_ends_with_its_idle_session(page: Client) -> None:
    held = Caller("ana", page.session.session_key, None)
    with time_machine.travel(START + timedelta(hours=7), tick=False):
        assert access_now(held) == Access(Role.VIEWER)
    with time_machine.travel(START + timedelta(hours=8), tick=False):
        assert access_now(held) is None


def test_noting_the_user_does_not_undo_what_another_request_wrote(page: Client) -> None:
    with time_machine.travel(START + timedelta(hours=1), tick=False):
        stale = page.session
        stale.get(sessions.SEEN)
        other = page.session
        other["written"] = "meanwhile"
        other.save()
        assert sessions.keep(stale, by_user=True)
    content = Session.objects.get().get_decoded()
    assert content["written"] == "meanwhile"
    assert content[sessions.SEEN] == (START + timedelta(hours=1)).timestamp()


def test_a_log_in_takes_a_new_key(page: Client) -> None:
    """An attacker who has planted a session's cookie knows no key of the session that the log-in begins."""
    planted = page.cookies["sessionid"].value
    body = {"username": "ana", "password": PASSWORD}
    with time_machine.travel(START, tick=False):
        assert page.post(SESSION, body, content_type="application/json").status_code == 200
    assert page.cookies["sessionid"].value != planted
