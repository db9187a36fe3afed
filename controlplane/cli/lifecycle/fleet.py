"""`headgate fleet`: what requires action first, with the last 24 hours of every pipeline."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import OfHost, Session

LETTERS = {
    "RUNNING": "=",
    "STARTING": "+",
    "PREFLIGHT": "+",
    "DEGRADED": "~",
    "BACKOFF": "~",
    "STALLED": "!",
    "BLOCKED": "!",
    "FAILED": "!",
    "PAUSED": "p",
    "PAUSING": "p",
    "STOPPED": ".",
    "STOPPING": ".",
    "UNKNOWN": "?",
    None: " ",
}
LEGEND = (
    "24 hours, half an hour each: = running, + starting, ~ degraded or backing off, ! blocked, failed or stalled, "
    "p paused, . stopped, ? unknown"
)

Pipeline = dict[str, Any]


def fleet(
    session: Session,
    group_by: Annotated[
        str, typer.Option("--group-by", help="team, host, or label:KEY.", metavar="team|host|label:KEY")
    ] = "",
    phase: Annotated[str | None, typer.Option("--phase", help="Only this phase, such as RUNNING.")] = None,
    team: Annotated[str | None, typer.Option("--team", help="Only those of this team.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="Only this label, NAME:VALUE.")] = None,
    host: OfHost = None,
) -> None:
    """Show what requires action first, and the last 24 hours of every pipeline."""
    from controlplane.cli.base import output

    group_of = _grouping(group_by)
    filters = {"phase": phase and phase.upper(), "team": team, "label": label, "host": host}
    found = session.client().pages("fleet", limit=None, **filters)
    if session.printed(found):
        return
    if not found:
        output.print_line(output.no_pipelines(filters.values()))
        return
    for name, members in _groups(found, group_of):
        output.print_line(_summary(name, members))
        output.table(("name", "phase", "last 24 hours", "action", "since"), map(_row, members), empty="")
    output.print_line(LEGEND, style="dim")


def _grouping(asked: str) -> Callable[[Pipeline], str | None] | None:
    """The group of a pipeline; None without groups."""
    kind, _, key = asked.partition(":")
    if asked in ("team", "host"):
        return lambda pipeline: pipeline[asked]
    if kind == "label" and key:
        return lambda pipeline: pipeline["labels"].get(key)
    if asked:
        raise CommandError.of_usage("--group-by takes team, host, or label:KEY.")
    return None


def _groups(
    found: Iterable[Pipeline], group_of: Callable[[Pipeline], str | None] | None
) -> list[tuple[str, list[Pipeline]]]:
    """What requires action comes first, in the groups and among them; pipelines in none come last."""
    ordered = sorted(found, key=_urgency)
    if group_of is None:
        return [("All", ordered)]
    groups = defaultdict(list)
    for pipeline in ordered:
        groups[group_of(pipeline)].append(pipeline)
    by_name = sorted(groups.items(), key=lambda each: (each[0] is None, _urgency(each[1][0])[0], each[0] or ""))
    return [(name or "None", members) for name, members in by_name]


def _urgency(pipeline: Pipeline) -> tuple[float, str, str]:
    place = pipeline["attention"]
    return (float("inf"), "", pipeline["name"]) if place is None else (place, pipeline["phase_since"], pipeline["name"])


def _summary(name: str, members: list[Pipeline]) -> str:
    from controlplane.cli.base import output

    phases = Counter(pipeline["phase"] for pipeline in members)
    urgent = sum(pipeline["attention"] is not None for pipeline in members)
    counted = ", ".join(f"{count} {phase}" for phase, count in phases.most_common())
    action = f"{urgent} of them {'requires' if urgent == 1 else 'require'} action" if urgent else "none requires action"
    return f"{name}: {output.counted(len(members), 'pipeline', 'pipelines')} ({counted}); {action}"


def _row(pipeline: Pipeline) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    strip = "".join(LETTERS[phase] for phase in pipeline["history"]["phases"])
    return pipeline["name"], pipeline["phase"], strip, _action(pipeline), ago(pipeline["phase_since"])


def _action(pipeline: Pipeline) -> str | None:
    if pipeline["attention"] is None:
        return None
    return "required" if pipeline["supervised"] else "required, not supervised"
