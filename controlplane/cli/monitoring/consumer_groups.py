"""Commands about external consumer groups: list, show, add, plan-reset, remove."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.inputs import pairs
from controlplane.cli.base.session import Limit, OwnerTeam, Session
from controlplane.cli.monitoring.lag import Since, Step, print_partitions, print_points

GroupName = Annotated[str, typer.Argument(help="The consumer group.", metavar="GROUP")]
Servers = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers", help="HOST:PORT,…: the brokers, where groups of several clusters share a name."
    ),
]

app = Group("Monitor the lag and the commits of external consumer groups, and plan resets of their offsets.")


@app.verb()
def add(
    session: Session,
    group: GroupName,
    bootstrap_servers: Annotated[str, typer.Option("--bootstrap-servers", help="The brokers: HOST:PORT,…")],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="KEY=VALUE of the Kafka client; secrets as ${secret:NAME}. Repeatable."),
    ] = None,
    interval: Annotated[
        float, typer.Option("--interval", min=1, max=3600, help="Seconds between two measurements.")
    ] = 60.0,
    max_rate: Annotated[
        float | None, typer.Option("--max-rate", help="The highest consumption rate of a partition, in records/s.")
    ] = None,
    lag_jump: Annotated[
        int | None,
        typer.Option("--lag-jump", min=1, help="Record an event when the lag grows by this within one measurement."),
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="The host whose worker measures. Default: any.")] = None,
    team: OwnerTeam = None,
) -> None:
    """Monitor a consumer group: its commits, lag, coordinator and members."""
    from controlplane.cli.base import output

    body = {
        "group": group,
        "bootstrap_servers": bootstrap_servers,
        "interval": interval,
        "options": pairs(option or [], "--option KEY=VALUE"),
        "max_rate": max_rate,
        "leap_records": lag_jump,
        "host": host,
        "team": team,
    }
    given = {name: value for name, value in body.items() if value is not None}
    _, made = session.client().post("consumer-groups", given)
    if not session.printed(made):
        output.print_line(f"{group}: monitored. Show it: headgate consumer-groups show {group}")


@app.verb("list")
def list_groups(session: Session, limit: Limit = 500) -> None:
    """List the monitored consumer groups with their last measurement."""
    from controlplane.cli.base import output

    found = session.client().pages("consumer-groups", limit=limit)
    if session.printed(found):
        return
    columns = ("group", "brokers", "state", "members", "lag", "measured", "error")
    rows = [
        (
            each["group"],
            each["bootstrap_servers"],
            each["state"],
            len(each["members"]),
            each["records"],
            output.ago(each["inspected_at"]),
            each["error"],
        )
        for each in found
    ]
    empty = "No consumer groups. Add one: headgate consumer-groups add GROUP --bootstrap-servers HOST:PORT"
    output.table(columns, rows, empty=empty)


@app.verb()
def show(
    session: Session, group: GroupName, bootstrap_servers: Servers = None, since: Since = "1h", step: Step = None
) -> None:
    """Show a consumer group: its partitions, its lag over time, and the events of its commits."""
    from controlplane.cli.base import output

    client = session.client()
    address = _address(client, group, bootstrap_servers)
    found, series = client.get(address), client.get(f"{address}/lag", since=since, step=step)
    if session.printed({**found, "step": series["step"], "points": series["points"]}):
        return
    facts = [
        ("brokers", found["bootstrap_servers"]),
        ("state", found["state"]),
        ("coordinator", found["coordinator"]),
        ("members", ", ".join(f"{each['client']} {each['host']}" for each in found["members"])),
        ("measured", output.ago(found["inspected_at"])),
        ("by the worker of", found["host"]),
        ("error", found["error"]),
    ]
    output.table(("", found["group"]), facts, empty="")
    print_partitions(found["partitions"])
    print_points(series["points"])
    rows = [(str(event["id"]), output.ago(event["at"]), event["kind"], event["message"]) for event in found["events"]]
    output.table(("event", "at", "kind", "message"), rows, empty="No events of its commits.")


@app.verb("plan-reset")
def plan_reset(
    session: Session,
    group: GroupName,
    to: Annotated[str, typer.Option("--to", help="before=EVENT-30m: half an hour before the event of this number.")],
    bootstrap_servers: Servers = None,
) -> None:
    """Plan a reset of a group's offsets to before an event, with its impact on sinks. Changes nothing."""
    client = session.client()
    _, made = client.post(f"{_address(client, group, bootstrap_servers)}/plan", {"to": to})
    if not session.printed(made):
        _print_plan(made)


def _print_plan(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    columns = ("partition", "committed", "target", "basis", "reread", "skipped", "expired")
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
        output.table(("pipeline", "channel", "sink", "possible duplicates", "effect"), sinks, empty="")
    output.print_line(
        f"Target: the offsets of {made['group']} at {made['target_time']}, measured {output.ago(made['as_of'])}."
    )
    output.print_line(
        f"Expected impact: {output.counted(made['replay'], 'record', 'records')} reread, "
        f"{made['skip']} skipped, {made['gone']} expired."
    )
    for warning in made["warnings"]:
        output.note(warning)


@app.verb()
def remove(session: Session, group: GroupName, bootstrap_servers: Servers = None) -> None:
    """Stop monitoring a group. Its measurements are deleted, its events stay."""
    from controlplane.cli.base import output

    client = session.client()
    client.delete(_address(client, group, bootstrap_servers))
    if not session.printed({"group": group, "result": "removed"}):
        output.print_line(f"{group}: removed")


def _address(client: Any, group: str, servers: str | None) -> str:
    """The address of a monitored group by its name. CommandError where there is none, or several."""
    found = client.pages("consumer-groups", group=group)
    found = [each for each in found if servers in (None, each["bootstrap_servers"])]
    if not found:
        hint = f"Add it: headgate consumer-groups add {group} --bootstrap-servers HOST:PORT"
        raise CommandError(f"The consumer group {group} is not monitored", hint=hint, code="group_not_found")
    if len(found) > 1:
        hint = "Choose one with --bootstrap-servers: " + "; ".join(each["bootstrap_servers"] for each in found)
        raise CommandError(f"{len(found)} consumer groups are named {group}", hint=hint, code="ambiguous")
    return f"consumer-groups/{found[0]['id']}"
