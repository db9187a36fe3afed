"""`headgate rehearse`: sample events through a definition, without a server and without a broker."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session
from controlplane.cli.definitions.definitions import File, read_text, valid


def rehearse(
    session: Session,
    file: File,
    events: Annotated[
        str,
        typer.Option("--events", "-e", help='Sample events, one JSON object per line: {"headers": {…}, "body": "…"}.'),
    ],
    source: Annotated[
        str | None, typer.Option("--source", help="The source, where the definition has several.")
    ] = None,
) -> None:
    """Send sample events through the interceptors and the selector of a definition. Needs no server and no broker."""
    from pipelines.foundation.interceptors import allowed_interceptors, directories
    from pipelines.foundation.rehearsal import RehearsalFailed
    from pipelines.foundation.rehearsal import rehearse as run

    definition, samples = valid(file), _events(events)
    listed = [name.strip() for name in os.environ.get("HEADGATE_INTERCEPTORS", "").split(",") if name.strip()]
    try:
        result = run(
            definition.plain(),
            samples,
            source=source,
            interceptors=allowed_interceptors(listed),
            interceptor_path=directories(os.environ.get("HEADGATE_INTERCEPTOR_PATH", "")),
        )
    except RehearsalFailed as failure:
        exit_code = ExitCode.REFUSED if failure.findings else ExitCode.FAILED
        raise CommandError(
            "The rehearsal failed",
            detail=failure.detail,
            hint=failure.hint,
            code=failure.code,
            findings=failure.findings,
            exit_code=exit_code,
        ) from None
    if not session.printed(result):
        _print(result)


def _events(file: str) -> list[Any]:
    found = []
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                message = f"Line {number} of {file} is not JSON: {error}"
                raise CommandError(message, code="not_json", exit_code=ExitCode.REFUSED) from None
    return found


def _print(result: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    rows = [(f"channel {name}", _line(event), "") for name, found in result["channels"].items() for event in found]
    rows += [("unrouted", _line(event), "") for event in result["unrouted"]]
    rows += [("dead letter", _line(d["event"]), f"{d['component']}: {d['cause']}") for d in result["dead_letters"]]
    output.table(("result", "event", "cause"), rows, empty="All events were filtered.")
    output.print_line(f"Filtered: {result['filtered']}.")


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False)
