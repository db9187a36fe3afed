"""Signing in: its settings, which are a part of the environment, and what the claims of a provider mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr, ValidationInfo, field_validator

from pipelines.domain.base.values import seconds

GROUP_PREFIX = "oidc:"
"""Before the names of groups that come from a provider: it cannot name a group that was made here."""
MOST_GROUPS = 200
LONGEST_NAME = 150
USER_NAME = re.compile(r"[\w.@+-]{1,150}")


def _is_a_duration(value: str) -> str:
    if not seconds(value):
        raise ValueError("is no time at all; write for example 8h")
    return value


DurationText = Annotated[str, AfterValidator(_is_a_duration)]


class SignInSettings(BaseModel):
    """`session_idle`: how long a session lasts without a user at it; `session_lifetime`: how long at most;
    `reauth_seconds`: for how long a log-in permits what is dangerous. `token_days`: how many days a token made in the
    dashboard or by the API holds at most. `require_mfa`: who needs a second factor beside a
    password.
    `oidc_issuer`: the OpenID Connect provider; the others of its kind say how Headgate is registered there, which
    claims name user and groups, what the button says, and whose groups may sign in."""

    session_idle: DurationText = "8h"
    session_lifetime: DurationText = "7d"
    reauth_seconds: int = Field(default=900, ge=10, le=86400)
    token_days: int = Field(default=365, ge=1, le=3660)
    require_mfa: Literal["none", "admins", "all"] = "none"
    oidc_issuer: str = ""
    oidc_client_id: str = Field(default="", validate_default=True)
    oidc_client_secret: SecretStr | None = None
    oidc_client_secret_file: Path | None = None
    oidc_scopes: str = "openid profile email"
    oidc_username_claim: str = "preferred_username"
    oidc_groups_claim: str = "groups"
    oidc_allowed_groups: str = ""
    oidc_button: str = Field(default="Sign in with single sign-on", min_length=1, max_length=60)

    @field_validator("oidc_issuer")
    @classmethod
    def _is_an_issuer(cls, value: str) -> str:
        parts = urlsplit(value)
        is_address = parts.hostname and parts.scheme in {"https", "http"}
        if value and (not is_address or parts.query or parts.fragment):
            raise ValueError("is not the address of an issuer, such as https://id.example.com/realms/main")
        if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            raise ValueError("must begin with https://, unless the provider is on this machine")
        return value

    @field_validator("oidc_client_id")
    @classmethod
    def _is_registered(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("oidc_issuer") and not value:
            raise ValueError("is required with HEADGATE_OIDC_ISSUER: the id that the provider knows Headgate by")
        return value

    @field_validator("oidc_client_secret_file")
    @classmethod
    def _is_the_only_place_of_the_secret(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is not None and info.data.get("oidc_client_secret") is not None:
            raise ValueError("and HEADGATE_OIDC_CLIENT_SECRET are both set; set one of them")
        return value

    @field_validator("oidc_scopes")
    @classmethod
    def _asks_for_an_identity(cls, value: str) -> str:
        if "openid" not in value.split():
            raise ValueError("must have openid among its scopes, separated by spaces")
        return value

    @property
    def session_idle_seconds(self) -> float:
        """`session_idle` in seconds."""
        return seconds(self.session_idle)

    @property
    def session_lifetime_seconds(self) -> float:
        """`session_lifetime` in seconds."""
        return seconds(self.session_lifetime)

    @property
    def allowed_groups(self) -> frozenset[str]:
        """Groups of the provider of which a user needs one; without any, all of its users may sign in."""
        return frozenset(each.strip() for each in self.oidc_allowed_groups.split(",") if each.strip())


def groups_of(claims: Mapping[str, Any], claim: str) -> list[str]:
    """The groups that the provider says the user is in. What is no list of names names none, and what is longer than
    any real list is cut."""
    found = claims.get(claim)
    names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    usable = {each for each in names if isinstance(each, str) and 0 < len(each) <= LONGEST_NAME - len(GROUP_PREFIX)}
    return sorted(each for each in usable if each.isprintable())[:MOST_GROUPS]


def username_of(claims: Mapping[str, Any], claim: str) -> str | None:
    """The name that a new user gets; None where the claim has none that can be one."""
    found = claims.get(claim)
    name = unicodedata.normalize("NFKC", found) if isinstance(found, str) else ""
    return name if USER_NAME.fullmatch(name) else None


def is_local(path: str) -> bool:
    """Whether an address to go on to is one of this server: a path, whatever a browser makes of it."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
