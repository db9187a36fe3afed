"""What the page knows before anybody has signed in, and about the session afterwards."""

from __future__ import annotations

from pipelines.selectors.base.schemas import Schema


class SignInAddressSchema(Schema):
    """Where the browser goes on to sign in."""

    url: str


class ProviderSchema(Schema):
    """The OpenID Connect provider; `button`: the label of the button that leads to it."""

    button: str


class SignInProblemSchema(Schema):
    """Why the last sign-in at the provider failed. Told once."""

    code: str
    detail: str
    hint: str
