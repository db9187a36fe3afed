"""The spans of an operation or a migration, derived from what is recorded of it.

Nothing is measured beside the records: a worker that was killed in between changes nothing, and whoever derives the
spans again gets the same ones, with the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import Any
from uuid import UUID

from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.states import STOP_COMMANDS, AgentPhase, Command
from pipelines.domain.base.trace_context import TraceContext, span_id
from pipelines.domain.ledger.journal import (
    CommandTaken,
    ComponentState,
    Done,
    Entry,
    EntryKind,
    Exited,
    Interrupted,
    PhaseChanged,
    Planned,
)

Attributes = Mapping[str, str | int | bool]


class Process(StrEnum):
    """Whose span it is."""

    WEB = "web"
    WORKER = "worker"
    AGENT = "agent"


@dataclass(frozen=True)
class Moment:
    """Something that happened within a span."""

    name: str
    at: datetime
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class Span:
    """One span. `server`: it answers a client; `error`: why it failed, empty where it did not."""

    process: Process
    name: str
    id: str
    parent: str
    start: datetime
    end: datetime
    attributes: Attributes = field(default_factory=dict)
    error: str = ""
    server: bool = False
    moments: tuple[Moment, ...] = ()


@dataclass(frozen=True)
class Trace:
    """Spans of one trace."""

    context: TraceContext
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Stage:
    """A stage that was begun. `end`: None where it was not ended by itself."""

    name: str
    start: datetime
    end: datetime | None
    error: str = ""
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """An operation or a migration that has ended. `request`: of `audit.Actor`; `begun`: since when a supervisor could
    do something about it, None where it never could."""

    id: UUID
    context: TraceContext
    name: str
    attributes: Attributes
    request: Mapping[str, Any]
    created: datetime
    begun: datetime | None
    ended: datetime
    error: str = ""
    stages: Sequence[Stage] = ()

    @property
    def span_id(self) -> str:
        """The id of its own span, the parent of all others but the request's."""
        return span_id(self.id)

    @property
    def since(self) -> datetime:
        """Its begin, by whichever clock that is earlier: of the web server, or of the supervisor."""
        return min([self.begun or self.created, *(stage.start for stage in self.stages)])


def operation_stages(steps: Iterable[Mapping[str, Any]]) -> list[Stage]:
    """The steps of an operation that were begun."""
    return [
        Stage(
            name=step["name"],
            start=datetime.fromisoformat(step["started_at"]),
            end=_time(step["ended_at"]),
            error=_failure(step),
        )
        for step in steps
        if step["started_at"]
    ]


def migration_stages(steps: Iterable[Mapping[str, Any]]) -> list[Stage]:
    """The steps of a migration that were begun, and how long each has waited at its gate."""
    return list(chain.from_iterable(_migration_step(step) for step in steps))


def _migration_step(step: Mapping[str, Any]) -> Iterable[Stage]:
    begun, held = _time(step["intent_at"]), _time(step.get("held_at"))
    about: Attributes = {"headgate.migration.stage": step["stage"]}
    if held is not None:
        yield Stage(f"gate before {step['name']}", held, begun, attributes=about)
    if begun is not None:
        yield Stage(
            name=step["name"],
            start=begun,
            end=_time(step["done_at"]),
            error=_failure(step),
            attributes={**about, "headgate.attempts": step["tried"]},
        )


def _failure(step: Mapping[str, Any]) -> str:
    return (step["message"] or "It failed.") if step["state"] == "failed" else ""


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def spans_of(subject: Subject, signs: Sequence[datetime] = ()) -> list[Span]:
    """The spans of web server and supervisor: the request, the subject itself, its pick-up and its stages. `signs`:
    when an agent was started for it, or had an order of it, which shows that it was picked up: a tick records a stage
    when it looks again."""
    request = _request(subject)
    own = Span(
        process=Process.WORKER,
        name=subject.name,
        id=subject.span_id,
        parent=request[0].id if request else subject.context.span_id,
        start=subject.created,
        end=max(subject.created, subject.ended),
        attributes=subject.attributes,
        error=subject.error,
    )
    return [*request, own, *_picked_up(subject, signs), *_stages(subject)]


def _request(subject: Subject) -> list[Span]:
    """The request, up to the moment at which the subject was written down."""
    asked = subject.request
    if not asked:
        return []
    start = datetime.fromisoformat(asked["at"])
    about = {
        "http.request.method": asked["method"],
        "http.route": asked["route"],
        "user.id": asked["user_id"],
        "headgate.request.id": asked["request_id"],
        **subject.attributes,
    }
    return [
        Span(
            process=Process.WEB,
            name=f"{asked['method']} {asked['route']}",
            id=span_id(subject.id, "request"),
            parent=subject.context.span_id,
            start=start,
            end=max(start, subject.created),
            attributes=about,
            server=True,
        )
    ]


def _picked_up(subject: Subject, signs: Sequence[datetime]) -> list[Span]:
    """How long it waited for a supervisor."""
    first = min([*(stage.start for stage in subject.stages), *signs], default=None)
    if subject.begun is None or first is None:
        return []
    start = min(subject.begun, first)
    return [_child(subject, Process.WORKER, "pick-up", start, first, names=("pick-up",))]


def _stages(subject: Subject) -> Iterable[Span]:
    for index, stage in enumerate(subject.stages):
        end = stage.end or subject.ended
        yield _child(
            subject,
            Process.WORKER,
            f"stage {stage.name}",
            stage.start,
            end,
            names=("stage", index),
            attributes={"headgate.stage": stage.name, **stage.attributes},
            error=stage.error,
        )


def _child(
    subject: Subject,
    process: Process,
    name: str,
    start: datetime,
    end: datetime,
    *,
    names: Sequence[str | int],
    parent: str = "",
    **more: Any,
) -> Span:
    own, above = span_id(subject.id, *names), parent or subject.span_id
    return Span(process=process, name=name, id=own, parent=above, start=start, end=max(start, end), **more)


@dataclass(frozen=True)
class RunFacts:
    """A run that lived meanwhile. `started`: when its start was recorded."""

    number: int
    host: str
    role: str
    started: datetime


def agent_spans(subject: Subject, run: RunFacts, entries: Sequence[Entry]) -> list[Span]:
    """What the journal of a run tells of the time of the subject: the start of the agent with the preflight check of
    each component and the first batches, and every command with drain and exit. `entries` can have gaps."""
    lines = [_Line.of(entry) for entry in entries if entry.kind in _TOLD]
    return _Agent(subject, run, [line for line in lines if line is not None]).spans()


_TOLD = {
    EntryKind.PHASE,
    EntryKind.COMPONENT,
    EntryKind.COMMAND,
    EntryKind.PLANNED,
    EntryKind.DONE,
    EntryKind.INTERRUPTED,
    EntryKind.EXIT,
}
_UNDER_WAY = {AgentPhase.PREFLIGHT, AgentPhase.STARTING}
_ENDING = {AgentPhase.STOPPING, AgentPhase.STOPPED, AgentPhase.FAILED}


@dataclass(frozen=True)
class _Line:
    at: datetime
    told: Frozen

    @classmethod
    def of(cls, entry: Entry) -> _Line | None:
        """None for an entry of another version that this one cannot read."""
        try:
            return cls(datetime.fromtimestamp(entry.at, UTC), entry.payload())
        except (ValueError, OverflowError, OSError):
            return None


@dataclass(frozen=True)
class _Agent:
    subject: Subject
    run: RunFacts
    lines: Sequence[_Line]

    def spans(self) -> list[Span]:
        return [*self._start(), *self._commands()]

    def _span(self, name: str, start: datetime, end: datetime, *names: str | int, **more: Any) -> Span:
        about = {"headgate.run": self.run.number, "headgate.host": self.run.host, **more.pop("attributes", {})}
        process = more.pop("process", Process.AGENT)
        own = ("run", self.run.number, *names)
        return _child(self.subject, process, name, start, end, names=own, attributes=about, **more)

    def _is_within(self, at: datetime) -> bool:
        return self.subject.since <= at <= self.subject.ended

    def _exit(self) -> _Line | None:
        return next((line for line in self.lines if isinstance(line.told, Exited)), None)

    def _start(self) -> Iterable[Span]:
        """From the record of the intent to the first phase in which the agent is at work, or at rest."""
        phases = [(line.at, line.told) for line in self.lines if isinstance(line.told, PhaseChanged)]
        begin = next((at for at, told in phases if told.phase == AgentPhase.PREFLIGHT), None)
        if begin is None or not self._is_within(begin):
            return
        if self.run.started <= begin:
            yield self._span("launch agent", self.run.started, begin, "launch", process=Process.WORKER)
        ready = next(((at, told) for at, told in phases if told.phase not in _UNDER_WAY), None)
        end = ready[0] if ready else self.subject.ended
        error = (ready[1].reason or "It ended.") if ready and ready[1].phase in _ENDING else ""
        own = self._span("agent start", begin, end, "start", error=error, attributes={"headgate.role": self.run.role})
        yield own
        yield from self._preflights(begin, own.id)
        yield from self._first_batches(begin, own.id)

    def _preflights(self, begin: datetime, parent: str) -> Iterable[Span]:
        """All components are checked side by side; the first that is said of each is its outcome."""
        known = set[str]()
        for line in self.lines:
            told = line.told
            if not isinstance(told, ComponentState) or told.name in known or told.state == "initialising":
                continue
            known.add(told.name)
            yield self._span(
                f"preflight {told.name}",
                begin,
                line.at,
                "preflight",
                told.name,
                parent=parent,
                attributes={"headgate.component.kind": told.kind, "headgate.component.type": told.type},
                error=(told.detail or "It failed.") if told.state == "failed" else "",
            )

    def _first_batches(self, begin: datetime, parent: str) -> Iterable[Span]:
        """The first batch of each channel, where it was begun in time; it may have ended later."""
        planned = dict[tuple[str, str, int], datetime]()
        known = set[tuple[str, str]]()
        for line in self.lines:
            told = line.told
            if isinstance(told, Planned):
                planned.setdefault((told.source, told.channel, told.batch), line.at)
            if not isinstance(told, Done) or (told.source, told.channel) in known:
                continue
            known.add((told.source, told.channel))
            start = planned.get((told.source, told.channel, told.batch))
            if start is not None and begin <= start <= self.subject.ended:
                name = f"{told.source}.{told.channel}"
                about = {"headgate.batch": told.batch, "headgate.sink": told.sink, "headgate.records": told.counts.read}
                yield self._span(f"first batch {name}", start, line.at, "batch", name, parent=parent, attributes=about)

    def _commands(self) -> Iterable[Span]:
        taken = [(line.at, line.told) for line in self.lines if isinstance(line.told, CommandTaken)]
        for at, told in taken:
            if told.state != "accepted" or not self._is_within(at):
                continue
            if told.command in STOP_COMMANDS:
                yield from self._stop(at, told)
            else:
                done = next((end for end, each in taken if each.seq == told.seq and each.state == "done"), None)
                yield self._command(at, done, told)

    def _command(self, at: datetime, end: datetime | None, told: CommandTaken, **more: Any) -> Span:
        name = f"command {told.command}"
        return self._span(name, at, end or self.subject.ended, "command", told.seq, **more)

    def _stop(self, at: datetime, told: CommandTaken) -> Iterable[Span]:
        """A stop, up to the driver's last word: the batches that were still acknowledged, and what followed."""
        last = self._exit()
        word = last.told if last else None
        interrupts = tuple(
            Moment(f"interrupt {each.told.number}", each.at, {"headgate.stuck": ", ".join(each.told.stuck)})
            for each in self.lines
            if isinstance(each.told, Interrupted) and each.at >= at
        )
        error = word.reason if isinstance(word, Exited) and word.code else ""
        own = self._command(at, last.at if last else None, told, error=error, moments=interrupts)
        yield own
        drained = max((e.at for e in self.lines if isinstance(e.told, Done) and at <= e.at <= own.end), default=at)
        if told.command == Command.DRAIN_AND_STOP:
            yield self._span("drain", at, drained, "drain", told.seq, parent=own.id)
        if isinstance(word, Exited):
            about = {"headgate.exit_code": word.code}
            yield self._span("exit", drained, own.end, "exit", told.seq, parent=own.id, attributes=about)
