"""Commands that go on until Ctrl-C. A server that is away is asked again, with growing pauses and not for ever."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx2

from controlplane.cli.base import output, reports
from controlplane.cli.base.client import Client
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import path

LOOK_S = 1.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
MAX_FAILURES = 40
"""In a row; with the pauses between them about ten minutes."""


class Patience:
    """Pauses after failures in a row: doubling, bounded, and in the end the failure itself."""

    def __init__(self) -> None:
        self.failures = 0

    def succeeded(self) -> None:
        """Begin anew."""
        self.failures = 0

    def failed(self, error: CommandError) -> None:
        """Wait before the next attempt; raises the error where another attempt has no point."""
        self.failures += 1
        if self.failures > MAX_FAILURES or not error.may_pass:
            raise error
        if self.failures == 1:
            output.note(f"{error.title}. Trying again…")
        time.sleep(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (self.failures - 1)))


def repeat(step: Callable[[], bool], patience: Patience) -> None:
    """Call `step` until it returns False, or it has failed too often in a row."""
    going_on = True
    while going_on:
        try:
            going_on = step()
        except CommandError as error:
            patience.failed(error)
        else:
            patience.succeeded()


def watch_status(client: Client, address: str, *, as_json: bool) -> None:
    """Show the status every second: in place on a terminal, otherwise as it changes."""
    first = client.get(address)
    if as_json or not output.console().is_terminal:
        _watch_lines(client, address, first, as_json=as_json)
    else:
        _watch_in_place(client, address, first)


def _watch_in_place(client: Client, address: str, first: dict[str, Any]) -> None:
    from rich.live import Live

    with Live(reports.status(first), console=output.console(), auto_refresh=False) as live:

        def look() -> bool:
            time.sleep(LOOK_S)
            live.update(reports.status(client.get(address)), refresh=True)
            return True

        repeat(look, Patience())


def _watch_lines(client: Client, address: str, found: dict[str, Any], *, as_json: bool) -> None:
    shown = ""

    def show(status: dict[str, Any]) -> None:
        nonlocal shown
        line = json.dumps(status, ensure_ascii=False) if as_json else reports.status_line(status)
        if line != shown:
            output.write_json_line(status) if as_json else output.say(line)
        shown = line

    def look() -> bool:
        time.sleep(LOOK_S)
        show(client.get(address))
        return True

    show(found)
    repeat(look, Patience())


def print_log(client: Client, name: str, *, run: int | None, tail: int, follow: bool, as_json: bool) -> None:
    """Print a run's log, and with `follow` what is added to it, and then the next run's."""
    found = _find_run(client, name, run)
    if follow:
        LogFollower(client, name, found, pinned=run is not None, as_json=as_json).go(tail)
        return
    piece = client.get(f"runs/{found['id']}/log", tail=tail)
    if as_json:
        output.write_json({"run": found["number"]} | piece)
    else:
        output.write_text(piece["text"])


def _find_run(client: Client, name: str, number: int | None) -> dict[str, Any]:
    for run in client.pages(path(name, "runs"), limit=1 if number is None else None):
        if number in (None, run["number"]):
            return dict(run)
    title = f"{name} has no run yet" if number is None else f"{name} has no run {number}"
    raise CommandError(title, hint=f"headgate runs {name}", code="run_not_found")


class LogFollower:
    """Prints what is added to a run's log; unless `pinned`, goes on with the next run when one has begun."""

    def __init__(self, client: Client, name: str, run: dict[str, Any], *, pinned: bool, as_json: bool) -> None:
        self.client = client
        self.name = name
        self.run = run
        self.pinned = pinned
        self.as_json = as_json
        self.offset: int | None = None

    def go(self, tail: int) -> None:
        """Begin with the last `tail` lines."""
        self._print(self._piece(tail=tail))
        repeat(self._look, Patience())

    def _look(self) -> bool:
        time.sleep(LOOK_S)
        piece = self._piece(offset=self.offset or 0)
        self._print(piece)
        return bool(piece["text"]) or self._has_more()

    def _piece(self, **query: int) -> dict[str, Any]:
        try:
            return dict(self.client.get(f"runs/{self.run['id']}/log", **query))
        except CommandError as error:
            if error.code != "log_not_found":
                raise
            return {"text": "", "offset": 0}

    def _print(self, piece: dict[str, Any]) -> None:
        self.offset = piece["offset"]
        if not piece["text"]:
            return
        if self.as_json:
            output.write_json_line({"run": self.run["number"], "text": piece["text"]})
        else:
            output.write_text(piece["text"])

    def _has_more(self) -> bool:
        """Whether more can come. An ended run has no more; its follower goes on with the next one."""
        if self.pinned:
            return bool(self.client.get(f"runs/{self.run['id']}")["state"] != "ENDED")
        latest = _find_run(self.client, self.name, None)
        if latest["number"] > self.run["number"]:
            output.note(f"Run {latest['number']} of {self.name}:")
            self.run, self.offset = latest, 0
        return True


def follow_events(client: Client, *, pipeline: str | None, last_id: str, as_json: bool) -> None:
    """Print events as they happen. After a break the stream goes on where it ended."""
    patience = Patience()

    def listen() -> bool:
        nonlocal last_id
        try:
            with client.stream("events", last_id=last_id, pipeline=pipeline) as frames:
                for frame in frames:
                    patience.succeeded()
                    last_id = frame.id or last_id
                    if frame.event == "event":
                        reports.event(json.loads(frame.data), as_json=as_json)
        except (httpx2.TransportError, httpx2.StreamError, ValueError) as error:
            raise client.unreachable(error) from None
        raise CommandError("The stream of events has ended", code="unreachable", exit_code=ExitCode.NO_ACCESS)

    repeat(listen, patience)
