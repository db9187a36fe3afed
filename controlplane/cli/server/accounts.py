"""Users, their tokens, and the keys of the secret store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.server.running import manage, options

ROLES = "viewer, operator, approver or admin"
User = Annotated[str, typer.Argument(metavar="USER", help="The name of the user.")]


def create_user(
    user: User,
    role: Annotated[str | None, typer.Option(metavar="ROLE", help=f"{ROLES}; by default viewer.")] = None,
    team: Annotated[
        str | None, typer.Option(metavar="TEAM", help="The role counts in this team; by default in all.")
    ] = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="The user has tokens alone and cannot log in to the page.")
    ] = False,
    keep_tokens: Annotated[
        bool, typer.Option("--keep-tokens", help="Keep the tokens of a user whose password changes valid.")
    ] = False,
) -> None:
    """Create a user, or change the password and the role of one. A changed password revokes the user's tokens.

    The password is asked for, or read from the environment variable HEADGATE_PASSWORD.
    """
    manage("create_user", user, *options(role=role, team=team, no_password=no_password, keep_tokens=keep_tokens))


def create_token(
    user: User,
    role: Annotated[
        str | None, typer.Option(metavar="ROLE", help=f"Give the user this role ({ROLES}); create the user if needed.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the token is for.")] = None,
    expires_days: Annotated[
        int | None, typer.Option(min=1, help="Days until the token expires; by default 90.")
    ] = None,
    never_expires: Annotated[
        bool, typer.Option("--never-expires", help="The token is valid until it is revoked.")
    ] = False,
) -> None:
    """Create an API token and print it. It is printed once: the database has its hash alone."""
    manage("create_token", user, *options(role=role, name=name, expires_days=expires_days, never_expires=never_expires))


def link_user(
    user: User,
    subject: Annotated[str, typer.Option(metavar="SUBJECT", help="What the provider calls the user: the claim `sub`.")],
    issuer: Annotated[str | None, typer.Option(metavar="URL", help="By default HEADGATE_OIDC_ISSUER.")] = None,
) -> None:
    """Let a user of the OpenID Connect provider sign in as a user who exists.

    Without it, a user of the provider becomes a new user, and is refused where the name is taken.
    """
    manage("link_user", user, *options(subject=subject, issuer=issuer))


def reset_second_factor(user: User) -> None:
    """Remove the authenticator application and the recovery codes of a user who has lost them."""
    manage("reset_second_factor", user)


def add_secret_key(
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another file than that of this installation.")
    ] = None,
) -> None:
    """Add a key to the secret store's key file; it becomes the current key. The file is created if needed."""
    manage("add_secret_key", *options(file=file))
