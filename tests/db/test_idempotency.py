"""One key, one deed, whoever asks how often and at whatever moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from pipelines.foundation.errors import BadRequest, Conflict
from pipelines.models import IdempotencyKey
from pipelines.services.base.idempotency import KEPT_FOR, StoredResponse, once
from tests.factories import PipelineFactory

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_of_many_requests_with_one_key_at_once_one_acts() -> None:
    together = Barrier(5)
    deeds: list[str] = []

    def act() -> StoredResponse:
        deeds.append(PipelineFactory.create(host=None).name)
        return StoredResponse(201, {}, {"name": deeds[0]})

    def race(_: int) -> StoredResponse | str:
        together.wait(timeout=30)
        try:
            return once(user="ana", key="k", content="c", act=act)
        except Conflict as conflict:
            return conflict.code
        finally:
            connection.close()

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(race, range(5)))

    assert len(deeds) == 1
    given = [answer for answer in answers if isinstance(answer, StoredResponse)]
    assert {answer.body["name"] for answer in given} == set(deeds)
    assert sum(not answer.replayed for answer in given) == 1
    assert {answer for answer in answers if isinstance(answer, str)} <= {"idempotency_key_in_use"}


def test_an_answer_is_forgotten_after_a_day() -> None:
    def act() -> StoredResponse:
        return StoredResponse(201, {}, None)

    assert not once(user="ana", key="k", content="c", act=act).replayed
    assert once(user="ana", key="k", content="c", act=act).replayed
    IdempotencyKey.objects.update(created_at=timezone.now() - KEPT_FOR - timedelta(seconds=1))
    assert not once(user="ana", key="k", content="other", act=act).replayed


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(BadRequest):
        once(user="ana", key=key, content="c", act=lambda: StoredResponse(201, {}, None))
