"""Commands about the guided demo: show, break."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session, Waiting, path

app = Group("Break the pipeline of `headgate demo` for real, and see how Headgate notices, explains and recovers.")

POLL_S = 1.0
DemoName = Annotated[str, typer.Option("--pipeline", help="The demo's pipeline.", metavar="NAME")]


@app.verb()
def show(session: Session, pipeline: DemoName = "demo") -> None:
    """Show the cards of the guided demo, each with its last use."""
    found = session.client().get(path(pipeline, "guide"))
    if not session.printed(found):
        _print_cards(found)


@app.verb("break")
def break_demo(
    session: Session,
    waiting: Waiting,
    card: Annotated[str, typer.Argument(help="The card, such as kill-agent.", metavar="CARD")],
    pipeline: DemoName = "demo",
) -> None:
    """Break the demo pipeline by one card, which undoes itself within minutes. One card at a time."""
    client = session.client()
    _, fault = client.post(path(pipeline, "guide"), {"card": card})
    if waiting.wait:
        fault = _ended(client, pipeline, fault, waiting.timeout)
    if not session.printed(fault):
        _print_fault(fault)
    if fault["state"] == "FAILED":
        raise CommandError(
            title="The card failed", detail=fault["error"], code="card_failed", exit_code=ExitCode.FAILED
        )


def _ended(client: Any, pipeline: str, fault: dict[str, Any], timeout: float) -> dict[str, Any]:
    deadline = time.monotonic() + timeout
    while fault["ended_at"] is None:
        if time.monotonic() > deadline:
            raise CommandError(
                title=f"The card has not ended within {timeout:g} s",
                detail="It continues, and undoes itself.",
                hint="Look at it later: headgate guide show",
                code="timed_out",
                exit_code=ExitCode.TIMED_OUT,
            )
        time.sleep(POLL_S)
        cards = client.get(path(pipeline, "guide"))["cards"]
        fault = next(each["last"] for each in cards if each["card"] == fault["card"])
    return fault


def _print_cards(found: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    rows = [(each["card"], each["breaks"], (each["last"] or {"state": "-"})["state"]) for each in found["cards"]]
    output.table(("card", "what it breaks", "state"), rows, empty="No cards.")
    for each in found["cards"]:
        if each["last"]:
            _print_fault(each["last"])
    output.print_line("Use one: headgate guide break CARD --wait")


def _print_fault(fault: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    output.print_line(f"{fault['card']}  {fault['state']}")
    for name in ("broken", "noticed", "explained", "recovered", "error"):
        if fault[name]:
            output.print_line(f"{name}: {fault[name]}")
    if counted := fault["counted"]:
        words = f"{counted['missing']} missing, {counted['duplicates']} duplicates"
        output.print_line(f"counted: {counted['records']} records of the source, {words}")
