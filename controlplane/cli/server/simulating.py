"""How the control plane does with many hosts and pipelines, before you have them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.server.running import import_where_this_process_does

HOURS = 4


def simulate(
    hosts: Annotated[int, typer.Option(min=2, max=200, help="Hosts.")] = 20,
    pipelines: Annotated[int, typer.Option(min=1, max=100_000, help="Pipelines.")] = 10_000,
    lose: Annotated[int, typer.Option(min=0, max=100, help="Hosts that are lost at once.")] = 3,
    rest: Annotated[int, typer.Option(min=0, max=3600, help="Seconds between two batches of a pipeline.")] = 60,
    at_once: Annotated[int, typer.Option(min=1, max=50, help="Migrations of the evacuation at a time.")] = 50,
    database_url: Annotated[
        str,
        typer.Option(
            envvar="HEADGATE_SIMULATION_DATABASE_URL",
            help="An empty PostgreSQL database; without it, a temporary SQLite file. A URL with a password belongs in "
            "HEADGATE_SIMULATION_DATABASE_URL: every user of the machine sees command lines.",
        ),
    ] = "",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report to a file.")] = None,
) -> None:
    """Simulate a fleet on this machine: start every pipeline, evacuate a host, lose hosts, and report on each phase.

    Supervisors, services and the database are the real ones; hosts and agents are simulated. Nothing of this
    installation is touched. 20 hosts with 10,000 pipelines take about an hour.
    """
    if lose > hosts - 2:
        raise CommandError(
            f"{lose} of {hosts} hosts cannot be lost: one is evacuated, and one has to remain.",
            hint=f"Use --lose {hosts - 2} or less.",
            code="too_many_lost",
            exit_code=ExitCode.USAGE,
        )
    plan = {"hosts": hosts, "pipelines": pipelines, "lose": lose, "rest": rest, "at_once": at_once}
    page = _page(plan, database_url)
    if out is None:
        typer.echo(page, nl=False)
    else:
        out.write_text(page)
        typer.echo(f"The report is in {out}.")


def _page(plan: dict[str, int], database_url: str) -> str:
    from controlplane.install.services.interrupt import end_in_order_on_signals
    from controlplane.install.services.redis import running_redis
    from controlplane.install.tools.errors import SetupError

    import_where_this_process_does()
    end_in_order_on_signals()
    with tempfile.TemporaryDirectory(prefix="headgate-simulation-", ignore_cleanup_errors=True) as work:
        try:
            with running_redis(Path(work) / "redis") as redis_url:
                ended = _child(plan, Path(work), redis_url, database_url)
        except SetupError as error:
            raise CommandError(error.message, hint=error.hint, code="not_set_up") from error
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"The simulation did not end within {HOURS} hours.",
                hint="Simulate fewer pipelines.",
                code="simulation_failed",
                exit_code=ExitCode.TIMED_OUT,
            ) from None
    if ended.returncode:
        raise CommandError("The simulation failed.", "The lines above say where.", code="simulation_failed")
    return ended.stdout


def _child(plan: dict[str, int], work: Path, redis_url: str, database_url: str) -> subprocess.CompletedProcess[str]:
    state = work / "state"
    state.mkdir(mode=0o700)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    environment = {
        **inherited,
        "HEADGATE_STATE": str(state),
        "HEADGATE_HOST": "simulation",
        "HEADGATE_REDIS_URL": redis_url,
        "HEADGATE_LOG_LEVEL": "ERROR",
        **({"HEADGATE_DATABASE_URL": database_url, "HEADGATE_SECRET_KEY": token_urlsafe(50)} if database_url else {}),
    }
    command = [sys.executable, "-m", "controlplane.simulation", json.dumps(plan)]
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, timeout=HOURS * 3600, check=False
    )
