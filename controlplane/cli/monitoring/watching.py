"""Commands about lag, and about consumer groups of others: add, list, show, plan, remove."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import AsJson, Limit, Name, begin, path

POINTS_SHOWN = 20

Since = Annotated[
    str, typer.Option("--since", help="Since a time (RFC 3339), or for so long: 30m, 2h, 7d.", metavar="TIME")
]
Step = Annotated[str | None, typer.Option("--step", help="1m, 5m or 1h; what fits, unless given.")]
Group = Annotated[str, typer.Argument(help="The consumer group.", metavar="GROUP")]
Servers = Annotated[
    str | None, typer.Option("--bootstrap-servers", help="Brokers, as host:port with commas; where groups share names.")
]

groups = typer.Typer(
    no_args_is_help=True,
    help="Watch consumer groups of anybody: add, list, show, plan a reset, remove.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def lag(ctx: typer.Context, name: Name, since: Since = "1h", step: Step = None, as_json: AsJson = False) -> None:
    """Show what waits in each partition, in records and in seconds, now and over time."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).get(path(name, "lag"), since=since, step=step)
    if as_json:
        output.write_json(found)
        return
    _partitions(found["partitions"])
    _points(found["points"])


def _partitions(parts: list[dict[str, Any]]) -> None:
    from controlplane.cli.base import output

    rows = [
        (
            f"{part['source']}.{part['channel']}".strip("."),
            f"{part['topic']}/{part['partition']}",
            part["position"],
            part["end"],
            part["records"],
            part["seconds"],
        )
        for part in parts
    ]
    output.table(("channel", "partition", "position", "log end", "records wait", "for s"), rows, empty="No lag yet.")


def _points(points: list[dict[str, Any]]) -> None:
    from controlplane.cli.base import output

    rows = [(output.clock(point["at"]), point["records"], point["seconds"]) for point in points[-POINTS_SHOWN:]]
    if rows:
        output.table(("at", "records wait", "for s"), rows, empty="")


@groups.command()
def add(
    ctx: typer.Context,
    group: Group,
    bootstrap_servers: Annotated[
        str, typer.Option("--bootstrap-servers", help="Brokers, as host:port with commas between.")
    ],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="KEY=VALUE of the Kafka client; secrets as ${secret:NAME}. May be repeated."),
    ] = None,
    interval: Annotated[float, typer.Option("--interval", min=1, max=3600, help="Seconds between looks.")] = 60.0,
    max_rate: Annotated[
        float | None, typer.Option("--max-rate", help="Records per second that a partition can be consumed with.")
    ] = None,
    leap: Annotated[
        int | None, typer.Option("--leap", min=1, help="Lag that is worth an event when it appears within one look.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Whose worker looks; any, unless given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Watch a consumer group: what it commits, its lag, coordinator and members, and what happens to its commits."""
    from controlplane.cli.base import output

    body = {
        "group": group,
        "bootstrap_servers": bootstrap_servers,
        "interval": interval,
        "options": _options(option or []),
        "max_rate": max_rate,
        "leap_records": leap,
        "host": host,
    }
    given = {name: value for name, value in body.items() if value is not None}
    _, made = begin(ctx, as_json=as_json).post("watched-groups", given)
    output.write_json(made) if as_json else output.say(f"{group} is watched. Look: headgate watch-group show {group}")


def _options(given: list[str]) -> dict[str, str]:
    pairs = [option.partition("=") for option in given]
    if not all(key and equals for key, equals, _ in pairs):
        raise CommandError("Write --option KEY=VALUE.", code="usage", exit_code=ExitCode.USAGE)
    return {key: value for key, _, value in pairs}


@groups.command("list")
def list_groups(ctx: typer.Context, limit: Limit = 500, as_json: AsJson = False) -> None:
    """List watched groups with what was seen of them last."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).pages("watched-groups", limit=limit)
    if as_json:
        output.write_json(found)
        return
    columns = ("group", "brokers", "state", "members", "records wait", "seen", "trouble")
    rows = [
        (
            each["group"],
            each["bootstrap_servers"],
            each["state"],
            len(each["members"]),
            each["records"],
            output.ago(each["looked_at"]),
            each["error"],
        )
        for each in found
    ]
    output.table(columns, rows, empty="No groups. `headgate watch-group add GROUP --bootstrap-servers …` adds one.")


@groups.command()
def show(
    ctx: typer.Context,
    group: Group,
    bootstrap_servers: Servers = None,
    since: Since = "1h",
    step: Step = None,
    as_json: AsJson = False,
) -> None:
    """Show a group: its partitions, its lag over time, and what happened to its commits."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    address = _address(client, group, bootstrap_servers)
    found, series = client.get(address), client.get(f"{address}/lag", since=since, step=step)
    if as_json:
        output.write_json({**found, "step": series["step"], "points": series["points"]})
        return
    facts = [
        ("brokers", found["bootstrap_servers"]),
        ("state", found["state"]),
        ("coordinator", found["coordinator"]),
        ("members", ", ".join(f"{each['client']} {each['host']}" for each in found["members"])),
        ("seen", output.ago(found["looked_at"])),
        ("by the worker of", found["host"]),
        ("trouble", found["error"]),
    ]
    output.table(("", found["group"]), facts, empty="")
    _partitions(found["partitions"])
    _points(series["points"])
    rows = [(str(event["id"]), output.ago(event["at"]), event["kind"], event["message"]) for event in found["events"]]
    output.table(("event", "at", "kind", "what"), rows, empty="Nothing happened to its commits.")


@groups.command()
def plan(
    ctx: typer.Context,
    group: Group,
    to: Annotated[str, typer.Option("--to", help="before=EVENT-30m: half an hour before the event of that number.")],
    bootstrap_servers: Servers = None,
    as_json: AsJson = False,
) -> None:
    """Plan a reset of a group to before an event: what comes again, what is skipped, what it does to sinks. Nothing is
    changed."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    _, made = client.post(f"{_address(client, group, bootstrap_servers)}/plan", {"to": to})
    if as_json:
        output.write_json(made)
        return
    _tell_plan(made)


def _tell_plan(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    columns = ("partition", "committed", "target", "by", "come again", "skipped", "gone")
    rows = [
        (
            f"{each['topic']}/{each['partition']}",
            each["committed"],
            each["target"],
            each["basis"],
            each["replay"],
            each["skip"],
            each["gone"],
        )
        for each in made["partitions"]
    ]
    output.table(columns, rows, empty="The group has no partitions.")
    sinks = [
        (each["pipeline"], each["channel"], f"{each['sink']} ({each['type']})", each["duplicates_max"], each["effect"])
        for each in made["sinks"]
    ]
    if sinks:
        output.table(("pipeline", "channel", "sink", "duplicates, at most", "what they do"), sinks, empty="")
    output.say(f"To where {made['group']} was at {made['target_time']}, as seen {output.ago(made['as_of'])}:")
    again = output.counted(made["replay"], "record comes again", "records come again")
    skipped, gone = (output.counted(made[name], "is", "are") for name in ("skip", "gone"))
    output.say(f"{again}, {skipped} skipped, {gone} gone.")
    for warning in made["warnings"]:
        output.note(warning)


@groups.command()
def remove(ctx: typer.Context, group: Group, bootstrap_servers: Servers = None) -> None:
    """Watch a group no longer. Its series is deleted, its events stay."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=False)
    client.delete(_address(client, group, bootstrap_servers))
    output.say(f"{group} is not watched any more")


def _address(client: Any, group: str, servers: str | None) -> str:
    """The address of a watched group by its name. CommandError where there is none, or several."""
    found = client.pages("watched-groups", group=group)
    found = [each for each in found if servers in (None, each["bootstrap_servers"])]
    if not found:
        hint = f"headgate watch-group add {group} --bootstrap-servers HOST:PORT"
        raise CommandError(f"The group {group} is not watched", hint=hint, code="group_not_found")
    if len(found) > 1:
        hint = "Name one with --bootstrap-servers: " + "; ".join(each["bootstrap_servers"] for each in found)
        raise CommandError(f"{len(found)} groups are called {group}", hint=hint, code="ambiguous")
    return f"watched-groups/{found[0]['id']}"
