"""Commands that run until Ctrl-C. Requests to an unreachable server are repeated with growing pauses, up to a limit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from controlplane.cli.base import output, reports
from controlplane.cli.base.client import Client
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session, path

if TYPE_CHECKING:
    from rich.console import RenderableType

POLL_S = 1.0
_LATEST = 100
"""Runs among which the latest is looked for: standbys are among them."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
MAX_FAILURES = 40
"""In a row; with the pauses between them about ten minutes."""


class Patience:
    """Pauses after failures in a row: doubling, bounded, and at the limit the failure itself."""

    def __init__(self) -> None:
        self.failures = 0

    def succeeded(self) -> None:
        """Forget earlier failures."""
        self.failures = 0

    def failed(self, error: CommandError) -> None:
        """Wait before the next attempt; raises the error where another attempt is pointless."""
        self.failures += 1
        if self.failures > MAX_FAILURES or not error.is_temporary:
            raise error
        if self.failures == 1:
            output.note(f"{error.title}. Trying again…")
        time.sleep(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (self.failures - 1)))


def repeat(step: Callable[[], bool], patience: Patience) -> None:
    """Call `step` until it returns False, or it has failed too often in a row."""
    continues = True
    while continues:
        try:
            continues = step()
        except CommandError as error:
            patience.failed(error)
        else:
            patience.succeeded()


def watch(
    session: Session, read: Callable[[], Any], page: Callable[[Any], RenderableType], line: Callable[[Any], str]
) -> None:
    """Print what `read` returns every second: as a page in place on a terminal, otherwise a line for each change."""
    first = read()
    if session.for_programs or not output.console().is_terminal:
        _watch_lines(session, read, line, first)
    else:
        _watch_in_place(read, page, first)


def _watch_in_place(read: Callable[[], Any], page: Callable[[Any], RenderableType], first: Any) -> None:
    from rich.live import Live

    with Live(page(first), console=output.console(), auto_refresh=False) as live:

        def refresh() -> bool:
            time.sleep(POLL_S)
            live.update(page(read()), refresh=True)
            return True

        repeat(refresh, Patience())


def _watch_lines(session: Session, read: Callable[[], Any], line: Callable[[Any], str], first: Any) -> None:
    printed = ""

    def print_change(found: Any) -> None:
        nonlocal printed
        text = json.dumps(found) if session.for_programs else line(found)
        if text != printed and not session.printed_record(found):
            output.print_line(text)
        printed = text

    def refresh() -> bool:
        time.sleep(POLL_S)
        print_change(read())
        return True

    print_change(first)
    repeat(refresh, Patience())


def print_log(
    session: Session,
    name: str,
    *,
    run: int | None,
    tail: int,
    follow: bool,
    previous: bool = False,
    at: str | None = None,
    **wanted: str | None,
) -> None:
    """Print a run's log, and with `follow` what is added to it, and then the next run's; of the lines that are `wanted`
    alone. `previous`: of the run before; `at`: around this line."""
    client = session.client()
    found = find_run(client, name, run)
    if previous:
        found = _before(client, name, found)
    if follow:
        LogFollower(session, client, name, found, pinned=run is not None or previous, wanted=wanted).start(tail)
        return
    query: dict[str, Any] = {"tail": tail, "at": at, **wanted}
    piece = client.get(f"runs/{found['id']}/log", **query)
    if session.printed({"run": found["number"]} | piece):
        return
    output.write_text(piece["text"])
    if not piece["text"]:
        output.note(output.none("lines", (at, *wanted.values())))
    if any(wanted.values()) and piece["searched"] < piece["total"]:
        output.note(f"Only the last {piece['searched']:,} of {piece['total']:,} bytes were searched.")


def _before(client: Client, name: str, run: dict[str, Any]) -> dict[str, Any]:
    """The run that consumed before another one. CommandError where there is none."""
    found = client.pages(path(name, "runs"))
    if (earlier := max((each for each in found if _epoch(each) < _epoch(run)), key=_epoch, default=None)) is None:
        raise CommandError(f"{name} has no run before run {run['number']}", code="run_not_found")
    return dict(earlier)


def find_run(client: Client, name: str, number: int | None) -> dict[str, Any]:
    """The run of this number, or the latest one that consumes or has consumed. CommandError where there is none."""
    found = client.pages(path(name, "runs"), limit=_LATEST if number is None else None)
    if number is None and (latest := max(found, key=_epoch, default=None)) is not None:
        return dict(latest)
    for run in found:
        if run["number"] == number:
            return dict(run)
    title = f"{name} has no run yet" if number is None else f"{name} has no run {number}"
    raise CommandError(title, hint=f"`headgate runs list {name}` lists its runs.", code="run_not_found")


def _epoch(run: dict[str, Any]) -> int:
    """Grows from one run that consumes to the next; 0 of a standby, whose number may be higher."""
    return int(run.get("epoch") or 0)


class LogFollower:
    """Prints what is added to a run's log; unless `pinned`, continues with the next run when one has started."""

    def __init__(
        self,
        session: Session,
        client: Client,
        name: str,
        run: dict[str, Any],
        *,
        pinned: bool,
        wanted: Mapping[str, Any],
    ) -> None:
        self.session = session
        self.client = client
        self.name = name
        self.run = run
        self.pinned = pinned
        self.wanted = wanted
        self.offset: int | None = None

    def start(self, tail: int) -> None:
        """Print the last `tail` lines, then what is added."""
        self._print(self._piece(tail=tail))
        repeat(self._follow, Patience())

    def _follow(self) -> bool:
        time.sleep(POLL_S)
        piece = self._piece(offset=self.offset or 0)
        self._print(piece)
        return bool(piece["text"]) or piece["offset"] < piece["size"] or self._has_more()

    def _piece(self, **query: int) -> dict[str, Any]:
        try:
            return dict(self.client.get(f"runs/{self.run['id']}/log", **{**self.wanted, **query}))
        except CommandError as error:
            if error.code != "log_not_found":
                raise
            return {"text": "", "offset": 0, "size": 0}

    def _print(self, piece: dict[str, Any]) -> None:
        self.offset = piece["offset"]
        text = piece["text"]
        if text and not self.session.printed_record({"run": self.run["number"], "text": text}):
            output.write_text(text)

    def _has_more(self) -> bool:
        """Whether more can follow. An ended run has no more; its follower continues with the next one."""
        if self.pinned:
            return bool(self.client.get(f"runs/{self.run['id']}")["state"] != "ENDED")
        latest = find_run(self.client, self.name, None)
        if _epoch(latest) > _epoch(self.run):
            output.note(f"Run {latest['number']} of {self.name}:")
            self.run, self.offset = latest, 0
        return True


def follow_events(session: Session, wanted: dict[str, Any], *, last_id: str) -> None:
    """Print events as they are recorded. After an interruption the stream continues after the last event printed."""
    client, patience = session.client(), Patience()

    def listen() -> bool:
        nonlocal last_id
        try:
            with client.stream("events", last_id=last_id, **wanted) as frames:
                for frame in frames:
                    patience.succeeded()
                    last_id = frame.id or last_id
                    if frame.event == "event":
                        reports.event(session, json.loads(frame.data))
        except (httpx2.TransportError, httpx2.StreamError, ValueError) as error:
            raise client.unreachable(error) from None
        raise CommandError("The stream of events has ended", code="unreachable", exit_code=ExitCode.NO_ACCESS)

    repeat(listen, patience)
