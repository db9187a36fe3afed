"""The command that reads a range of a source once more into a channel."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import AsJson, Name, begin, path
from controlplane.cli.lifecycle.lifecycle import DEFAULT_TIMEOUT_S, Timeout, Wait


def replay(
    ctx: typer.Context,
    name: Name,
    partition: Annotated[str, typer.Option("--partition", help="The partition, as TOPIC/NUMBER.", metavar="TOPIC/P")],
    start: Annotated[int, typer.Option("--from", min=0, help="The first offset.", metavar="OFFSET")],
    end: Annotated[int, typer.Option("--to", min=1, help="The offset behind the last one.", metavar="OFFSET")],
    channel: Annotated[str | None, typer.Option("--channel", help="Where the source feeds several.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="Where several sources read the topic.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; apply the plan as it is.")] = False,
    plan_only: Annotated[bool, typer.Option("--plan", help="Show the plan, and do nothing.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit.")] = "",
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Read the range [--from, --to) of a partition once more into a channel, through all interceptors. No position
    moves. The plan is shown first; without --yes you are asked."""
    from controlplane.cli.base import output, waiting

    client = begin(ctx, as_json=as_json)
    wanted = {"start": start, "end": end, "channel": channel, "source": source, **_partition(partition)}
    body = {key: value for key, value in wanted.items() if value is not None}
    _, plan = client.post(path(name, "range-replays", "plan"), body)
    if plan_only:
        output.write_json(plan) if as_json else _tell(plan)
        return
    if not as_json:
        _tell(plan)
    if not yes:
        _ask(as_json)
    _, operation = client.post(path(name, "range-replays"), {**body, "hash": plan["hash"], "reason": reason})
    if wait:
        operation = waiting.wait_for(client, operation, timeout=timeout, quiet=as_json)
    output.write_json(operation) if as_json else output.say(f"{operation['state']}: {operation['message']}")
    if operation["state"] not in waiting.OPEN_STATES:
        waiting.require_success(operation)


def _partition(text: str) -> dict[str, Any]:
    topic, slash, number = text.rpartition("/")
    if not (topic and slash and number.isascii() and number.isdigit()):
        raise CommandError("Write --partition TOPIC/NUMBER.", code="usage", exit_code=ExitCode.USAGE)
    return {"topic": topic, "partition": int(number)}


def _tell(plan: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    where = f"{plan['topic']}/{plan['partition']}"
    records = output.counted(plan["offsets"], "record", "records")
    batches = output.counted(plan["batches"], "batch", "batches")
    output.say(
        f"[{plan['start']}, {plan['end']}) of {where} into {plan['channel']}: up to {records} again, "
        f"in {batches}. {plan['source']}.{plan['channel']} stays at {plan['read_up_to']}."
    )
    rows = [(f"{each['sink']} ({each['type']})", each["effect"]) for each in plan["sinks"]]
    output.table(("sink", "what duplicates do"), rows, empty="")


def _ask(as_json: bool) -> None:
    """CommandError unless a person agrees; a program has to say so beforehand."""
    import sys

    if as_json or not sys.stdin.isatty():
        words = "Say --yes to apply the plan, or --plan to see it alone."
        raise CommandError(words, code="usage", exit_code=ExitCode.USAGE)
    typer.confirm("Replay it?", abort=True)
