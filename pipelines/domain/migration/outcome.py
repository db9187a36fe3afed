"""What becomes of records: as a plan predicts it, as the ledger had it before, and as the new side's ledger has it.

Each has counts of different numbers of records, and channels that have come differently far. So what is expected is
computed from the records that each channel has had, and both are shown as shares of those.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.spec import Definition


class ChannelOutcome(Frozen):
    """Counts of a channel: records read, events made of them, and what became of those. `filtered`: by component; what
    nobody has counted by component stands under an empty path. `size`: bytes of the bodies of `sized` delivered events;
    nobody has counted those of the others."""

    read: int = Field(default=0, ge=0)
    events: int = Field(default=0, ge=0)
    delivered: int = Field(default=0, ge=0)
    filtered: dict[str, int] = {}
    size: int = Field(default=0, ge=0)
    sized: int = Field(default=0, ge=0)

    def __add__(self, other: ChannelOutcome) -> ChannelOutcome:
        paths = {**self.filtered, **other.filtered}
        filtered = {path: self.filtered.get(path, 0) + other.filtered.get(path, 0) for path in paths}
        return ChannelOutcome(
            **{name: getattr(self, name) + getattr(other, name) for name in _SUMS},
            filtered={path: number for path, number in filtered.items() if number},
        )

    def since(self, before: ChannelOutcome) -> ChannelOutcome:
        """Only what was counted since."""
        left = {path: number - before.filtered.get(path, 0) for path, number in self.filtered.items()}
        return ChannelOutcome(
            **{name: max(0, getattr(self, name) - getattr(before, name)) for name in _SUMS},
            filtered={path: number for path, number in left.items() if number > 0},
        )


_SUMS = ("read", "events", "delivered", "size", "sized")


class Outcome(Frozen):
    """Counts by source and channel."""

    sources: dict[str, dict[str, ChannelOutcome]] = {}

    def since(self, before: Outcome) -> Outcome:
        """Only what was counted since."""
        return Outcome(
            sources={
                source: {
                    name: counts.since(before.sources.get(source, {}).get(name, ChannelOutcome()))
                    for name, counts in channels.items()
                }
                for source, channels in self.sources.items()
            }
        )

    @property
    def read(self) -> int:
        """Records that the channels have read."""
        return sum(counts.read for counts in self._channels())

    @property
    def delivered(self) -> int:
        """Events that the channels have delivered."""
        return sum(counts.delivered for counts in self._channels())

    @property
    def is_filtered_away(self) -> bool:
        """Whether most of what was not delivered was filtered, so that nothing has it: dead letters are kept."""
        filtered = sum(sum(counts.filtered.values()) for counts in self._channels())
        rest = sum(counts.events - counts.delivered for counts in self._channels())
        return filtered > 0 and filtered * 2 >= rest

    def _channels(self) -> Iterator[ChannelOutcome]:
        return (counts for channels in self.sources.values() for counts in channels.values())


class Expected(Frozen):
    """What is expected of the new side. `predicted`: sources whose records a preview has shown; those of the others are
    expected to fare as they did in the old side's last hour."""

    outcome: Outcome = Outcome()
    predicted: frozenset[str] = frozenset()


def without(outcome: Outcome, paths: Iterable[str]) -> Outcome:
    """The same without what these interceptors have filtered, and without the sizes of the bodies that they make."""
    gone = set(paths)
    return Outcome(
        sources={
            source: {name: _without(counts, gone, source) for name, counts in channels.items()}
            for source, channels in outcome.sources.items()
        }
    )


def _without(counts: ChannelOutcome, gone: Set[str], source: str) -> ChannelOutcome:
    left = {"filtered": {path: number for path, number in counts.filtered.items() if path not in gone}}
    makes_others = any(path.startswith(f"sources.{source}.") for path in gone)
    return counts.model_copy(update={**left, "size": 0, "sized": 0} if makes_others else left)


@dataclass(frozen=True)
class Comparison:
    """A number of records of which a part was expected, and the part that was found."""

    of: int
    expected: float
    found: int

    @property
    def share_expected(self) -> float:
        """Between 0 and 1 where at most one event is made of a record."""
        return self.expected / self.of if self.of else 0.0

    @property
    def share_found(self) -> float:
        """The same of what was found."""
        return self.found / self.of if self.of else 0.0

    @property
    def chance(self) -> float:
        """By how much a share may differ because of the number of records: three standard deviations at most."""
        return 1.5 / math.sqrt(self.of) if self.of else 1.0

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(self.of + other.of, self.expected + other.expected, self.found + other.found)


_Pair = tuple[ChannelOutcome, ChannelOutcome]


def _pairs(expected: Outcome, found: Outcome) -> Iterator[tuple[str, _Pair]]:
    """Channels of which both are known, by source."""
    for source, channels in found.sources.items():
        known = expected.sources.get(source, {})
        for name, counts in channels.items():
            if name in known and known[name].events and known[name].read:
                yield source, (known[name], counts)


def delivered(expected: Outcome, found: Outcome) -> Comparison:
    """Events that were delivered, of all."""
    return _summed(
        Comparison(now.events, now.events * then.delivered / then.events, now.delivered)
        for _, (then, now) in _pairs(expected, found)
    )


def output(expected: Outcome, found: Outcome) -> Comparison:
    """Events that were delivered, of the records that were read: more than those where records are split."""
    return _summed(
        Comparison(now.read, now.read * then.delivered / then.read, now.delivered)
        for _, (then, now) in _pairs(expected, found)
    )


def record_size(expected: Outcome, found: Outcome) -> Comparison:
    """Bytes of the bodies that were delivered, of those whose bytes are counted."""
    return _summed(
        Comparison(now.sized, now.sized * then.size / then.sized, now.size)
        for _, (then, now) in _pairs(expected, found)
        if then.sized
    )


def filtered(expected: Outcome, found: Outcome) -> Mapping[str, Comparison]:
    """Events that were filtered, by component."""
    sums: dict[str, Comparison] = {}
    pairs = list(_pairs(expected, found))
    for source in dict.fromkeys(source for source, _ in pairs):
        own = [pair for name, pair in pairs if name == source and not any("" in counts.filtered for counts in pair)]
        for path in sorted({path for then, now in own for path in (*then.filtered, *now.filtered)}):
            sums[path] = _summed(_filtered(path, *pair) for pair in own)
    return sums


def _filtered(path: str, then: ChannelOutcome, now: ChannelOutcome) -> Comparison:
    expected = now.events * then.filtered.get(path, 0) / then.events
    return Comparison(now.events, expected, now.filtered.get(path, 0))


def _summed(found: Iterable[Comparison]) -> Comparison:
    result = Comparison(0, 0.0, 0)
    for each in found:
        result += each
    return result


def expected(before: Outcome, predicted: Outcome, changed: Iterable[str]) -> Expected:
    """Each source as it is predicted, else as it was before. `changed`: paths of components that are others than
    before, so that what was filtered there, and how large bodies were, says nothing."""
    return Expected(
        outcome=Outcome(sources={**without(before, changed).sources, **predicted.sources}),
        predicted=frozenset(predicted.sources),
    )


def changed_interceptors(old: Definition, new: Definition) -> list[str]:
    """Paths at which the two revisions have different interceptors."""
    return [
        f"sources.{name}.interceptors[{number}]"
        for name in {**old.sources, **new.sources}
        for number, (before, after) in enumerate(itertools.zip_longest(_chain(old, name), _chain(new, name)))
        if before != after
    ]


def _chain(definition: Definition, source: str) -> Sequence[Any]:
    return definition.sources[source].interceptors if source in definition.sources else ()
