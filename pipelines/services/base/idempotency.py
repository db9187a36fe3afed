"""Answers of POST requests, kept for those who repeat one because they never saw the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, OperationalError, transaction

from pipelines.foundation import clock
from pipelines.foundation.errors import BadRequest, Conflict, Invalid
from pipelines.models import IdempotencyKey

KEPT_FOR = timedelta(hours=24)
KEY_LENGTH = 255
_LOCKED = "55P03"
"""PostgreSQL: the row of the key, which the first request has inserted, stays locked."""


@dataclass(frozen=True)
class StoredResponse:
    """What was answered; `replayed` where it is a kept one."""

    status: int
    headers: dict[str, str]
    body: Any
    replayed: bool = False


def once(*, user: str, key: str, content: str, act: Callable[[], StoredResponse]) -> StoredResponse:
    """Act, and keep the answer in the same transaction; or return the answer that is kept under this key.

    What fails is not kept: nothing was done, so a repetition tries again. Raises Invalid where the key was used with
    other content, Conflict where the first request is still at work, BadRequest for a key that is none.
    """
    if not 0 < len(key) <= KEY_LENGTH or not key.isprintable():
        raise BadRequest(
            f"An Idempotency-Key has 1 to {KEY_LENGTH} printable characters.", code="idempotency_key_invalid"
        )
    fingerprint = hashlib.sha256(content.encode()).hexdigest()
    try:
        with transaction.atomic():
            return _replay(user, key, fingerprint) or _act(user, key, fingerprint, act)
    except (_TakenMeanwhile, OperationalError) as error:
        if isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", None) != _LOCKED:
            raise
        raise Conflict(
            "A request with this Idempotency-Key is still in progress.",
            code="idempotency_key_in_use",
            hint="Repeat the request in a moment; it gets the first one's answer.",
        ) from None


class _TakenMeanwhile(Exception):
    """Another request with the same key has begun since we looked."""


def _replay(user: str, key: str, fingerprint: str) -> StoredResponse | None:
    row = IdempotencyKey.objects.filter(user=user, key=key).first()
    if row is None:
        return None
    if clock.now() - row.created_at > KEPT_FOR:
        row.delete()
        return None
    if row.fingerprint != fingerprint:
        raise Invalid(
            "This Idempotency-Key was used for another request.",
            code="idempotency_key_reused",
            hint="Use a new key for every new request.",
        )
    return StoredResponse(status=row.status or 200, headers=row.headers, body=row.body, replayed=True)


def _act(user: str, key: str, fingerprint: str, act: Callable[[], StoredResponse]) -> StoredResponse:
    try:
        with transaction.atomic():
            row = IdempotencyKey.objects.create(user=user, key=key, fingerprint=fingerprint)
    except IntegrityError:
        raise _TakenMeanwhile from None
    answer = act()
    row.status, row.headers, row.body = answer.status, answer.headers, answer.body
    row.save(update_fields=["status", "headers", "body"])
    return replace(answer, replayed=False)
