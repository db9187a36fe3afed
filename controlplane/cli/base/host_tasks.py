"""Waits for what the worker of a host makes beside its pipelines: previews, traces and runs of tests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session, path

if TYPE_CHECKING:
    from controlplane.cli.base.client import Client

OPEN_STATES = {"PENDING", "RUNNING"}
POLL_S = 0.5


def made(
    session: Session,
    client: Client,
    noun: str,
    name: str,
    body: dict[str, Any],
    *,
    running: str,
    timeout: float,
    at: str = "",
) -> dict[str, Any]:
    """Ask for it and wait until it is made. CommandError where it fails, and after `timeout` seconds; then it continues
    without being waited for. `running`: what is told while it is made; `at`: the address of all of its kind."""
    address = at or path(name, f"{noun}s")
    _, asked = client.post(address, body)
    found = _finished(session, client, noun, f"{address}/{asked['id']}", asked, running, timeout)
    _require_done(noun, name, found)
    return found


def _finished(
    session: Session, client: Client, noun: str, address: str, made: dict[str, Any], running: str, timeout: float
) -> dict[str, Any]:
    from controlplane.cli.base import output

    deadline, state = time.monotonic() + timeout, ""
    while made["state"] in OPEN_STATES:
        if made["state"] != state and not session.for_programs:
            state = made["state"]
            output.note("Waiting for the host." if state == "PENDING" else running)
        if time.monotonic() > deadline:
            raise CommandError(
                title=f"The {noun} was not made within {timeout:g} s",
                detail="It continues on the host, and nothing is changed by it.",
                hint=f"Look at it later: GET /api/v1/{address}",
                code="timed_out",
                exit_code=ExitCode.TIMED_OUT,
            )
        time.sleep(POLL_S)
        made = client.get(address)
    return made


def _require_done(noun: str, name: str, made: dict[str, Any]) -> None:
    if made["state"] == "DONE":
        return
    error = made["error"] or {}
    raise CommandError(
        title=f"The {noun} of {name} failed",
        detail=error.get("message", ""),
        hint=error.get("hint", ""),
        code=error.get("code", f"{noun}_failed"),
        findings=error.get("findings", []),
        exit_code=ExitCode.REFUSED if error.get("findings") else ExitCode.FAILED,
    )
