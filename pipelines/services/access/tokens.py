"""Tokens: made with a scope and an end, revoked, and noted where they are used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from pipelines.domain.access.scopes import UNLIMITED, Scope
from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import AccessToken
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

SYSTEM = Actor("system")
NOTED_EVERY = timedelta(minutes=1)
KEPT_AFTER_EXPIRY = timedelta(days=30)


@dataclass(frozen=True)
class MadeToken:
    """A token and its text, which is known this once."""

    token: AccessToken
    text: str


def scope_of_token(token: AccessToken) -> Scope:
    """What the token may do of what its user may."""
    return Scope(
        Role.named(token.role_cap) if token.role_cap else None, token.read_only, token.team_id, token.sees_records
    )


@transaction.atomic
def create(
    *,
    user: User,
    name: str,
    expires: timedelta | None,
    scope: Scope = UNLIMITED,
    by: AccessToken | None = None,
    actor: Actor = SYSTEM,
) -> MadeToken:
    """Make a token; `by`: the token that asks for it, which gives nothing that it does not have, and no longer."""
    now = clock.now()
    if by is not None:
        scope = scope.within(scope_of_token(by))
        if by.expiry is not None and (expires is None or now + expires > by.expiry):
            expires = by.expiry - now
    AccessToken.objects.filter(user=user, expiry__lt=now - KEPT_AFTER_EXPIRY).delete()
    token, text = AccessToken.objects.create(
        user=user,
        name=name,
        expiry=expires,
        created_by=actor.name,
        role_cap=scope.role_cap.word if scope.role_cap else "",
        read_only=scope.read_only,
        team_id=scope.team,
        sees_records=scope.records,
    )
    audit.record(actor=actor, action="token.created", after=_facts(token))
    return MadeToken(token, str(text))


@transaction.atomic
def revoke(*, token_key: str, tokens: QuerySet[AccessToken], actor: Actor) -> None:
    """End a token among `tokens` for ever. Raises NotFound."""
    found = list(tokens.select_for_update().select_related("user").filter(token_key=token_key))
    if not found:
        raise NotFound(f"There is no token {token_key}.", code="token_not_found", hint="GET /api/v1/tokens lists them.")
    _remove(found, actor)


def revoke_all(*, user: User, actor: Actor) -> int:
    """End every token of a user, in the caller's transaction; returns how many there were."""
    found = list(AccessToken.objects.select_related("user").filter(user=user))
    _remove(found, actor)
    return len(found)


def note_use(token: AccessToken, address: str) -> None:
    """Note that the token was used just now, at most once a minute."""
    now = clock.now()
    if not _is_due(token.last_used_at, now):
        return
    due = Q(last_used_at=None) | Q(last_used_at__lte=now - NOTED_EVERY)
    AccessToken.objects.filter(due, pk=token.pk).update(last_used_at=now, last_used_address=address[:64])


def _is_due(last: datetime | None, now: datetime) -> bool:
    return last is None or last <= now - NOTED_EVERY


def _remove(found: Iterable[AccessToken], actor: Actor) -> None:
    for token in found:
        audit.record(actor=actor, action="token.revoked", before=_facts(token))
        token.delete()


def _facts(token: AccessToken) -> dict[str, object]:
    """What the audit says of a token: never its text, nor its hash."""
    return {
        "token": token.token_key,
        "user": token.user.username,
        "name": token.name,
        "expires_at": token.expiry.isoformat() if token.expiry else None,
        "role_cap": token.role_cap or None,
        "read_only": token.read_only,
        "team": token.team.name if token.team else None,
        "sees_records": token.sees_records,
    }
