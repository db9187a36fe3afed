"""Commands about replays: reading a range of a source again into a channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.governed import Right, sent
from controlplane.cli.base.session import Limit, Name, Reason, Session, Waiting, path

app = Group("Replay a range of a partition: read it again into a channel. No position changes.")


@dataclass(frozen=True)
class Range:
    """The range [start, end) of one partition, and the channel that it is replayed into."""

    partition: Annotated[str, typer.Option("--partition", help="The partition.", metavar="TOPIC/NUMBER")]
    start: Annotated[int, typer.Option("--from", min=0, help="The first offset.", metavar="OFFSET")]
    end: Annotated[int, typer.Option("--to", min=1, help="The offset after the last one.", metavar="OFFSET")]
    channel: Annotated[str | None, typer.Option("--channel", help="The channel, where the source has several.")] = None
    source: Annotated[str | None, typer.Option("--source", help="The source, where several read the topic.")] = None

    def body(self) -> dict[str, Any]:
        """The range as the API takes it. CommandError where the partition is malformed."""
        topic, slash, number = self.partition.rpartition("/")
        if not (topic and slash and number.isascii() and number.isdigit()):
            raise CommandError.of_usage("Write --partition TOPIC/NUMBER.")
        place = {"topic": topic, "partition": int(number), "start": self.start, "end": self.end}
        return place | {key: value for key in ("channel", "source") if (value := getattr(self, key)) is not None}


@app.verb("list")
def list_replays(session: Session, name: Name, limit: Limit = 50) -> None:
    """List the replays of a pipeline, newest first."""
    from controlplane.cli.base import output

    found = session.client().pages(path(name, "range-replays"), limit=limit)
    if session.printed(found):
        return
    columns = ("id", "state", "partition", "offsets", "channel", "created", "by", "message")
    output.table(columns, map(_row, found), empty=f"No replays. Plan one: headgate replays plan {name}")


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    place, offsets = f"{found['topic']}/{found['partition']}", f"[{found['start']}, {found['end']})"
    where = (place, offsets, f"{found['source']}.{found['channel']}")
    return found["id"], found["state"], *where, ago(found["created_at"]), found["created_by"], found["message"]


@app.verb()
def plan(session: Session, name: Name, wanted: Range) -> None:
    """Plan a replay: the number of records and the effect of duplicates on the sinks. Changes nothing."""
    _, made = session.client().post(path(name, "range-replays", "plan"), wanted.body())
    if not session.printed(made):
        _print_plan(made)


@app.verb()
def start(
    session: Session,
    name: Name,
    wanted: Range,
    waiting: Waiting,
    right: Right,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start without a prompt.")] = False,
    reason: Reason = "",
) -> None:
    """Replay the range [--from, --to) of a partition into a channel, through all interceptors.

    The plan is shown first; without --yes the command prompts for confirmation.
    """
    from controlplane.cli.base import output
    from controlplane.cli.base.waiting import finish, require_success

    client = session.client()
    body = wanted.body()
    _, made = client.post(path(name, "range-replays", "plan"), body)
    if not session.for_programs:
        _print_plan(made)
    if not yes:
        _confirm(session)
    body |= {"hash": made["hash"], "reason": reason}
    if sent(session, name, "replay", body, right, waiting):
        return
    _, operation = client.post(path(name, "range-replays"), body)
    operation = finish(session, client, operation, waiting)
    if not session.printed(operation):
        output.print_line(f"{operation['state']}: {operation['message']}")
    require_success(operation)


def _print_plan(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    records = output.counted(made["offsets"], "record", "records")
    batches = output.counted(made["batches"], "batch", "batches")
    output.print_line(
        f"[{made['start']}, {made['end']}) of {made['topic']}/{made['partition']} into {made['channel']}: at most "
        f"{records} reread, in {batches}. The position of {made['source']}.{made['channel']} stays at "
        f"{made['read_up_to']}."
    )
    rows = [(f"{each['sink']} ({each['type']})", each["effect"]) for each in made["sinks"]]
    output.table(("sink", "effect of duplicates"), rows, empty="")


def _confirm(session: Session) -> None:
    """CommandError unless you confirm at the prompt; a program confirms with --yes."""
    import sys

    if session.for_programs or not sys.stdin.isatty():
        raise CommandError.of_usage("Confirm the replay with --yes; `headgate replays plan` shows its plan.")
    typer.confirm("Start the replay?", abort=True)
