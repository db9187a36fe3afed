"""What stands in the way of a migration: everything at once, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import DesiredState, MigrationKind, Phase
from pipelines.domain.definitions.document.consequences import Consequence, EvaluatedChange
from pipelines.domain.definitions.document.diff import Change
from pipelines.domain.definitions.document.spec import ANY_HOST, Definition
from pipelines.domain.hosts.moving import stores

MOVABLE_PHASES = frozenset({Phase.RUNNING, Phase.DEGRADED, Phase.STALLED, Phase.PAUSED, Phase.STARTING})
"""Phases in which there is an old agent that can be paused and proven paused."""


@dataclass(frozen=True)
class Place:
    """The host that the new agent is to run on. `lacks`: why it has no room, in words."""

    name: str
    known: bool = True
    responding: bool = True
    drained: bool = False
    lacks: str = ""


@dataclass(frozen=True)
class Facts:
    """Everything that the plan of a migration is judged by. `new` is None where the definition has `findings`."""

    kind: MigrationKind
    pipeline: str
    phase: Phase
    desired: DesiredState
    old: Definition
    new: Definition | None
    host: str | None
    host_responding: bool
    target: Place
    evaluated: Sequence[EvaluatedChange] = ()
    findings: Sequence[Finding] = ()
    operation: str | None = None
    frozen: Sequence[str] = ()
    restart_under_way: bool = False


def blockers(facts: Facts) -> list[Finding]:
    """Everything that keeps it from being begun; empty where nothing does."""
    return [*facts.findings, *_of_state(facts), *_of_change(facts), *_of_place(facts), *_of_data(facts)]


def _of_state(facts: Facts) -> Iterator[Finding]:
    name = facts.pipeline
    if facts.phase is Phase.STOPPED and facts.desired is DesiredState.STOPPED:
        yield _finding(
            "",
            "PIPELINE_STOPPED",
            f"{name} is stopped, so there is no agent to pause or replace.",
            f"Change it directly (headgate apply, headgate positions apply), then headgate start {name}.",
        )
    elif facts.desired is DesiredState.STOPPED or facts.phase not in MOVABLE_PHASES:
        yield _finding(
            "",
            "PIPELINE_NOT_STEADY",
            f"{name} is {facts.phase}, wanted {facts.desired}.",
            f"Bring it to RUNNING or PAUSED first; headgate status {name} shows what it waits for.",
        )
    if facts.operation:
        yield _finding(
            "",
            "OPERATION_OPEN",
            f"The operation {facts.operation} is in progress.",
            "Wait until it ends, or cancel it.",
        )
    if facts.restart_under_way:
        yield _finding("", "RESTART_UNDER_WAY", "Its run is being restarted.", "Wait until it runs again.")
    if not facts.host_responding:
        yield _finding(
            "",
            "HOST_SILENT",
            f"The supervisor on {facts.host} is silent; the old agent cannot be paused.",
            "Start the worker of this host.",
        )
    yield from (_finding("", "FROZEN", words, "Wait until the freeze ends, or delete it.") for words in facts.frozen)


def _of_change(facts: Facts) -> Iterator[Finding]:
    if facts.new is None:
        return
    if facts.new.name != facts.old.name:
        yield _finding(
            "name", "NAME_DIFFERS", f"The definition is of {facts.new.name!r}.", f"Write name: {facts.old.name}."
        )
    if facts.kind is MigrationKind.REVISION:
        yield from _of_revision(facts)
    if facts.kind is MigrationKind.CLUSTER and not facts.evaluated:
        yield _finding(
            "to", "NO_CHANGE", "The component is already on this cluster.", "Name another cluster, or cancel."
        )
    if facts.kind is MigrationKind.HOST and facts.target.name == facts.host:
        yield _finding("host", "SAME_HOST", f"The pipeline already runs on {facts.host}.", "Name another host.")


def _of_revision(facts: Facts) -> Iterator[Finding]:
    if not facts.evaluated:
        yield _finding("", "NO_CHANGE", "The definition has no changes.", "Change it, or cancel.")
    for evaluated in facts.evaluated:
        change: Change = evaluated.change
        if evaluated.consequence is Consequence.POSITION_DECISION and change.path != "name":
            yield _finding(
                change.path,
                "POSITION_DECISION",
                f"{evaluated.reason} A new revision alone cannot set where to continue.",
                "Plan a migration of the kind `cluster`, or give the source another name.",
            )
    wanted = facts.new.placement.host if facts.new else ANY_HOST
    if wanted not in (ANY_HOST, facts.host):
        yield _finding(
            "placement.host",
            "HOST_CHANGED",
            f"The definition names host {wanted}; the pipeline runs on {facts.host}.",
            "Plan a migration of the kind `host` before or after this one.",
        )


def _of_place(facts: Facts) -> Iterator[Finding]:
    place = facts.target
    if not place.known:
        yield _finding(
            "host",
            "HOST_UNKNOWN",
            f"No worker has ever reported from {place.name!r}.",
            f"Start a worker there with HEADGATE_HOST={place.name}.",
        )
        return
    if not place.responding and place.name != facts.host:
        yield _finding("host", "HOST_SILENT", f"The supervisor on {place.name} is silent.", "Start its worker.")
    if place.drained:
        yield _finding(
            "host",
            "HOST_DRAINED",
            f"{place.name} is being drained and takes no new agents.",
            f"headgate hosts undrain {place.name}, or name another host.",
        )
    if place.lacks:
        yield _finding(
            "host",
            "NO_CAPACITY",
            f"The old and the new agent run side by side for a while: {place.lacks}.",
            "Stop a pipeline there, or raise HEADGATE_SLOTS or HEADGATE_MEMORY of its worker.",
        )


def _of_data(facts: Facts) -> Iterator[Finding]:
    """What only one agent at a time can hold, or what lies on one disk."""
    for path in sorted({*stores(facts.old), *(stores(facts.new) if facts.new else ())}):
        moved = facts.target.name != facts.host
        words = "keeps data on the disk of its host" if moved else "can be opened by one agent at a time"
        yield _finding(
            path,
            "TIED_TO_AGENT",
            f"{path} {words}, so no standby can be prepared beside the old agent.",
            f"Stop the pipeline, change it, start it: headgate stop {facts.pipeline}.",
        )


def _finding(path: str, code: str, message: str, suggestion: str) -> Finding:
    return Finding(path=path, code=code, message=message, suggestion=suggestion)


def warnings(evaluated: Iterable[EvaluatedChange], old: Definition, new: Definition | None) -> list[Finding]:
    """What a person should know, and what stops nobody."""
    gone = sorted(set(old.sources) - set(new.sources)) if new else []
    found = [
        Finding(
            path=f"sources.{name}",
            code="SOURCE_REMOVED",
            severity="warning",
            message="Records that it has not read by the pause are no longer read by this pipeline.",
            suggestion="If that matters, wait until its lag is zero.",
        )
        for name in gone
    ]
    found += _of_channels(old, new) if new is not None else []
    if new is not None and new.delivery.mode == "real_time":
        words = f"A pause waits for the end of the batch, up to {new.delivery.batch_duration:g} s."
        found.append(Finding(path="delivery.mode", code="LONG_PAUSE", severity="warning", message=words))
    return found


def _of_channels(old: Definition, new: Definition) -> list[Finding]:
    """Channels that begin or end with the new definition: each has a cursor of its own under its name."""
    had, has = set(old.queries()), set(new.queries())
    started = sorted(
        (read.source, channel)
        for read in new.reads()
        if not any((read.source, each) in had for each in read.channels)
        for channel in read.channels
        if read.source in old.sources
    )
    ended = sorted((source, channel) for source, channel in had - has if source in new.sources)
    return [
        *(
            Finding(
                path=f"channels.{channel}",
                code="CHANNEL_BEGINS_ANEW",
                severity="warning",
                message=f"It has read nothing of sources.{source} yet, so it starts at that source's start_from, not "
                "at the position of other channels: records can be reread or skipped.",
                suggestion="Keep the name of a channel to keep its position; otherwise check start_from.",
            )
            for source, channel in started
        ),
        *(
            Finding(
                path=f"channels.{channel}",
                code="CHANNEL_REMOVED",
                severity="warning",
                message=f"Records of sources.{source} that it has not delivered by the pause are no longer delivered "
                "by it. After a rollback it resumes at its position.",
                suggestion="If that matters, wait until its lag is zero.",
            )
            for source, channel in ended
        ),
    ]
