"""Reading users and tokens: facts for people, never a hash."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet
from pydantic import Field

from pipelines.domain.access.teams import access_from
from pipelines.domain.base.roles import Role, RoleWord
from pipelines.foundation import clock
from pipelines.models import AccessToken, Identity, Passkey, RoleBinding, Totp
from pipelines.selectors.base.schemas import Schema


class TokenSchema(Schema):
    """A token without its text. `id` is the beginning of its text; `role_cap`: the highest role that counts; `team`:
    where alone the user's role counts; `sees_records`: it shows what events hold, where its user may see that."""

    id: str
    name: str
    user: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = Field(description="Null: the token never expires.")
    expired: bool
    role_cap: str | None
    read_only: bool
    team: str | None
    sees_records: bool
    last_used_at: datetime | None = Field(description="To the minute.")
    last_used_address: str


class MadeTokenSchema(TokenSchema):
    """A token that was just made, with its `text`, which is shown this once."""

    text: str


class TeamRoleSchema(Schema):
    """A role in a team."""

    team: str
    role: RoleWord


class UserSchema(Schema):
    """A user. `role`: the one in every team, `teams`: those in single teams, both by the user's groups, too.
    `password`: logs in with one; `provider`: signs in at the OpenID Connect provider; `tokens`: how many there are."""

    username: str
    role: RoleWord | None
    teams: list[TeamRoleSchema]
    active: bool
    created_at: datetime
    last_login_at: datetime | None
    password: bool
    provider: bool
    second_factor: bool
    tokens: int


def users() -> QuerySet[User]:
    """Users with all that `user_schemas` shows of them."""
    bindings = RoleBinding.objects.select_related("team")
    confirmed = Totp.objects.filter(user=OuterRef("pk"), confirmed_at__isnull=False)
    return User.objects.prefetch_related(
        Prefetch("role_bindings", bindings), Prefetch("groups__role_bindings", bindings)
    ).annotate(
        token_count=Count("auth_token_set", distinct=True),
        has_identity=Exists(Identity.objects.filter(user=OuterRef("pk"))),
        has_totp=Exists(confirmed),
        has_passkey=Exists(Passkey.objects.filter(user=OuterRef("pk"))),
    )


def user_schemas(rows: Sequence[User]) -> list[UserSchema]:
    """Rows of `users` as the API shows them."""
    return [_user_schema(row) for row in rows]


def token_schemas(rows: Sequence[AccessToken]) -> list[TokenSchema]:
    """Tokens, read with their users, as the API shows them."""
    return [TokenSchema(**_facts(row)) for row in rows]


def made_token_schema(token: AccessToken, text: str) -> MadeTokenSchema:
    """A token with its text."""
    return MadeTokenSchema(**_facts(token), text=text)


def may_be_given_tokens(user: User) -> bool:
    """Whether others may make tokens of the user: it is no person, since it cannot log in."""
    return not user.has_usable_password() and not Identity.objects.filter(user=user).exists()


def _facts(row: AccessToken) -> dict[str, object]:
    return {
        "id": row.token_key,
        "name": row.name,
        "user": row.user.username,
        "created_at": row.created,
        "created_by": row.created_by,
        "expires_at": row.expiry,
        "expired": row.expiry is not None and row.expiry <= clock.now(),
        "role_cap": row.role_cap or None,
        "read_only": row.read_only,
        "team": row.team.name if row.team else None,
        "sees_records": row.sees_records,
        "last_used_at": row.last_used_at,
        "last_used_address": row.last_used_address,
    }


def _user_schema(row: User) -> UserSchema:
    bindings = [*row.role_bindings.all(), *(each for group in row.groups.all() for each in group.role_bindings.all())]
    access = access_from((each.team_id, each.role, each.sees_records) for each in bindings)
    role = Role.ADMIN if row.is_superuser else access.everywhere
    names = {each.team_id: each.team.name for each in bindings if each.team}
    return UserSchema(
        username=row.username,
        role=role.word if role else None,
        teams=sorted(
            (TeamRoleSchema(team=names[team], role=own.word) for team, own in access.teams.items()),
            key=lambda each: each.team,
        ),
        active=row.is_active,
        created_at=row.date_joined,
        last_login_at=row.last_login,
        password=row.has_usable_password(),
        provider=row.has_identity,  # type: ignore[attr-defined]
        second_factor=row.has_totp or row.has_passkey,  # type: ignore[attr-defined]
        tokens=row.token_count,  # type: ignore[attr-defined]
    )
