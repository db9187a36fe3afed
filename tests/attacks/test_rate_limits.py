"""One user, or one token, who sends more than anybody needs."""

from __future__ import annotations

import copy
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from rest_framework.request import Request
from rest_framework.test import APIClient, APIRequestFactory

from pipelines.api.http import rate_limits
from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.foundation.errors import TooManyRequests
from pipelines.services.access import access
from tests.factories import UserFactory, definition_data

pytestmark = pytest.mark.django_db
LIST = "/api/v1/pipelines"


@pytest.fixture(autouse=True)
def limited(settings: Any) -> None:
    """Five requests a second, a burst of twenty."""
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"rate_limit": 5})
    rate_limits.forget()


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test moves."""
    now = [1000.0]
    monkeypatch.setattr(rate_limits, "monotonic", lambda: now[0])
    return now


def of_a_user() -> Request:
    request = Request(APIRequestFactory().get(LIST))
    request.user = UserFactory.create()
    request.auth = None
    return request


def session(**given: Any) -> APIClient:
    client = APIClient()
    client.force_authenticate(UserFactory.create(role=Role.OPERATOR, **given))
    return client


def test_a_user_is_refused_after_the_burst_and_let_in_again(stopped: list[float]) -> None:
    client = session()
    answers = [client.get(LIST) for _ in range(21)]
    assert [each.status_code for each in answers] == [200] * 20 + [429]
    assert answers[0].headers["RateLimit-Policy"] == '"user";q=20;w=4'
    assert answers[0].headers["RateLimit"] == '"user";r=19;t=1'
    assert answers[-1].headers["RateLimit"] == '"user";r=0;t=4'
    assert answers[-1].headers["Retry-After"] == "1"
    assert answers[-1].json()["code"] == "rate_limited"
    stopped[0] += 1
    assert [client.get(LIST).status_code for _ in range(6)] == [200] * 5 + [429]


def test_many_tokens_are_no_way_around_and_one_leaves_the_page_its_part(stopped: list[float]) -> None:
    user = UserFactory.create(role=Role.VIEWER)

    def sent(requests: int) -> int:
        text = access.create_token(user=user, name="t", expires=None)
        client = APIClient(headers={"Authorization": f"Token {text}"})
        return sum(client.get(LIST).status_code == 200 for _ in range(requests))

    assert sent(30) == 10
    page = APIClient()
    page.force_authenticate(user)
    assert page.get(LIST).status_code == 200
    assert sum(sent(30) for _ in range(5)) <= 10
    assert page.get(LIST).status_code == 429


def test_others_are_not_held_up(stopped: list[float]) -> None:
    flood, other = session(), session()
    for _ in range(30):
        flood.get(LIST)
    assert other.get(LIST).status_code == 200
    assert flood.get("/api/v1/events", headers={"Accept": "text/event-stream"}).status_code == 429
    assert flood.get("/healthz").status_code == 200


def test_heavy_requests_count_more(stopped: list[float]) -> None:
    client = session()
    body = {"definition": definition_data()}
    answers = [client.post(f"{LIST}/validate", body, format="json").status_code for _ in range(5)]
    assert answers == [200] * 4 + [429]


def test_parallel_requests_take_from_one_bucket(stopped: list[float]) -> None:
    request = of_a_user()

    def send(_: int) -> bool:
        try:
            rate_limits.admit(request, 1)
        except TooManyRequests:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(send, range(200))) == 20


def test_a_user_has_few_heavy_requests_at_once() -> None:
    request = of_a_user()
    with ExitStack() as held:
        held.enter_context(rate_limits.one_of_few(request))
        held.enter_context(rate_limits.one_of_few(request))
        with pytest.raises(TooManyRequests, match="2 such requests"):
            held.enter_context(rate_limits.one_of_few(request))
    with rate_limits.one_of_few(request):
        pass


def test_the_default_leaves_room_for_five_pages_of_one_user(settings: Any) -> None:
    """A page asks for at most ten things when it opens, and then for two a second at most."""
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"rate_limit": 50})
    request = of_a_user()
    allowances = [rate_limits.admit(request, 1) for _ in range(5 * 10 + 5 * 2 * 10)]
    assert all(allowance is not None and allowance.left >= 0 for allowance in allowances)


def with_patterns(count: int, pattern: str) -> dict[str, Any]:
    data = copy.deepcopy(definition_data())
    source = next(iter(data["sources"].values()))
    source["interceptors"] = [{"type": "regex_filter", "regex": f"{pattern}{number}"} for number in range(count)]
    return data


def test_patterns_have_one_budget_for_their_check() -> None:
    branches = "|".join(f"{a}{b}[a-z]x" for a in "abcdefghij" for b in "klmnopqrs")
    nested = f"(?:(?:{branches})+y)+z"
    codes = Counter(each.code for each in validate_data(with_patterns(100, nested)).findings)
    assert codes.keys() == {"regex_budget", "regex_unsafe"}
    assert codes["regex_unsafe"] < 10, "each of them is an eighth of a second of work: no more than a second in all"


def test_many_plain_patterns_fit_the_budget() -> None:
    found = validate_data(with_patterns(100, r"^(\w+)\s+([^,]*),([^;]*);.*id=\d+$")).findings
    assert "regex_budget" not in {each.code for each in found}
