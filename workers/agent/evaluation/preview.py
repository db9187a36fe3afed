"""Two revisions on the same records: what is read, what both make of it, and what of that may be shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview import chains, comparing, json_changes
from pipelines.domain.preview.chains import Changed, State
from pipelines.domain.preview.comparing import Difference, DifferenceKind, Volatile
from pipelines.domain.preview.masking import Rules, Shown
from pipelines.domain.preview.outcomes import Content, EventResult, Origin, Outcome
from pipelines.domain.preview.protocol import (
    MOST_DIFFERENCES,
    ChangedValue,
    CountRow,
    DifferenceRow,
    NotCompared,
    PreviewRequest,
    PreviewResult,
    RangeRead,
    ShownSide,
    without_events,
)
from workers.agent.base.findings import refuse
from workers.agent.evaluation import reading
from workers.agent.evaluation.outcomes import Evaluation, evaluation, graph_of, states_of
from workers.agent.evaluation.reading import MOST_BODY, Records
from workers.agent.graph.component import own_keys
from workers.agent.ranges.ranges import lost_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workers.agent.base.event import Event

_MOST_CHANGES = 50
"""Places of one body, and headers of one event, that are shown as changed."""
_MOST_SHOWN = 32 * 1024 * 1024
"""Characters of all events that are shown; from there on, differences have none."""


def preview(spark: SparkSession, request: PreviewRequest, tmp: Path) -> PreviewResult:
    """Read, run both, compare. Raises Refused."""
    sides = {"old": request.base, "new": request.candidate}
    graphs = [graph_of(request, side, tmp / name) for name, side in sides.items()]
    definitions = [graph.definition for graph in graphs]
    source = _source(request.source, definitions)
    old, new = (evaluation(spark, graph, source) for graph in graphs)
    for each in (old, new):
        each.reader.open_beside()
    require_one_log(old, new)
    try:
        return _compared(spark, old, new, request, Rules.of(definitions, request.masked))
    except Exception as error:
        if lost := lost_in(error):
            message = f"Records went away while they were read: {lost}."
            raise refuse(new.reader.place.path, "RECORDS_GONE", message, "Request it again.", retryable=True) from error
        raise


def _compared(
    spark: SparkSession, old: Evaluation, new: Evaluation, request: PreviewRequest, rules: Rules
) -> PreviewResult:
    records = reading.read(spark, new.reader, request.selection)
    try:
        known = frozenset(old.reader.log_ranges())
        return compared(Reader(old, new, records, known, frozenset(records.extent.ends), spark), rules)
    finally:
        records.close()


def compared(reader: Reader, rules: Rules, ignored: Volatile | None = None) -> PreviewResult:
    """What both revisions make of the records, event by event. `ignored`: what of it is not compared; None: what the
    old revision does not repeat."""
    return _Comparison(reader, rules, ignored).result()


def _source(wanted: str, definitions: Iterable[Definition]) -> str:
    common = sorted(set.intersection(*(set(each.sources) for each in definitions)))
    source = wanted or (common[0] if len(common) == 1 else "")
    if source not in common:
        message = f"Name one of the sources that both revisions have: {', '.join(common)}."
        raise refuse("source", "UNKNOWN_SOURCE", message if common else "The revisions have no source in common.")
    return source


def require_one_log(old: Evaluation, new: Evaluation) -> None:
    """Raises Refused where the source is in another cluster than before: its offsets are of other records."""
    if own_keys(old.reader.spec) == own_keys(new.reader.spec):
        return
    if other := new.reader.other_log(old.reader):
        message = f"{other}, so they have no records in common."
        raise refuse(new.reader.place.path, "OTHER_LOG", message, "Preview the other changes without this one.")


@dataclass(frozen=True)
class Reader:
    """Both revisions, the records for them, and the partitions that each reads."""

    old: Evaluation
    new: Evaluation
    records: Records
    old_partitions: frozenset[TopicPartition]
    new_partitions: frozenset[TopicPartition]
    spark: SparkSession

    def frame(self, side: Evaluation) -> tuple[DataFrame, Event] | None:
        """The records as one of them reads them; None where it reads none of their partitions."""
        own = self.old_partitions if side is self.old else self.new_partitions
        read = own.intersection(self.records.extent.ends)
        return self.records.frame(self.spark, side.reader, read) if read else None

    def outcomes(self, side: Evaluation) -> list[Outcome]:
        """What becomes of the records under one of them."""
        read = self.frame(side)
        return side.outcomes(*read, MOST_BODY) if read else []

    def states(self, side: Evaluation, origins: Iterable[Origin], counts: list[int]) -> dict[int, dict[Origin, State]]:
        """The same records behind so many interceptors each."""
        read = self.frame(side) if counts else None
        if read is None:
            return {}
        frame, event = read
        return side.states(reading.only(frame, origins), event, counts, MOST_BODY)


class _Comparison:
    """One comparison; a second run of the old revision says what no run repeats, where that is not known."""

    def __init__(self, reader: Reader, rules: Rules, ignored: Volatile | None) -> None:
        self._reader, self._rules = reader, rules
        self._before = reader.outcomes(reader.old)
        self._after = reader.outcomes(reader.new)
        self._ignored = self._volatile() if ignored is None else ignored
        self._found = comparing.differences(self._before, self._after, self._ignored)
        self._changed = chains.changed(_specs(reader.old), _specs(reader.new))

    def _volatile(self) -> Volatile:
        again = self._reader.outcomes(self._reader.old) if self._before else []
        return comparing.volatile(self._before, again)

    def result(self) -> PreviewResult:
        records = self._reader.records
        shown = self._found[:MOST_DIFFERENCES]
        rows = self._within_bound(self._rows(shown))
        return PreviewResult(
            source=self._reader.new.source,
            records=records.number,
            size=records.size,
            ranges=[
                RangeRead(topic=key.topic, partition=key.partition, start=records.extent.starts[key], end=end)
                for key, end in records.extent.ends.items()
            ],
            notes=self._notes(),
            counts=[CountRow(**vars(each)) for each in comparing.counts(self._before, self._after)],
            before=comparing.totals(self._before),
            after=comparing.totals(self._after),
            kinds={DifferenceKind(name): number for name, number in comparing.by_kind(self._found).items()},
            components=dict(Counter(path for row in rows for path in row.components)),
            differing=len(self._found),
            not_compared=NotCompared.of(self._ignored),
            differences=rows,
        )

    def _notes(self) -> list[str]:
        notes = [*self._reader.records.extent.notes]
        if len(self._found) > MOST_DIFFERENCES:
            notes.append(f"{len(self._found)} events differ; the first {MOST_DIFFERENCES} are listed.")
        return notes

    def _rows(self, found: list[Difference]) -> list[DifferenceRow]:
        origins = {each.origin for each in found}
        old = self._states(self._reader.old, origins, [each.before for each in self._changed])
        new = self._states(self._reader.new, origins, [each.after for each in self._changed])
        return [self._row(each, states_of(each.origin, old), states_of(each.origin, new)) for each in found]

    def _states(
        self, side: Evaluation, origins: set[Origin], stretches: list[tuple[int, int]]
    ) -> dict[int, dict[Origin, State]]:
        wanted = chains.needed(stretches) if origins else []
        return self._reader.states(side, origins, wanted)

    def _row(self, found: Difference, old: dict[int, State], new: dict[int, State]) -> DifferenceRow:
        sides = [side.content for side in (found.before, found.after) if side]
        shown = self._rules.for_record([*sides, *(state.content for state in (*old.values(), *new.values()))])
        both = (found.before.content, found.after.content) if found.before and found.after else None
        return DifferenceRow(
            topic=found.origin.topic,
            partition=found.origin.partition,
            offset=found.origin.offset,
            copy_number=found.origin.copy,
            kinds=list(found.kinds),
            components=self._components(found, old, new),
            record=shown.event(read.content) if (read := new.get(0) or old.get(0)) else None,
            before=_side(found.before, shown),
            after=_side(found.after, shown),
            headers=_headers(*both, self._ignored, shown) if both and DifferenceKind.HEADERS in found.kinds else [],
            body=_body(*both, shown) if both and DifferenceKind.BODY in found.kinds else [],
        )

    def _components(self, found: Difference, old: dict[int, State], new: dict[int, State]) -> list[str]:
        """The changed interceptors that did something to the event, under either revision, and the changed selector
        where other channels were chosen."""
        reader = self._reader
        paths = {path for each in self._changed for path in _effective(reader, each, old, new, self._ignored)}
        before, after = reader.old.reader.spec, reader.new.reader.spec
        routed = {DifferenceKind.ROUTED_ELSEWHERE, DifferenceKind.NEWLY_UNROUTED, DifferenceKind.NO_LONGER_UNROUTED}
        if before.selector != after.selector and routed.intersection(found.kinds):
            paths.add(f"sources.{reader.new.source}.selector")
        return sorted(paths)

    @staticmethod
    def _within_bound(rows: list[DifferenceRow]) -> list[DifferenceRow]:
        left, kept = _MOST_SHOWN, []
        for row in rows:
            left -= len(row.model_dump_json())
            kept.append(row if left >= 0 else without_events(row))
        return kept


def _effective(
    reader: Reader, changed: Changed, old: dict[int, State], new: dict[int, State], ignored: Volatile
) -> set[str]:
    """Paths as the new revision has them; of an interceptor that it does not have, as the old one had it."""
    paths = {_path(reader.new, index) for index in chains.effective(changed.after, new, ignored)}
    before, after = changed.before, changed.after
    for index in chains.effective(before, old, ignored):
        same_place = index - before[0] < after[1] - after[0]
        paths.add(
            _path(reader.new, after[0] + index - before[0]) if same_place else f"{_path(reader.old, index)} (old)"
        )
    return paths


def _path(side: Evaluation, index: int) -> str:
    return f"sources.{side.source}.interceptors[{index}]"


def _specs(side: Evaluation) -> list[dict[str, Any]]:
    return [each.spec.model_dump(mode="json") for each in side.interceptors]


def _side(outcome: Outcome | None, shown: Shown) -> ShownSide | None:
    if outcome is None:
        return None
    filtered = outcome.result is EventResult.FILTERED  # the interceptors behind would show what no agent makes
    return ShownSide(
        result=outcome.result,
        channels=list(outcome.channels),
        component=outcome.component,
        cause=shown.mask.text(outcome.cause),
        event=None if filtered else shown.event(outcome.content),
    )


def _headers(before: Content, after: Content, ignored: Volatile, shown: Shown) -> list[ChangedValue]:
    old, new = comparing.by_name(before), comparing.by_name(after)
    names = [name for name in comparing.differing_headers(before, after) if name not in ignored.headers]
    return [
        ChangedValue(
            name=shown.mask.text(name),
            before=_values(name, old.get(name), shown),
            after=_values(name, new.get(name), shown),
        )
        for name in names[:_MOST_CHANGES]
    ]


def _values(name: str, values: list[bytes] | None, shown: Shown) -> str | None:
    return None if values is None else ", ".join(shown.header(name, value) for value in values)


def _body(before: Content, after: Content, shown: Shown) -> list[ChangedValue]:
    if not (before.is_whole and after.is_whole):
        return []
    old, new = json_changes.parsed(before.body), json_changes.parsed(after.body)
    if json_changes.MISSING in (old, new):
        return []
    found = [*json_changes.changes(old, new)][:_MOST_CHANGES]
    return [
        ChangedValue(
            name=shown.mask.text(each.pointer),
            before=shown.value(each.path, each.before),
            after=shown.value(each.path, each.after),
        )
        for each in found
    ]
