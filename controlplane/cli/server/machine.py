"""What this machine needs beside the installed package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from controlplane.cli.server.running import import_where_this_process_does

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controlplane.provision.steps import Step


def setup() -> None:
    """Install what this machine needs: Java, the jars of Spark and Kafka, the start-up archive of the agents, Redis.

    What is there already is only checked. `demo` and `up` do this first; `worker` does what agents cannot start
    without.
    """
    from controlplane.provision.setup import HOST

    set_up(HOST)


def set_up(plan: Sequence[Step]) -> None:
    """Take these steps, and print each as it ends. Ends the process where one fails."""
    from controlplane.install.services.interrupt import end_in_order_on_signals
    from controlplane.provision import steps

    import_where_this_process_does()
    end_in_order_on_signals()
    typer.echo("Setting up this machine. The first time this takes a few minutes.")
    if code := steps.run(plan):
        raise typer.Exit(code)
