"""The commands of `headgate`. What a command needs is imported when it runs, so that --help is quick."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from controlplane.cli.access import clusters, reach, secrets, teams, tokens, users
from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import MEANINGS, CommandError, ExitCode
from controlplane.cli.base.session import Session
from controlplane.cli.definitions import components, connect, definitions, flume, rehearsing, templates
from controlplane.cli.diagnostics import diagnose, installation
from controlplane.cli.governance import read_only, requests
from controlplane.cli.guide import guide
from controlplane.cli.hosts import hosts, reconciling
from controlplane.cli.ledger import ledger, topology
from controlplane.cli.lifecycle import fleet, lifecycle, status
from controlplane.cli.migration import evacuations, migrations, rules
from controlplane.cli.monitoring import alerts, consumer_groups, events, history, lag, receivers, silences
from controlplane.cli.peek import peek
from controlplane.cli.positions import positions
from controlplane.cli.preview import preview, testing
from controlplane.cli.reprocessing import dead_letters, quarantine, replays
from controlplane.cli.runs import logs, runs
from controlplane.cli.server import app as server
from controlplane.cli.trace import trace

DEFAULT_URL = "http://127.0.0.1:8000"

EPILOG = "Exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."


class Panel(StrEnum):
    """The groups of commands in the help, in their order."""

    PIPELINES = "Pipelines"
    DEFINITIONS = "Definitions"
    DATA = "Data"
    CHANGES = "Changes"
    HOSTS = "Hosts"
    MONITORING = "Monitoring"
    ACCESS = "Access"
    SERVER = "Server"


class Commands(TyperGroup):
    """Prints expected failures and ends with their exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, by panel."""
        order, commands = list(Panel), dict[str, Any](self.commands)
        return sorted(commands, key=lambda name: order.index(commands[name].rich_help_panel))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except CommandError as error:
            from controlplane.cli.base.output import show_error

            show_error(error, ctx.obj.format)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except Exception as error:
            _suggest_options(error)
            raise


def _suggest_options(error: Exception) -> None:
    """Word the suggestions of an unknown option like those of an unknown command. Typer's class of it is private."""
    if possible := getattr(error, "possibilities", None):
        error.message = f"{error.message}. Did you mean {', '.join(map(repr, possible))}?"  # type: ignore[attr-defined]
        error.possibilities = None  # type: ignore[attr-defined]


app = Group(
    "Define, run, migrate and monitor streaming pipelines. The environment variable HEADGATE_TOKEN has your API token.",
    name="headgate",
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"headgate {version('headgate')}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    url: Annotated[
        str, typer.Option("--url", envvar="HEADGATE_URL", help="The server's address.", metavar="URL")
    ] = DEFAULT_URL,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the options of all commands."""
    import os

    ctx.obj = ctx.obj or Session(url=url, token=os.environ.get("HEADGATE_TOKEN", "").strip())


app.verb("list", panel=Panel.PIPELINES)(definitions.list_pipelines)
app.verb(panel=Panel.PIPELINES)(definitions.show)
app.verb(panel=Panel.PIPELINES)(status.status)
app.verb(panel=Panel.PIPELINES)(fleet.fleet)
app.verb(panel=Panel.PIPELINES)(lifecycle.start)
app.verb(panel=Panel.PIPELINES)(lifecycle.pause)
app.verb(panel=Panel.PIPELINES)(lifecycle.resume)
app.verb(panel=Panel.PIPELINES)(lifecycle.stop)
app.verb(panel=Panel.PIPELINES)(lifecycle.force_stop)
app.verb(panel=Panel.PIPELINES)(lifecycle.restart)
app.verb(panel=Panel.PIPELINES)(logs.logs)
app.noun(runs.app, "runs", panel=Panel.PIPELINES)
app.text_verb(panel=Panel.PIPELINES)(diagnose.diagnose)

app.verb(panel=Panel.DEFINITIONS)(definitions.validate)
app.verb(panel=Panel.DEFINITIONS)(definitions.diff)
app.verb(panel=Panel.DEFINITIONS)(definitions.apply)
app.verb(panel=Panel.DEFINITIONS)(rehearsing.rehearse)
app.verb(panel=Panel.DEFINITIONS)(preview.preview)
app.verb("test", panel=Panel.DEFINITIONS)(testing.run)
app.noun(components.app, "components", panel=Panel.DEFINITIONS)
app.noun(flume.app, "flume", panel=Panel.DEFINITIONS)
app.noun(connect.app, "connect", panel=Panel.DEFINITIONS)
app.noun(templates.app, "templates", panel=Panel.DEFINITIONS)
app.noun(reach.roots, "allowed-roots", panel=Panel.DEFINITIONS)
app.noun(reach.networks, "allowed-networks", panel=Panel.DEFINITIONS)
app.noun(secrets.app, "secrets", panel=Panel.DEFINITIONS)

app.verb(panel=Panel.DATA)(ledger.ledger)
app.verb(panel=Panel.DATA)(topology.topology)
app.verb(panel=Panel.DATA)(peek.peek)
app.verb(panel=Panel.DATA)(trace.trace)
app.noun(positions.app, "positions", panel=Panel.DATA)
app.noun(replays.app, "replays", panel=Panel.DATA)
app.noun(dead_letters.app, "dead-letters", panel=Panel.DATA)
app.noun(quarantine.app, "quarantine", panel=Panel.DATA)

app.noun(migrations.app, "migrations", panel=Panel.CHANGES)
app.noun(requests.app, "requests", panel=Panel.CHANGES)
app.noun(rules.freezes, "freezes", panel=Panel.CHANGES)
app.noun(rules.policies, "approval-policies", panel=Panel.CHANGES)

app.noun(hosts.app, "hosts", panel=Panel.HOSTS)
app.noun(clusters.app, "clusters", panel=Panel.HOSTS)
hosts.app.verb()(evacuations.evacuate)
hosts.app.noun(evacuations.app, "evacuations")
hosts.app.verb()(reconciling.reconcile)

app.verb(panel=Panel.MONITORING)(events.events)
app.verb(panel=Panel.MONITORING)(lag.lag)
app.verb(panel=Panel.MONITORING)(history.history)
app.noun(alerts.app, "alerts", panel=Panel.MONITORING)
app.noun(consumer_groups.app, "consumer-groups", panel=Panel.MONITORING)
app.noun(receivers.app, "receivers", panel=Panel.MONITORING)
app.noun(silences.app, "silences", panel=Panel.MONITORING)

app.verb(panel=Panel.SERVER)(installation.installation)
app.noun(read_only.app, "read-only", panel=Panel.SERVER)
app.noun(guide.app, "guide", panel=Panel.SERVER)

app.noun(tokens.app, "tokens", panel=Panel.ACCESS)
app.noun(users.app, "users", panel=Panel.ACCESS)
app.noun(teams.app, "teams", panel=Panel.ACCESS)

app.add_typer(server.app)


def main() -> None:
    """The entry point of the program."""
    app()
