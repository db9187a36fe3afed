"""The commands of `headgate`. What a command needs is imported when it runs, so that --help is quick."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from controlplane.cli.access import secrets
from controlplane.cli.base.errors import MEANINGS, CommandError, ExitCode
from controlplane.cli.base.session import AsJson, Session
from controlplane.cli.definitions import catalogue, definitions, importing, rehearsing
from controlplane.cli.hosts import hosts
from controlplane.cli.ledger import records
from controlplane.cli.lifecycle import lifecycle
from controlplane.cli.migration import evacuating, migrating, rules
from controlplane.cli.monitoring import alerts, watching, webhooks
from controlplane.cli.positions import positions
from controlplane.cli.positions.reconciling import reconcile
from controlplane.cli.reprocessing import dead_letters, replaying
from controlplane.cli.reprocessing.quarantine import quarantine
from controlplane.cli.runs import stacks
from controlplane.cli.server import app as server

DEFAULT_URL = "http://127.0.0.1:8000"

EPILOG = "Exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."


class Commands(TyperGroup):
    """Shows expected failures in words and ends with their exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except CommandError as error:
            from controlplane.cli.base.output import show_error

            show_error(error, as_json=ctx.obj.as_json)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None


app = typer.Typer(
    name="headgate",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    ctx: typer.Context,
    url: Annotated[
        str, typer.Option("--url", envvar="HEADGATE_URL", help="The server's address.", metavar="URL")
    ] = DEFAULT_URL,
) -> None:
    """Define, start, pause, stop and watch streaming pipelines. HEADGATE_TOKEN is the token to log in with."""
    import os

    ctx.obj = ctx.obj or Session(url=url, token=os.environ.get("HEADGATE_TOKEN", "").strip())


def version(as_json: AsJson = False) -> None:
    """Print the version of this program."""
    from importlib.metadata import version as version_of

    from controlplane.cli.base import output

    number = version_of("headgate")
    output.write_json({"version": number}) if as_json else output.say(f"headgate {number}")


app.command()(definitions.validate)
app.command()(definitions.apply)
app.command("list")(definitions.list_pipelines)
app.command()(definitions.show)
app.command()(lifecycle.start)
app.command()(lifecycle.pause)
app.command()(lifecycle.resume)
app.command()(lifecycle.stop)
app.command("force-stop")(lifecycle.force_stop)
app.command()(lifecycle.restart)
app.command("declare-lost")(hosts.declare_lost)
app.command()(records.status)
app.command()(watching.lag)
app.command()(records.ledger)
app.command()(records.runs)
app.command()(records.logs)
app.command()(stacks.stacks)
app.command()(records.events)
app.add_typer(alerts.app, name="alerts")
app.add_typer(watching.groups, name="watch-group")
app.command()(replaying.replay)
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(positions.app, name="positions")
app.add_typer(migrating.app, name="migrate")
app.add_typer(migrating.files, name="migrations")
app.command()(evacuating.evacuate)
app.add_typer(evacuating.app, name="evacuations")
app.add_typer(rules.freezes, name="freezes")
app.add_typer(rules.policies, name="approval-policies")
app.command()(quarantine)
app.command()(reconcile)
app.command()(rehearsing.rehearse)
app.command("import-flume")(importing.import_flume)
app.command()(catalogue.components)
app.add_typer(hosts.app, name="hosts")
app.add_typer(secrets.app, name="secrets")
app.add_typer(webhooks.app, name="webhooks")
app.command()(version)
app.add_typer(server.app)


def main() -> None:
    """The entry point of the program."""
    app()
