"""Commands of the secret store: set, list, rotate, delete. A value is never an argument, since others could read it."""

from __future__ import annotations

import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.inputs import read_text
from controlplane.cli.base.session import AsJson, Limit, begin

MAX_BYTES = 256 * 1024

SecretName = Annotated[str, typer.Argument(help="The secret's name.", metavar="NAME")]
FromFile = Annotated[
    str | None, typer.Option("--from-file", metavar="FILE", help="Read the value from a file; - for standard input.")
]

app = typer.Typer(
    help="Store secrets that definitions refer to as ${secret:NAME}. Values go in and never come out.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("set")
def set_secret(ctx: typer.Context, name: SecretName, from_file: FromFile = None, as_json: AsJson = False) -> None:
    """Store a value: asked for without echo, or from standard input, or from a file without its last line feed."""
    client = begin(ctx, as_json=as_json)
    _show(client.put(_path(name), {"value": _value(name, from_file)}), as_json=as_json)


@app.command("list")
def list_secrets(ctx: typer.Context, limit: Limit = 1000, as_json: AsJson = False) -> None:
    """List names, versions and the pipelines whose current definitions refer to them."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).pages("secrets", limit=limit)
    if as_json:
        output.write_json(found)
        return
    columns = ("name", "version", "updated", "by", "readable", "used by")
    output.table(columns, map(_row, found), empty="No secrets. `headgate secrets set NAME` stores one.")


def _row(secret: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    readable = {True: "yes", False: "NO", None: None}[secret["readable"]]
    used_by = ", ".join(secret["used_by"])
    return secret["name"], secret["version"], ago(secret["updated_at"]), secret["updated_by"], readable, used_by


@app.command()
def rotate(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The secret to give a new value.", metavar="[NAME]")] = None,
    from_file: FromFile = None,
    as_json: AsJson = False,
) -> None:
    """Give a secret a new value, read as by `set`. Without NAME: encrypt all secrets anew under the current key."""
    client = begin(ctx, as_json=as_json)
    if name is None:
        if from_file is not None:
            raise CommandError("--from-file needs the NAME of a secret", code="usage", exit_code=ExitCode.USAGE)
        _rotate_keys(client, as_json=as_json)
        return
    if not any(secret["name"] == name for secret in client.pages("secrets")):
        hint = "`headgate secrets list` shows them; `headgate secrets set` stores a new one."
        raise CommandError(f"There is no secret {name}", hint=hint, code="secret_not_found")
    _show(client.put(_path(name), {"value": _value(name, from_file)}), as_json=as_json)


def _rotate_keys(client: Any, *, as_json: bool) -> None:
    from controlplane.cli.base import output

    _, done = client.post("secrets/rotate", {})
    unreadable = done["unreadable"]
    if as_json:
        output.write_json(done)
    else:
        output.say(f"{done['rotated']} under the current key.")
        if unreadable:
            output.say(f"No key reads {', '.join(unreadable)}: add the key again that they were stored under,")
            output.say("or give them new values with `headgate secrets rotate NAME`.")
    if unreadable:
        raise typer.Exit(ExitCode.FAILED)


@app.command()
def delete(
    ctx: typer.Context,
    name: SecretName,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Delete it although pipelines refer to it: what runs goes on, every later start is refused.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a secret for ever. Refused while the current definition of a pipeline refers to it."""
    from controlplane.cli.base import output

    begin(ctx, as_json=as_json).delete(_path(name), force="true" if force else None)
    output.write_json({"name": name, "result": "deleted"}) if as_json else output.say(f"{name}: deleted")


def _show(secret: dict[str, Any], *, as_json: bool) -> None:
    from controlplane.cli.base import output

    if as_json:
        output.write_json(secret)
        return
    output.say(f"{secret['name']}: version {secret['version']}")
    if users := secret["used_by"]:
        take = "takes it at its" if len(users) == 1 else "take it at their"
        output.say(f"{', '.join(users)} {take} next start.")


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
