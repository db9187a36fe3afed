"""`headgate rehearse`: sample events through a definition, without a server and without a broker."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import AsJson
from controlplane.cli.definitions.definitions import File, read_text, valid


def rehearse(
    ctx: typer.Context,
    file: File,
    events: Annotated[
        str, typer.Option("--events", "-e", help='Events, one JSON object a line: {"headers": {…}, "body": "…"}.')
    ],
    source: Annotated[str | None, typer.Option("--source", help="The source, where there are several.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send sample events through interceptors and selector, with the code that agents run. Commits nothing."""
    from controlplane.cli.base import output
    from pipelines.foundation.interceptors import allowed_interceptors
    from pipelines.foundation.rehearsal import RehearsalFailed
    from pipelines.foundation.rehearsal import rehearse as run

    ctx.obj.as_json = as_json
    definition, samples = valid(file), _events(events)
    listed = [name.strip() for name in os.environ.get("HEADGATE_INTERCEPTORS", "").split(",") if name.strip()]
    try:
        result = run(definition.plain(), samples, source=source, interceptors=allowed_interceptors(listed))
    except RehearsalFailed as failure:
        exit_code = ExitCode.REFUSED if failure.findings else ExitCode.FAILED
        raise CommandError(
            "The rehearsal did not work",
            detail=failure.detail,
            hint=failure.hint,
            code=failure.code,
            findings=failure.findings,
            exit_code=exit_code,
        ) from None
    if as_json:
        output.write_json(result)
    else:
        _show(result)


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


def _show(result: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    rows = [(f"channel {name}", _line(event), "") for name, got in result["channels"].items() for event in got]
    rows += [("unrouted", _line(event), "") for event in result["unrouted"]]
    rows += [("dead letter", _line(d["event"]), f"{d['component']}: {d['cause']}") for d in result["dead_letters"]]
    output.table(("where", "event", "cause"), rows, empty="No event came out.")
    output.say(f"Filtered: {result['filtered']}.")


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False)
