"""Spans from what is recorded: of an operation, of a migration, and of an agent's journal."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from pipelines.domain.base.positions import Frozen, PartitionRange
from pipelines.domain.base.trace_context import TraceContext
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.monitoring.spans import (
    Process,
    RunFacts,
    Span,
    Stage,
    Subject,
    agent_spans,
    migration_stages,
    operation_stages,
    spans_of,
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ID = UUID("0190a1b2-c3d4-4e5f-8a9b-0c1d2e3f4a5b")
CALLER = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def request(seconds: float) -> dict[str, Any]:
    route = "/api/v1/pipelines/<name:name>/start"
    return {"method": "POST", "route": route, "user_id": "7", "request_id": "r-1", "at": at(seconds).isoformat()}


SUBJECT = Subject(
    id=ID,
    context=CALLER,
    name="operation start",
    attributes={"headgate.operation.id": str(ID)},
    request=request(-0.5),
    created=at(0),
    begun=at(0),
    ended=at(9),
    stages=[
        Stage("preflight", at(1), at(4)),
        Stage("starting", at(4), at(8)),
        Stage("first_batch_or_idle", at(8), None),
    ],
)
RUN = RunFacts(number=3, host="alpha", role="ACTIVE", started=at(1))


def by_name(spans: list[Span]) -> dict[str, Span]:
    found = {span.name: span for span in spans}
    assert len(found) == len(spans)
    assert len({span.id for span in spans}) == len(spans)
    assert all(span.start <= span.end for span in spans)
    return found


def times(span: Span) -> tuple[float, float]:
    return (span.start - BEGIN).total_seconds(), (span.end - BEGIN).total_seconds()


def step(
    name: str, state: str, begun: float | None = None, ended: float | None = None, words: str = ""
) -> dict[str, Any]:
    return {
        "name": name,
        "state": state,
        "started_at": None if begun is None else at(begun).isoformat(),
        "ended_at": None if ended is None else at(ended).isoformat(),
        "message": words,
    }


def test_a_request_is_the_parent_of_its_operation_and_that_of_its_stages() -> None:
    found = by_name(spans_of(SUBJECT))
    asked, own = found["POST /api/v1/pipelines/<name:name>/start"], found["operation start"]
    assert (asked.process, asked.server, asked.parent, times(asked)) == (Process.WEB, True, CALLER.span_id, (-0.5, 0))
    assert asked.attributes["http.route"] == "/api/v1/pipelines/<name:name>/start"
    assert asked.attributes["user.id"] == "7"
    assert asked.attributes["headgate.operation.id"] == str(ID)
    assert (own.parent, times(own)) == (asked.id, (0, 9))
    children = {name: span for name, span in found.items() if span not in (asked, own)}
    assert {name: (span.parent, times(span)) for name, span in children.items()} == {
        "pick-up": (own.id, (0, 1)),
        "stage preflight": (own.id, (1, 4)),
        "stage starting": (own.id, (4, 8)),
        "stage first_batch_or_idle": (own.id, (8, 9)),
    }
    assert {span.process for span in (own, *children.values())} == {Process.WORKER}


def test_the_first_sign_of_an_agent_ends_the_pick_up_where_a_stage_was_recorded_later() -> None:
    assert times(by_name(spans_of(SUBJECT, [at(0.2), at(3)]))["pick-up"]) == (0, 0.2)
    assert times(by_name(spans_of(SUBJECT, [at(3)]))["pick-up"]) == (0, 1)
    assert times(by_name(spans_of(replace(SUBJECT, stages=[]), [at(3)]))["pick-up"]) == (0, 3)


def test_spans_that_are_derived_again_are_the_same() -> None:
    assert spans_of(SUBJECT) == spans_of(SUBJECT)
    others = spans_of(replace(SUBJECT, id=UUID(int=7)))
    assert not {span.id for span in others} & {span.id for span in spans_of(SUBJECT)}


def test_without_a_request_the_operation_is_the_child_of_the_caller_or_the_root() -> None:
    assert by_name(spans_of(replace(SUBJECT, request={})))["operation start"].parent == CALLER.span_id
    own_trace = replace(SUBJECT, request={}, context=TraceContext(ID.hex))
    assert by_name(spans_of(own_trace))["operation start"].parent == ""


def test_an_operation_that_nobody_picked_up_has_no_stage() -> None:
    found = by_name(spans_of(replace(SUBJECT, stages=[], request={}, error="It timed out.")))
    assert {name: span.error for name, span in found.items()} == {"operation start": "It timed out."}


def test_a_supervisor_whose_clock_is_behind_makes_no_span_that_ends_before_it_begins() -> None:
    found = by_name(spans_of(replace(SUBJECT, created=at(30), begun=at(30), ended=at(9))))
    assert times(found["operation start"]) == (30, 30)
    assert times(found["pick-up"]) == (1, 1)


def test_only_steps_that_were_begun_are_stages_and_one_that_failed_says_why() -> None:
    steps = [
        step("preflight", "done", 1, 2),
        step("starting", "failed", 2, 5, "The broker is away."),
        step("first_batch_or_idle", "pending"),
    ]
    assert operation_stages(steps) == [
        Stage("preflight", at(1), at(2)),
        Stage("starting", at(2), at(5), "The broker is away."),
    ]


def test_a_step_of_a_migration_is_a_stage_and_so_is_its_wait_at_a_gate() -> None:
    row = {"name": "promote", "stage": "RESUMING", "tried": 2, "message": "", "state": "done"}
    told = {"intent_at": at(5).isoformat(), "done_at": at(6).isoformat(), "held_at": at(1).isoformat()}
    waiting = {"name": "observe", "stage": "VERIFYING", "tried": 0, "message": "", "state": "skipped"}
    rows = [{**row, **told}, {**waiting, "intent_at": None, "done_at": None}]
    gate, stage = migration_stages(rows)
    assert (gate.name, gate.start, gate.end) == ("gate before promote", at(1), at(5))
    assert (stage.name, stage.start, stage.end, stage.error) == ("promote", at(5), at(6), "")
    assert stage.attributes == {"headgate.migration.stage": "RESUMING", "headgate.attempts": 2}


def entries(*told: tuple[float, EntryKind, Frozen]) -> list[Entry]:
    return [
        Entry(n=n + 1, epoch=3, at=at(seconds).timestamp(), kind=kind, data=payload.model_dump(mode="json"))
        for n, (seconds, kind, payload) in enumerate(told)
    ]


def phase(seconds: float, name: str, reason: str = "") -> tuple[float, EntryKind, Frozen]:
    return seconds, EntryKind.PHASE, journal.PhaseChanged(phase=name, reason=reason)


def component(seconds: float, name: str, state: str = "ready", detail: str = "") -> tuple[float, EntryKind, Frozen]:
    told = journal.ComponentState(name=name, kind="sink", type="kafka", state=state, detail=detail)
    return seconds, EntryKind.COMPONENT, told


def command(seconds: float, seq: int, name: str, state: str = "accepted") -> tuple[float, EntryKind, Frozen]:
    return seconds, EntryKind.COMMAND, journal.CommandTaken(seq=seq, command=name, state=state)


def ranges(batch: int) -> list[PartitionRange]:
    return [PartitionRange(topic="orders", partition=0, start=batch * 10, end=batch * 10 + 10)]


def planned(seconds: float, batch: int) -> tuple[float, EntryKind, Frozen]:
    told = journal.Planned(source="shop", channel="main", batch=batch, ranges=ranges(batch))
    return seconds, EntryKind.PLANNED, told


def done(seconds: float, batch: int) -> tuple[float, EntryKind, Frozen]:
    counts = Counts(read=10, delivered=10)
    told = journal.Done(source="shop", channel="main", batch=batch, ranges=ranges(batch), counts=counts, sink="out")
    return seconds, EntryKind.DONE, told


def ended(seconds: float, code: int = 0, reason: str = "stop") -> tuple[float, EntryKind, Frozen]:
    return seconds, EntryKind.EXIT, journal.Exited(code=code, reason=reason)


START = (
    phase(2, "PREFLIGHT"),
    command(2.1, 1, "run"),
    component(3, "sources.shop"),
    component(4, "sinks.out"),
    phase(4.5, "STARTING"),
    command(4.6, 1, "run", "done"),
    planned(5, 0),
    done(6, 0),
    phase(7, "RUNNING"),
    component(7.5, "sinks.out", "failed", "away for a moment"),
    planned(8, 1),
    done(8.5, 1),
)


def test_a_start_has_the_preflight_check_of_each_component_and_the_first_batch() -> None:
    found = by_name(agent_spans(SUBJECT, RUN, entries(*START)))
    assert {name: (span.process, times(span)) for name, span in found.items()} == {
        "launch agent": (Process.WORKER, (1, 2)),
        "agent start": (Process.AGENT, (2, 7)),
        "preflight sources.shop": (Process.AGENT, (2, 3)),
        "preflight sinks.out": (Process.AGENT, (2, 4)),
        "first batch shop.main": (Process.AGENT, (5, 6)),
        "command run": (Process.AGENT, (2.1, 4.6)),
    }
    start = found["agent start"]
    assert {found[name].parent for name in found if name.startswith(("preflight", "first"))} == {start.id}
    assert start.parent == SUBJECT.span_id
    assert not any(span.error for span in found.values())
    assert all(span.attributes["headgate.run"] == 3 for span in found.values())


def test_a_first_batch_that_ends_after_the_operation_belongs_to_it_and_one_that_begins_later_does_not() -> None:
    late = (phase(2, "PREFLIGHT"), planned(8.9, 0), done(12, 0))
    assert times(by_name(agent_spans(SUBJECT, RUN, entries(*late)))["first batch shop.main"]) == (8.9, 12)
    later = (phase(2, "PREFLIGHT"), phase(7, "RUNNING"), planned(20, 0), done(21, 0))
    assert "first batch shop.main" not in by_name(agent_spans(SUBJECT, RUN, entries(*later)))


def test_a_component_that_fails_its_preflight_check_is_an_error_and_so_is_the_start() -> None:
    told = (
        phase(2, "PREFLIGHT"),
        component(3, "sinks.out", "failed", "The broker is away."),
        phase(3.5, "STOPPING", "preflight has findings"),
        ended(4, 10, "preflight has findings"),
    )
    found = by_name(agent_spans(SUBJECT, RUN, entries(*told)))
    assert found["preflight sinks.out"].error == "The broker is away."
    assert (found["agent start"].error, times(found["agent start"])) == ("preflight has findings", (2, 3.5))


def test_an_agent_that_was_killed_while_it_started_has_an_open_end() -> None:
    found = by_name(agent_spans(SUBJECT, RUN, entries(phase(2, "PREFLIGHT"), component(3, "sources.shop"))))
    assert times(found["agent start"]) == (2, 9)
    assert times(found["preflight sources.shop"]) == (2, 3)


STOP = replace(SUBJECT, name="operation stop", created=at(100), begun=at(100), ended=at(110), stages=[])


def test_a_stop_drains_and_exits() -> None:
    told = (planned(99, 7), command(101, 2, "drain_and_stop"), phase(101.1, "STOPPING"), done(104, 7))
    last = (command(105, 2, "drain_and_stop", "done"), phase(105.5, "STOPPED"), ended(106))
    found = by_name(agent_spans(STOP, RUN, entries(*START, *told, *last)))
    assert {name: times(span) for name, span in found.items()} == {
        "command drain_and_stop": (101, 106),
        "drain": (101, 104),
        "exit": (104, 106),
    }
    own = found["command drain_and_stop"]
    assert {found["drain"].parent, found["exit"].parent} == {own.id}
    assert (own.error, found["exit"].attributes["headgate.exit_code"]) == ("", 0)


def test_an_idle_agent_drains_nothing_and_interrupts_are_moments_of_the_stop() -> None:
    stuck = journal.Interrupted(number=1, stuck=["sinks.out"])
    told = (command(101, 2, "stop"), (103.0, EntryKind.INTERRUPTED, stuck), ended(106, 12, "the query ended"))
    found = by_name(agent_spans(STOP, RUN, entries(*told)))
    own = found["command stop"]
    assert set(found) == {"command stop", "exit"}
    assert [(each.name, each.at, each.attributes) for each in own.moments] == [
        ("interrupt 1", at(103), {"headgate.stuck": "sinks.out"})
    ]
    assert own.error == "the query ended"


def test_a_pause_lasts_until_it_is_done_and_one_that_is_never_done_until_the_operation_ends() -> None:
    told = (command(101, 2, "pause"), command(104, 2, "pause", "done"), command(105, 3, "run"))
    found = by_name(agent_spans(STOP, RUN, entries(*told)))
    assert {name: times(span) for name, span in found.items()} == {
        "command pause": (101, 104),
        "command run": (105, 110),
    }


def test_what_another_version_has_written_is_left_out() -> None:
    (good,) = entries(command(101, 2, "pause"))
    strange = good.model_copy(update={"n": 2, "data": {"nonsense": True}})
    unreadable = good.model_copy(update={"n": 3, "at": 1e300})
    found = by_name(agent_spans(STOP, RUN, [good, strange, unreadable]))
    assert set(found) == {"command pause"}


def test_a_run_that_did_nothing_meanwhile_has_no_span() -> None:
    assert agent_spans(STOP, RUN, entries(*START)) == []
    assert agent_spans(STOP, RUN, []) == []
