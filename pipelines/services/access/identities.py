"""Users who sign in at a provider: found by issuer and subject, with the groups that the provider says they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from pipelines.domain.access.sign_in import GROUP_PREFIX
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.foundation.sign_in.oidc import SignInFailed
from pipelines.models import Identity
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor


@dataclass(frozen=True)
class Subject:
    """What a provider says of a user; `username` is None where it names none that can be used. `asked_at`: when it last
    asked the user for a proof, 0 where it does not say; whoever is signed in there comes back without a question."""

    issuer: str
    subject: str
    username: str | None
    groups: Sequence[str]
    asked_at: float


@dataclass(frozen=True)
class Found:
    """The user of a subject, and what of it is new, for the audit."""

    user: User
    created: bool
    joined: Sequence[str]
    left: Sequence[str]


@transaction.atomic
def find(subject: Subject) -> Found:
    """The user of this subject, with the subject's groups and no others of a provider; a new subject becomes a new
    user. Raises SignInFailed where its name is that of another user, or the user is disabled."""
    identity = Identity.objects.select_related("user").filter(issuer=subject.issuer, subject=subject.subject).first()
    user = identity.user if identity else _create(subject)
    if not user.is_active:
        raise SignInFailed(
            f"The user {user.username} is disabled.", code="user_disabled", hint="Ask an administrator to enable it."
        )
    Identity.objects.filter(issuer=subject.issuer, subject=subject.subject).update(used_at=clock.now())
    joined, left = _synchronize(user, subject.groups)
    return Found(user, identity is None, joined, left)


@transaction.atomic
def link(*, username: str, issuer: str, subject: str, actor: Actor) -> Identity:
    """Let the subject of a provider sign in as a user who exists. Raises NotFound, and Conflict where it is another
    user's."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound(f"There is no user {username}.", code="user_not_found")
    identity, created = Identity.objects.get_or_create(
        issuer=issuer, subject=subject, defaults={"user": user, "created_at": clock.now()}
    )
    if identity.user_id != user.pk:
        raise Conflict(f"{subject} signs in as {identity.user.username} already.", code="identity_taken")
    if created:
        after = {"user": username, "issuer": issuer, "subject": subject}
        audit.record(actor=actor, action="user.linked", after=after)
    return identity


def _create(subject: Subject) -> User:
    if subject.username is None:
        raise SignInFailed(
            "The provider sent no name that a user can have.",
            code="no_username",
            hint="Ask an administrator to set HEADGATE_OIDC_USERNAME_CLAIM to a claim that names users.",
        )
    if User.objects.filter(username__iexact=subject.username).exists():
        raise _taken(subject)
    user = User(username=subject.username)
    user.set_unusable_password()
    try:
        with transaction.atomic():
            user.save()
            Identity.objects.create(user=user, issuer=subject.issuer, subject=subject.subject, created_at=clock.now())
    except IntegrityError:  # the same sign-in came twice, or another user of this name was made in this instant
        raise _taken(subject) from None
    return user


def _taken(subject: Subject) -> SignInFailed:
    return SignInFailed(
        f"There is a user {subject.username} who does not sign in at this provider.",
        code="username_taken",
        hint="If it is you, ask an administrator to run "
        f"`headgate link-user {subject.username} --subject {subject.subject}`.",
    )


def _synchronize(user: User, groups: Sequence[str]) -> tuple[list[str], list[str]]:
    """Make the user's groups of providers those named; returns what was joined and left."""
    wanted = {GROUP_PREFIX + name for name in groups}
    present = set(user.groups.filter(name__startswith=GROUP_PREFIX).values_list("name", flat=True))
    joined, left = sorted(wanted - present), sorted(present - wanted)
    known = set(Group.objects.filter(name__in=joined).values_list("name", flat=True))
    Group.objects.bulk_create([Group(name=name) for name in joined if name not in known], ignore_conflicts=True)
    user.groups.remove(*Group.objects.filter(name__in=left))
    user.groups.add(*Group.objects.filter(name__in=joined))
    return joined, left
