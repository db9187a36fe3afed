"""Commands about the secret store. A value is never an argument, since other users can read a command line."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import quote

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.inputs import read_text
from controlplane.cli.base.session import Limit, OwnerTeam, Session

MAX_BYTES = 256 * 1024

SecretName = Annotated[str, typer.Argument(help="The secret's name.", metavar="NAME")]
FromFile = Annotated[
    str | None, typer.Option("--from-file", metavar="FILE", help="Read the value from a file; - for standard input.")
]

Pipelines = Annotated[
    list[str] | None,
    typer.Option(
        "--pipeline",
        metavar="NAME",
        help="A pipeline that may use it: a name, orders-*, consumer-groups/NAME, or, of a team, label:key=value. "
        "Repeatable.",
    ),
]
Destinations = Annotated[
    list[str] | None,
    typer.Option(
        "--destination",
        metavar="HOST:PORT",
        help="Where it may go: HOST:PORT, *.example.com:*, 10.0.0.0/8:9092, or a type such as sink/http. Repeatable.",
    ),
]


class Purpose(StrEnum):
    """Who uses a secret; names are of a purpose."""

    PIPELINES = "pipelines"
    RECEIVERS = "receivers"
    CLUSTERS = "clusters"


For = Annotated[Purpose, typer.Option("--for", help="Who uses it; each has names of its own.")]

app = Group("Store secrets that definitions refer to as ${secret:NAME}. Stored values cannot be read back.")


@app.verb("set")
def set_secret(
    session: Session,
    name: SecretName,
    from_file: FromFile = None,
    pipeline: Pipelines = None,
    destination: Destinations = None,
    purpose: For = Purpose.PIPELINES,
    team: OwnerTeam = None,
) -> None:
    """Store a value from a prompt without echo, from standard input, or from a file without its last line feed. A new
    secret of pipelines names them, and where it may go. Names such as vault:kv/shop#password, env:NAME and file:NAME
    bind what is kept there, without a value."""
    client = session.client()
    if _is_kept_elsewhere(name):
        if from_file is not None:
            raise CommandError.of_usage(f"The value of {name} is kept elsewhere: leave out --from-file")
        value = {}
    else:
        value = {"value": _value(name, from_file)}
    owner = {"team": team} if team else {}
    _print(session, client.put(_path(name), {**value, "purpose": purpose, **owner, **_lists(pipeline, destination)}))


def _is_kept_elsewhere(name: str) -> bool:
    return ":" in name


@app.verb()
def bind(
    session: Session,
    name: SecretName,
    pipeline: Pipelines = None,
    destination: Destinations = None,
    only: Annotated[
        bool, typer.Option("--only", help="Replace what it was bound to, in each list named here.")
    ] = False,
    team: Annotated[
        str | None, typer.Option("--team", metavar="TEAM", help="Let this team have a secret of the installation.")
    ] = None,
) -> None:
    """Let further pipelines use a secret of pipelines, or let it go to further destinations, or let a team have it."""
    lists = _lists(pipeline, destination)
    if not lists and team is None:
        raise CommandError.of_usage("bind needs --pipeline, --destination or --team")
    client = session.client()
    if lists and not only:
        lists = _added(name, lists, client.pages("secrets"))
    _print(session, client.patch(_path(name), {**lists, **({"team": team} if team else {})}))


def _added(name: str, lists: dict[str, list[str]], known: list[dict[str, Any]]) -> dict[str, list[str]]:
    found = next((each for each in known if (each["name"], each["purpose"]) == (name, "pipelines")), None)
    if found is None:
        _require_known(name, [each["name"] for each in known if each["purpose"] == "pipelines"])
    return {key: [*(found or {}).get(key, []), *named] for key, named in lists.items()}


def _lists(pipelines: list[str] | None, destinations: list[str] | None) -> dict[str, list[str]]:
    return {key: named for key, named in (("pipelines", pipelines), ("destinations", destinations)) if named}


@app.verb("list")
def list_secrets(
    session: Session,
    team: Annotated[str | None, typer.Option("--team", help="Only those of this team.")] = None,
    limit: Limit = 1000,
) -> None:
    """List secrets with what they are bound to, what refers to them, their age and their last use."""
    from controlplane.cli.base import output

    found = session.client().pages("secrets", team=team, limit=limit)
    if session.printed(found):
        return
    facts = ("name", "team", "for", "version", "age", "by", "readable")
    columns = (*facts, "pipelines", "destinations", "used by", "last use")
    empty = output.none("secrets", (team,), "Store one: headgate secrets set NAME")
    output.table(columns, map(_row, found), empty=empty)


def _row(secret: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    readable = {True: "yes", False: "NO", None: None}[secret["readable"]]
    users = [*secret["used_by"], *(f"receiver {number}" for number in secret["receivers"])]
    used_by = ", ".join(f"{user} (outdated)" if user in secret["outdated"] else user for user in users)
    plain = [f"{server} (unencrypted)" for server in secret["unencrypted"]]
    return (
        secret["name"],
        secret["team"],
        secret["purpose"],
        secret["version"] or None,
        ago(secret["updated_at"]),
        secret["updated_by"],
        readable,
        ", ".join(secret["pipelines"]),
        ", ".join([*secret["destinations"], *plain]),
        used_by,
        f"{ago(secret['last_used_at'])} by {secret['last_used_by']}" if secret["last_used_at"] else None,
    )


@app.verb()
def rotate(
    session: Session,
    name: Annotated[str | None, typer.Argument(help="The secret that receives a new value.", metavar="[NAME]")] = None,
    from_file: FromFile = None,
    purpose: For = Purpose.PIPELINES,
) -> None:
    """Give a secret a new value, read as by `set`. Without NAME: encrypt all secrets with the current key."""
    client = session.client()
    if name is None:
        if from_file is not None:
            raise CommandError.of_usage("--from-file needs the NAME of a secret")
        _rotate_keys(session, client)
        return
    if _is_kept_elsewhere(name):
        raise CommandError.of_usage(f"The value of {name} is kept elsewhere: change it there")
    _require_known(name, [secret["name"] for secret in client.pages("secrets") if secret["purpose"] == purpose])
    _print(session, client.put(_path(name), {"value": _value(name, from_file), "purpose": purpose}))


def _require_known(name: str, known: list[str]) -> None:
    from pipelines.domain.base.findings import did_you_mean

    if name not in known:
        hint = did_you_mean(name, known, otherwise="`headgate secrets set` stores a new secret.")
        raise CommandError(f"There is no secret {name}", hint=hint, code="secret_not_found")


def _rotate_keys(session: Session, client: Any) -> None:
    from controlplane.cli.base import output

    _, done = client.post("secrets/rotate", {})
    unreadable = done["unreadable"]
    if not session.printed(done):
        output.print_line(f"Encrypted with the current key: {done['rotated']}.")
        if unreadable:
            output.print_line(f"No key decrypts {', '.join(unreadable)}. Add the key that encrypted them,")
            output.print_line("or store new values with `headgate secrets rotate NAME`.")
    if unreadable:
        raise typer.Exit(ExitCode.FAILED)


@app.verb()
def remove(
    session: Session,
    name: SecretName,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Remove it although pipelines refer to it. Running pipelines continue; later starts are refused.",
        ),
    ] = False,
    purpose: For = Purpose.PIPELINES,
) -> None:
    """Remove a secret permanently. Refused while the current definition of a pipeline refers to it."""
    from controlplane.cli.base import output

    session.client().delete(_path(name), force="true" if force else None, purpose=purpose)
    if not session.printed({"name": name, "result": "removed"}):
        output.print_line(f"{name}: removed")


def _print(session: Session, secret: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if session.printed(secret):
        return
    output.print_line(f"{secret['name']}: {_version(secret)}")
    if secret["pipelines"]:
        to, by = ", ".join(secret["destinations"]), ", ".join(secret["pipelines"])
        output.print_line(f"It goes to {to}, for {by}.")
    if users := secret["used_by"]:
        read = "reads it at its" if len(users) == 1 else "read it at their"
        output.print_line(f"{', '.join(users)} {read} next start.")


def _version(secret: dict[str, Any]) -> str:
    kept = "" if secret["backend"] == "store" else f"kept in {secret['backend']}"
    return ", ".join(filter(None, [f"version {secret['version']}" if secret["version"] else "", kept]))


def _path(name: str) -> str:
    """The address of a secret; a name with other characters cannot lead elsewhere."""
    return f"secrets/{quote(name, safe='')}"


def _value(name: str, from_file: str | None) -> str:
    if from_file is None and _at_a_terminal():
        value: str = typer.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True, err=True)
        return value
    return read_text(from_file or "-", most=MAX_BYTES, what="a secret").removesuffix("\n").removesuffix("\r")


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()
