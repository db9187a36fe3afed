"""The commands of the server, to be added to those of the client."""

from __future__ import annotations

import typer

from controlplane.cli.server import accounts, audit, database, machine, processes, simulating, stack

PANEL = "Server"
ACCESS = "Access"

app = typer.Typer()
for command in (
    stack.demo,
    stack.up,
    machine.setup,
    processes.web,
    processes.worker,
    database.migrate_db,
    accounts.create_user,
    accounts.create_token,
    accounts.link_user,
    accounts.reset_second_factor,
    accounts.add_secret_key,
    database.backup,
    database.restore,
    simulating.simulate,
):
    app.command(rich_help_panel=PANEL)(command)
app.add_typer(audit.app, name="audit", rich_help_panel=ACCESS)
