"""What the plan of a revision predicts: by a preview of each source whose records the change concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.migration.outcome import ChannelOutcome, Outcome
from pipelines.domain.preview.comparing import Totals
from pipelines.domain.preview.selection import PreviewSelection

PREDICTING = "PREDICTING"
"""The host makes a preview, which the plan waits for."""
PREDICTED_WITHIN = 150.0
"""Seconds that a plan waits for a preview."""
SELECTION = PreviewSelection(since=600)
"""The records of the last ten minutes, or the newest of them where there are more than a preview takes."""
_LEAST_SHARE = 0.5
"""Of the records that are delivered now; less has to be acknowledged."""


class Prediction(Frozen):
    """What becomes of the records of one source: `before` under the present revision, `after` under the new one, of
    `records` that were read. `reason`: why nothing is predicted; `pending`: the preview is being made."""

    source: str
    preview: UUID | None = None
    pending: bool = False
    reason: str = ""
    records: int = 0
    before: Totals | None = None
    after: Totals | None = None

    @property
    def words(self) -> str:
        """Why nothing is predicted, as a sentence; empty where something is."""
        return f"Not predicted, because {self.reason}." if self.reason else ""

    @property
    def missing(self) -> int:
        """Events that are delivered now, and would not be any more."""
        return max(0, self.before.delivered - self.after.delivered) if self.before and self.after else 0

    @property
    def is_loss(self) -> bool:
        """Whether less than half of what is delivered now would be."""
        both = self.before is not None and self.after is not None
        return both and self.after.delivered < self.before.delivered * _LEAST_SHARE  # type: ignore[union-attr]


def unchanged(old: Definition, new: Definition, source: str) -> str:
    """Why no preview of a source says anything; empty where one does."""
    if source not in old.sources:
        return "the present revision does not have this source"
    if (old.sources[source], old.targets(source)) == (new.sources[source], new.targets(source)):
        return "the change leaves the source, its interceptors and its selector as they are"
    return ""


def of_result(source: str, preview: UUID, result: Mapping[str, Any]) -> Prediction:
    """What a preview has shown."""
    found = Prediction(
        source=source,
        preview=preview,
        records=result["records"],
        before=result.get("before"),
        after=result.get("after"),
    )
    if not found.records:
        return Prediction(source=source, preview=preview, reason="the source has no records of the last 10 minutes")
    return found


def to_acknowledge(predictions: Iterable[Prediction]) -> int | None:
    """The number of events that a user has to repeat before the migration starts: those that are delivered now and
    would not be any more, of sources that would lose more than half. None where nothing has to be acknowledged."""
    return sum(each.missing for each in predictions if each.is_loss) or None


def pending(predictions: Iterable[Prediction]) -> list[Finding]:
    """What the plan waits for."""
    words = "The pipeline's host previews the change on records of this source."
    return [
        Finding(path=f"sources.{each.source}", code=PREDICTING, message=words, suggestion="Plan again in a moment.")
        for each in predictions
        if each.pending
    ]


def outcome(predictions: Iterable[Prediction]) -> Outcome:
    """What is predicted of the new revision, for the rules of the verification."""
    return Outcome(
        sources={each.source: _channels(each.records, each.after) for each in predictions if each.after is not None}
    )


def _channels(records: int, totals: Totals) -> dict[str, ChannelOutcome]:
    return {
        name: ChannelOutcome(
            read=records,
            events=totals.events,
            delivered=number,
            filtered=totals.filtered,
            size=totals.sizes.get(name, 0),
            sized=number if name in totals.sizes else 0,
        )
        for name, number in totals.channels.items()
    }


class OutcomeRow(Frozen):
    """A figure of one source under the present revision, as it was predicted, and as it was found; None where nobody
    knows it. Shares are of events, `output_per_record` of records read, `bytes_per_output` of the bodies delivered."""

    source: str
    figure: str
    component: str = ""
    present: float | None
    predicted: float | None
    found: float | None


def side_by_side(predictions: Sequence[Prediction], before: Outcome, found: Outcome) -> list[OutcomeRow]:
    """Prediction and outcome. `before`: of the last hour, for sources of which no preview was made."""
    by_source = {each.source: each for each in predictions}
    rows: list[OutcomeRow] = []
    for source in sorted({*by_source, *before.sources, *found.sources}):
        made = by_source.get(source)
        present = _figures(_channels(made.records, made.before)) if made and made.before else None
        present = present or _figures(before.sources.get(source, {}))
        predicted = _figures(_channels(made.records, made.after)) if made and made.after else {}
        seen = _figures(found.sources.get(source, {}))
        rows += _rows(source, present | _size(made.before if made else None), predicted, seen, made)
    return rows


_Figures = dict[tuple[str, str], float]


def _rows(
    source: str, present: _Figures, predicted: _Figures, found: _Figures, made: Prediction | None
) -> Iterator[OutcomeRow]:
    predicted = predicted | _size(made.after if made else None)
    for key in dict.fromkeys([*present, *predicted, *found]):
        figure, component = key
        yield OutcomeRow(
            source=source,
            figure=figure,
            component=component,
            present=_of(present, key),
            predicted=_of(predicted, key),
            found=_of(found, key),
        )


def _of(figures: _Figures, key: tuple[str, str]) -> float | None:
    """What no component has filtered is zero where anything was counted."""
    return figures.get(key, 0.0 if figures and key[0] == "filtered_share" else None)


def _figures(channels: Mapping[str, ChannelOutcome]) -> _Figures:
    events, read = (sum(getattr(each, name) for each in channels.values()) for name in ("events", "read"))
    if not events or not read:
        return {}
    delivered = sum(each.delivered for each in channels.values())
    paths = sorted({path for each in channels.values() for path in each.filtered})
    filtered = {path: sum(each.filtered.get(path, 0) for each in channels.values()) for path in paths}
    return {
        ("delivered_share", ""): delivered / events,
        **{("filtered_share", path): number / events for path, number in filtered.items()},
        ("output_per_record", ""): delivered / read,
        **_mean_size(channels),
    }


def _mean_size(channels: Mapping[str, ChannelOutcome]) -> _Figures:
    size, sized = (sum(getattr(each, name) for each in channels.values()) for name in ("size", "sized"))
    return {("bytes_per_output", ""): size / sized} if sized else {}


def _size(totals: Totals | None) -> _Figures:
    return {("bytes_per_output", ""): totals.size / totals.output} if totals and totals.output else {}
