"""From evidence to an outcome: the ledger's proof first, then what was evaluated again, never a guess. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipelines.domain.base.states import LedgerState
from pipelines.domain.trace.protocol import (
    ChannelLedger,
    ChannelTrace,
    Evaluated,
    Evidence,
    LedgerRow,
    SinkSearch,
    TraceOutcome,
    Unknown,
)

TOPIC_RECREATED = "TOPIC_RECREATED"
VERDICTS = ("delivered", "routed_elsewhere", "filtered", "unrouted", "dead_lettered", "dropped_optional")


def proven(state: LedgerState, counts: Mapping[str, int]) -> TraceOutcome | None:
    """The outcome of every record of a finished batch, where there is but one."""
    if state not in {LedgerState.DONE, LedgerState.REPLAYED} or counts.get("added"):
        return None
    found = [name for name in VERDICTS if counts.get(name)]
    return TraceOutcome(found[0]) if len(found) == 1 else None


def concluded(
    channel: ChannelLedger, evaluated: Sequence[Evaluated], searches: Sequence[SinkSearch] = ()
) -> tuple[ChannelTrace, list[Unknown]]:
    """What became of the record in one channel, and what of that cannot be known."""
    unknown: list[Unknown] = []
    rows = {row.id for row in channel.rows}
    own = [each for each in searches if each.row in rows]
    outcome, evidence, component = _outcome(channel, {each.revision: each for each in evaluated}, own, unknown)
    found = ChannelTrace(
        source=channel.source,
        channel=channel.channel,
        outcome=outcome,
        evidence=evidence,
        component=component,
        ledger=channel,
        searches=own,
    )
    return found, [*unknown, *_merged(channel)]


Outcome = tuple[TraceOutcome, Evidence, str]


def _outcome(
    channel: ChannelLedger,
    evaluated: Mapping[int, Evaluated],
    searches: Sequence[SinkSearch],
    unknown: list[Unknown],
) -> Outcome:
    if any(each.unknown and each.unknown.code == TOPIC_RECREATED for each in evaluated.values()):
        return TraceOutcome.UNKNOWN, Evidence.NONE, ""  # ledger and sinks tell of another record
    finished = {row.id for row in channel.rows if row.state is not LedgerState.PLANNED}
    if any(each.records for each in searches if each.row in finished):
        return TraceOutcome.DELIVERED, Evidence.SINK, ""
    if channel.letters:
        return TraceOutcome.DEAD_LETTERED, Evidence.LEDGER, channel.letters[-1].component
    if not channel.rows:
        return _unread(channel, unknown)
    row = _decisive(channel.rows)
    again = evaluated.get(row.revision)
    if again is not None and again.missing:
        return TraceOutcome.NO_RECORD, Evidence.SOURCE, ""
    if row.state is LedgerState.PLANNED:
        return _in_flight(channel, row, [each for each in searches if each.row == row.id], unknown)
    if row.state is LedgerState.ABANDONED:
        words = f"A user continued elsewhere while the batch {row.first_batch} was open; the sink may hold some of it."
        unknown.append(Unknown(about=channel.channel, code="BATCH_ABANDONED", reason=words))
        return TraceOutcome.UNKNOWN, Evidence.NONE, ""
    return _of_finished(channel, row, again, [each for each in searches if each.row == row.id], unknown)


def _decisive(rows: Sequence[LedgerRow]) -> LedgerRow:
    """The last batch that moved the position; a replay alone says nothing about that."""
    own = [row for row in rows if row.state is not LedgerState.REPLAYED]
    return (own or rows)[-1]


def _unread(channel: ChannelLedger, unknown: list[Unknown]) -> Outcome:
    if channel.position is None:
        words = "The channel has read nothing of this partition."
        unknown.append(Unknown(about=channel.channel, code="NO_POSITION", reason=words))
        return TraceOutcome.NOT_READ, Evidence.LEDGER, ""
    if channel.offset >= channel.position:
        words = f"The channel reads from offset {channel.position} on."
        unknown.append(Unknown(about=channel.channel, code="NOT_READ_YET", reason=words))
        return TraceOutcome.NOT_READ, Evidence.LEDGER, ""
    if channel.first is None:
        why = "the ledger has no batch of this partition"
    elif channel.offset < channel.first:
        why = f"its first batch begins at offset {channel.first}"
    else:
        why = "a position was set past it"
    words = f"The channel reads from offset {channel.position} on and has never read this record: {why}."
    unknown.append(Unknown(about=channel.channel, code="SKIPPED", reason=words))
    return TraceOutcome.SKIPPED, Evidence.LEDGER, ""


def _in_flight(
    channel: ChannelLedger, row: LedgerRow, searches: Sequence[SinkSearch], unknown: list[Unknown]
) -> Outcome:
    there = any(each.records for each in searches)
    if there:
        sinks = ", ".join(each.sink for each in searches if each.records)
        more = f" The sink {sinks} has the record, and may get it again."
    else:
        more = " No sink has the record yet." if searches and all(each.complete for each in searches) else ""
    words = f"The batch {row.first_batch} of run {row.run} is not finished: it is planned and not acknowledged.{more}"
    unknown.append(Unknown(about=channel.channel, code="BATCH_OPEN", reason=words))
    return TraceOutcome.IN_FLIGHT, Evidence.SINK if there else Evidence.LEDGER, ""


def _of_finished(
    channel: ChannelLedger,
    row: LedgerRow,
    again: Evaluated | None,
    searches: Sequence[SinkSearch],
    unknown: list[Unknown],
) -> Outcome:
    verdict, component = _verdict(channel.channel, again)
    absent = any(each.complete for each in searches)
    if absent:
        words = f"The sink {row.sink} does not have the record: all {searches[0].searched} records were searched."
        unknown.append(Unknown(about=channel.channel, code="NOT_IN_SINK", reason=words))
    if row.proves is not None:
        return row.proves, Evidence.LEDGER, component if verdict is row.proves else ""
    if verdict is None:
        return TraceOutcome.UNKNOWN, Evidence.NONE, ""
    if absent and verdict is TraceOutcome.DELIVERED:
        return TraceOutcome.UNKNOWN, Evidence.NONE, ""
    if not row.counts.get(verdict):
        words = (
            f"Evaluated again, revision {row.revision} has the outcome {verdict}, and the ledger has no such record in "
            f"this batch."
        )
        unknown.append(Unknown(about=channel.channel, code="EVALUATION_DISAGREES", reason=words))
        return TraceOutcome.UNKNOWN, Evidence.NONE, ""
    return verdict, Evidence.EVALUATION, component


def _verdict(channel: str, again: Evaluated | None) -> tuple[TraceOutcome | None, str]:
    """Of the events that were made of the record, the first one that is delivered counts."""
    events = [event for event in (again.events if again else []) if channel in event.verdicts]
    for event in sorted(events, key=lambda each: each.verdicts[channel] != TraceOutcome.DELIVERED):
        return TraceOutcome(event.verdicts[channel]), event.component
    return None, ""


def _merged(channel: ChannelLedger) -> Iterator[Unknown]:
    for row in channel.rows:
        if row.merged:
            words = (
                f"The ledger has merged the batches {row.first_batch} to {row.last_batch} of run {row.run}; which of "
                "them had the record is not known."
            )
            yield Unknown(about=channel.channel, code="BATCHES_MERGED", reason=words)
