"""Signing in at an OpenID Connect provider: the request that sends a user there, and the one that comes back."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Mapping
from dataclasses import asdict

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.http import HttpRequest

from pipelines.domain.access.sign_in import groups_of, is_local, username_of
from pipelines.foundation.errors import Invalid, NotFound
from pipelines.foundation.sign_in.oidc import Attempt, Provider, SignInFailed
from pipelines.models import Identity
from pipelines.services.access import identities, sessions
from pipelines.services.access.identities import Found, Subject
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

KEY = "oidc"
ATTEMPTS_AT_ONCE = 4
"""Of one browser: each tab may be at one."""
SECONDS = 600.0
ERROR = re.compile(r"[a-z_]{1,64}")


def begin(*, session: SessionBase, then: str, again: User | None = None) -> str:
    """The address at the provider where a sign-in goes on; what it has to come back with is kept in the session.
    `then`: where the user goes afterwards; `again`: the user of the session, who shows once more to be who it is.
    Raises NotFound, Invalid and SignInFailed."""
    if not is_local(then):
        raise Invalid("The address after the sign-in is not one of Headgate.", code="bad_next", hint="Send a path.")
    attempt = Attempt.new(fresh=again is not None)
    address = _provider().address(attempt)
    pending = [each for each in session.get(KEY, []) if each["began"] > time.time() - SECONDS]
    session[KEY] = [*pending[1 - ATTEMPTS_AT_ONCE :], asdict(attempt) | {"then": then, "again": again and again.pk}]
    if sessions.BEGAN not in session:
        session.set_expiry(int(SECONDS))
    return address


def complete(*, request: HttpRequest, answer: Mapping[str, str], actor: Actor) -> str:
    """Begin the session of the user whom the provider names; returns where the user wanted to go. Raises SignInFailed,
    and NotFound without a provider; an answer is good for one try."""
    provider, (attempt, then, again) = _provider(), _taken(request.session, answer.get("state", ""))
    if error := answer.get("error"):
        words = error if ERROR.fullmatch(error) else "an error"
        raise SignInFailed(
            f"The provider refused to sign you in: {words}.", code="refused_by_provider", hint="Try again."
        )
    limits = settings.HEADGATE
    claims = provider.claims(answer, attempt, {limits.oidc_groups_claim, limits.oidc_username_claim})
    subject = Subject(
        issuer=provider.issuer,
        subject=claims["sub"],
        username=username_of(claims, limits.oidc_username_claim),
        groups=groups_of(claims, limits.oidc_groups_claim),
        asked_at=claims.get("auth_time") or 0.0,
    )
    try:
        if again is None:
            _enter(request, subject, actor)
        else:
            _prove(request, subject, again, actor)
    except SignInFailed as failed:
        refused = {"method": "oidc", "issuer": subject.issuer, "subject": subject.subject, "reason": failed.code}
        action = sessions.ACTION if again is None else sessions.AGAIN
        audit.record(actor=_named(actor, subject.username), action=action, after=refused, outcome=sessions.REFUSED)
        raise
    return then


@transaction.atomic
def _enter(request: HttpRequest, subject: Subject, actor: Actor) -> None:
    allowed = settings.HEADGATE.allowed_groups
    if allowed and allowed.isdisjoint(subject.groups):
        raise SignInFailed(
            "None of your groups at the provider may sign in to Headgate.",
            code="group_not_allowed",
            hint="Ask an administrator; HEADGATE_OIDC_ALLOWED_GROUPS lists the groups.",
        )
    found: Found = identities.find(subject)
    sessions.begin(request, found.user, sessions.PROVIDER, proven=subject.asked_at)
    after = {
        "method": "oidc",
        "issuer": subject.issuer,
        "subject": subject.subject,
        "created": found.created,
        "joined": found.joined,
        "left": found.left,
    }
    audit.record(actor=_named(actor, found.user.username), action=sessions.ACTION, after=after)


@transaction.atomic
def _prove(request: HttpRequest, subject: Subject, again: int, actor: Actor) -> None:
    """Note that the user of the session, and no other one, has signed in again."""
    identity = Identity.objects.filter(issuer=subject.issuer, subject=subject.subject, user__is_active=True).first()
    if identity is None or not identity.user_id == again == request.user.pk:
        raise SignInFailed(
            "Another user than that of this session has signed in.",
            code="another_user",
            hint="Sign in as the user of this session, or log out first.",
        )
    sessions.note_proof(request.session)
    named = _named(actor, identity.user.username)
    audit.record(actor=named, action=sessions.AGAIN, after={"method": "oidc", "subject": subject.subject})


def _named(actor: Actor, name: str | None) -> Actor:
    return Actor(name or "unknown", actor.address, actor.request_id)


def _taken(session: SessionBase, state: str) -> tuple[Attempt, str, int | None]:
    """The attempt that this browser began with this state; it is taken out, so that no answer is used twice."""
    pending = session.get(KEY, [])
    if pending:
        session[KEY] = [each for each in pending if each["state"] != state]
    for each in pending:
        if each["state"] == state and each["began"] > time.time() - SECONDS:
            fields = dict(each)
            then, again = fields.pop("then"), fields.pop("again")
            return Attempt(**fields), then, again
    raise SignInFailed(
        "This browser did not start this sign-in, or took longer than ten minutes.",
        code="sign_in_not_begun",
        hint="Sign in again from the page of Headgate.",
    )


def _provider() -> Provider:
    """The provider that is set up. Raises NotFound, and SignInFailed where its secret cannot be read."""
    limits = settings.HEADGATE
    if not limits.oidc_issuer:
        raise NotFound("No provider is set up.", code="no_provider", hint="An administrator sets HEADGATE_OIDC_ISSUER.")
    return Provider(
        issuer=limits.oidc_issuer,
        client_id=limits.oidc_client_id,
        client_secret=_client_secret(),
        scopes=limits.oidc_scopes,
        redirect_uri=f"{limits.public_url}/api/v1/session/oidc/callback",
    )


def _client_secret() -> str:
    limits = settings.HEADGATE
    if limits.oidc_client_secret_file is None:
        return limits.oidc_client_secret.get_secret_value() if limits.oidc_client_secret else ""
    file = limits.oidc_client_secret_file
    try:
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise _unusable(f"{file} can be read by other users of the machine")
        return str(file.read_text().strip())
    except OSError:
        raise _unusable(f"{file} cannot be read") from None


def _unusable(reason: str) -> SignInFailed:
    return SignInFailed(
        f"The secret of the provider is not used: {reason}.",
        code="provider_not_set_up",
        hint="An administrator makes it readable by the user of Headgate alone: chmod 600.",
    )
