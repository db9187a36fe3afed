"""What a user may not see does not exist for them: every route, asked by users of one team for what another owns."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from pytest_django import Settings

from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.models import AllowedNetwork, AllowedRoot, Cluster, Host
from tests.attacks.sweeping import Answer, Ask, Question, Sweep, questions, readable
from tests.attacks.two_teams import Side, client_of, fill, side
from tests.factories import HostFactory, UserFactory
from tests.figures import RecordProperty
from tests.settings import BASE_DIR

pytestmark = pytest.mark.django_db
DESCRIPTION = json.loads((BASE_DIR / "frontend" / "openapi.json").read_text())


@pytest.fixture(autouse=True)
def _time_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers to the same request are the same."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)


@pytest.fixture
def host() -> Host:
    """What the installation owns: a host, a cluster, and what pipelines may reach."""
    stamps = {"created_at": clock.now(), "created_by": "root"}
    AllowedRoot.objects.create(id=1, path="/data", mode="read", **stamps)
    AllowedNetwork.objects.create(id=1, target="10.0.0.0/8", **stamps)
    Cluster.objects.create(name="shared-cluster", spec={}, updated_at=clock.now(), updated_by="root", **stamps)
    made: Host = HostFactory.create(name="shared-host")
    return made


@pytest.fixture
def mine(host: Host) -> Side:
    """The team whose users ask."""
    made = side("amber")
    fill(made, host)
    return made


@pytest.fixture
def others(mine: Side, host: Host) -> Side:
    """The team that they are asked to find."""
    made = side("cobalt")
    fill(made, host)
    return made


def asking(who: User) -> Ask:
    """Requests of a user, after each of which everything is as before."""
    client = client_of(who)

    def ask(question: Question) -> Answer:
        cache.clear()  # the rates of requests are counted there
        path = f"{question.path}?{urlencode(question.query)}" if question.query else question.path
        body = {} if question.body is None else {"data": question.body, "format": "json"}
        with transaction.atomic():
            response = getattr(client, question.method.lower())(path, **body)
            answer = Answer(response.status_code, dict(response.headers), _text(response))
            transaction.set_rollback(True)
        return answer

    return ask


def _text(response: Any) -> str:
    content: bytes = b"".join(response) if response.streaming else response.content
    return readable(content, response.headers.get("Content-Type", ""))


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_what_another_team_owns_does_not_exist(
    mine: Side, others: Side, role: str, record_property: RecordProperty
) -> None:
    sweep = Sweep(others.markers)
    sweep.run(asking(mine.users[role]), DESCRIPTION, others.values)
    record_property("tries", sweep.asked)
    print(f"{sweep.asked} requests of a {role}, {len(sweep.routes)} routes with methods")
    assert sweep.asked > 1000
    assert not sweep.wrong, "\n".join(sweep.wrong)


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_nothing_changes_for_a_team_when_another_one_works(
    mine: Side, host: Host, role: str, record_property: RecordProperty
) -> None:
    ask, compared = asking(mine.users[role]), 0
    asked = [each for each in questions(DESCRIPTION, mine.values) if each.method in {"GET", "HEAD", "OPTIONS"}]
    before = {str(each): ask(each).like(each) for each in asked}
    others = side("cobalt")
    fill(others, host)
    changed = []
    for each in asked:
        answer = ask(each)
        compared += 1
        if answer.like(each) != before[str(each)]:
            changed.append(f"{each}\n  {before[str(each)][2]}\n  {answer.like(each)[2]}")
    record_property("tries", compared)
    assert not changed, "\n".join(changed)


def test_a_user_without_a_role_sees_nothing_at_all(others: Side) -> None:
    sweep, ask = Sweep(others.markers), asking(UserFactory.create(username="nobody"))
    for each in questions(DESCRIPTION, others.values):
        answer = sweep.ask(ask, each)
        assert "session" in each.template or answer.status in {403, 405}, str(each)
    assert not sweep.wrong, "\n".join(sweep.wrong)


def test_the_sweep_would_find_what_is_shown(mine: Side, others: Side, settings: Settings) -> None:
    """Those who may see it get it from the same addresses."""
    demo = {"demo_pipeline": others.values["pipelines.name"]}
    settings.HEADGATE = settings.HEADGATE.model_copy(update=demo)
    for who in (others.users["admin"], UserFactory.create(username="root", role=Role.ADMIN)):
        ask = asking(who)
        unseen = [
            f"{each}: {answer.status} {answer.text[:200]}"
            for each in questions(DESCRIPTION, others.values)
            if each.method == "GET" and each.is_of_a_team and not each.query
            if (answer := ask(each)).status not in {200, 404, 405, 409} or (answer.status == 404 and _shows(each))
        ]
        assert not unseen, "\n".join(unseen)
        assert others.mark in ask(Question("GET", "/api/v1/pipelines", "/api/v1/pipelines")).text


def _shows(question: Question) -> bool:
    """Whether the row that was made for the address is one that it shows. A peek is shown to who asked for it alone."""
    return not question.template.endswith(("/log", "/stacks", "/diff", "/peeks/{peek_id}"))


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is there that would look at positions, and no child that would rehearse."""
    from pipelines.api.definitions import rehearsals
    from pipelines.api.positions import positions
    from pipelines.services.base import host_tasks
    from pipelines.services.preview import testing

    monkeypatch.setattr(host_tasks, "supervised", lambda _host: False)
    monkeypatch.setattr(testing, "supervised", lambda _host: False)
    monkeypatch.setattr(positions, "supervised", lambda _host: False)
    nothing = {"channels": {}, "filtered": 0, "unrouted": [], "dead_letters": []}
    monkeypatch.setattr(rehearsals, "rehearse", lambda *_, **__: nothing)
