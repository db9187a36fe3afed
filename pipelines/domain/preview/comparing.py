"""What differs between the outcomes of two revisions: counts, and the events that differ. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pipelines.domain.base.positions import Frozen
from pipelines.domain.preview.outcomes import Content, EventResult, Origin, Outcome


class DifferenceKind(StrEnum):
    """How an event differs; one can differ in several ways."""

    NEWLY_FILTERED = "newly_filtered"
    NO_LONGER_FILTERED = "no_longer_filtered"
    NEWLY_DEAD = "newly_dead"
    NO_LONGER_DEAD = "no_longer_dead"
    NEWLY_UNROUTED = "newly_unrouted"
    NO_LONGER_UNROUTED = "no_longer_unrouted"
    ROUTED_ELSEWHERE = "routed_elsewhere"
    ADDED = "added"
    GONE = "gone"
    OTHER_REASON = "other_reason"
    KEY = "key"
    HEADERS = "headers"
    BODY = "body"


NEWLY = {
    EventResult.FILTERED: DifferenceKind.NEWLY_FILTERED,
    EventResult.DEAD_LETTERED: DifferenceKind.NEWLY_DEAD,
    EventResult.UNROUTED: DifferenceKind.NEWLY_UNROUTED,
}
NO_LONGER = {
    EventResult.FILTERED: DifferenceKind.NO_LONGER_FILTERED,
    EventResult.DEAD_LETTERED: DifferenceKind.NO_LONGER_DEAD,
    EventResult.UNROUTED: DifferenceKind.NO_LONGER_UNROUTED,
}


@dataclass(frozen=True)
class Count:
    """Events with one outcome: of a channel where they are delivered, else of the component that is the reason."""

    result: EventResult
    component: str
    before: int
    after: int


class Totals(Frozen):
    """Events, what became of them, and what channels deliver of them: `channels`, with `size` bytes of bodies, of which
    each has `sizes`. `filtered`: by component."""

    events: int
    delivered: int
    channels: dict[str, int] = {}
    filtered: dict[str, int] = {}
    dead_letters: int = 0
    unrouted: int = 0
    size: int = 0
    sizes: dict[str, int] = {}

    @property
    def output(self) -> int:
        """Events that all channels deliver."""
        return sum(self.channels.values())


@dataclass(frozen=True)
class Volatile:
    """What differs each time that one revision is run, and so says nothing about another one."""

    headers: frozenset[str] = frozenset()
    key: bool = False
    body: bool = False

    def __bool__(self) -> bool:
        return bool(self.headers or self.key or self.body)


@dataclass(frozen=True)
class Difference:
    """An event that differs; None on the side that does not make it."""

    origin: Origin
    kinds: tuple[DifferenceKind, ...]
    before: Outcome | None
    after: Outcome | None


def counts(before: Iterable[Outcome], after: Iterable[Outcome]) -> list[Count]:
    """By outcome and component, for both revisions."""
    old, new = Counter(_counted(before)), Counter(_counted(after))
    order = {result: number for number, result in enumerate(EventResult)}
    keys = sorted({*old, *new}, key=lambda key: (order[key[0]], key[1]))
    return [Count(result, component, old[result, component], new[result, component]) for result, component in keys]


def _counted(outcomes: Iterable[Outcome]) -> Iterator[tuple[EventResult, str]]:
    for each in outcomes:
        if each.result is not EventResult.DELIVERED:
            yield each.result, each.component
        for name in each.channels:
            yield EventResult.DELIVERED, f"channels.{name}"


def totals(outcomes: Iterable[Outcome]) -> Totals:
    """What becomes of all events under one revision."""
    found = list(outcomes)
    by_result = Counter(each.result for each in found)
    channels = Counter(dict.fromkeys((name for each in found for name in each.verdicts), 0))
    channels.update(name for each in found for name in each.channels)
    sizes = Counter(dict.fromkeys(channels, 0))
    for each in found:
        sizes.update(dict.fromkeys(each.channels, each.content.size))
    return Totals(
        events=len(found),
        delivered=by_result[EventResult.DELIVERED],
        channels=dict(sorted(channels.items())),
        filtered=dict(sorted(Counter(each.component for each in found if each.result is EventResult.FILTERED).items())),
        dead_letters=by_result[EventResult.DEAD_LETTERED],
        unrouted=by_result[EventResult.UNROUTED],
        size=sizes.total(),
        sizes=dict(sorted(sizes.items())),
    )


def volatile(once: Iterable[Outcome], again: Iterable[Outcome]) -> Volatile:
    """What two runs of one revision over the same records do not agree on."""
    others = {each.origin: each.content for each in again}
    pairs = [(each.content, others[each.origin]) for each in once if each.origin in others]
    return Volatile(
        headers=frozenset(name for one, other in pairs for name in differing_headers(one, other)),
        key=any(one.key != other.key for one, other in pairs),
        body=any(one.digest != other.digest for one, other in pairs),
    )


def differing_headers(before: Content, after: Content) -> list[str]:
    """Names of headers whose values differ, sorted."""
    old, new = by_name(before), by_name(after)
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def by_name(content: Content) -> dict[str, list[bytes]]:
    """The values of each header."""
    found: dict[str, list[bytes]] = {}
    for name, value in content.headers:
        found.setdefault(name, []).append(value)
    return found


def differences(before: Sequence[Outcome], after: Sequence[Outcome], ignored: Volatile) -> list[Difference]:
    """The events that differ, by their place in the log."""
    old, new = _by_origin(before), _by_origin(after)
    found = []
    for origin in sorted({*old, *new}):
        kinds = tuple(_kinds(old.get(origin), new.get(origin), ignored))
        if kinds:
            found.append(Difference(origin, kinds, old.get(origin), new.get(origin)))
    return found


def _by_origin(outcomes: Iterable[Outcome]) -> Mapping[Origin, Outcome]:
    return {each.origin: each for each in outcomes}


def _kinds(before: Outcome | None, after: Outcome | None, ignored: Volatile) -> Iterator[DifferenceKind]:
    if before is None or after is None:
        yield DifferenceKind.ADDED if before is None else DifferenceKind.GONE
    elif before.result is not after.result:
        if after.result in NEWLY:
            yield NEWLY[after.result]
        if before.result in NO_LONGER:
            yield NO_LONGER[before.result]
    elif before.result is not EventResult.DELIVERED:
        if (before.component, before.cause) != (after.component, after.cause):
            yield DifferenceKind.OTHER_REASON
    else:
        yield from _of_delivered(before, after, ignored)


def changed_parts(before: Content, after: Content, ignored: Volatile) -> Iterator[DifferenceKind]:
    """What of an event differs, apart from what no run repeats."""
    if before.key != after.key and not ignored.key:
        yield DifferenceKind.KEY
    if not ignored.headers.issuperset(differing_headers(before, after)):
        yield DifferenceKind.HEADERS
    if before.digest != after.digest and not ignored.body:
        yield DifferenceKind.BODY


def _of_delivered(before: Outcome, after: Outcome, ignored: Volatile) -> Iterator[DifferenceKind]:
    if before.channels != after.channels:
        yield DifferenceKind.ROUTED_ELSEWHERE
    yield from changed_parts(before.content, after.content, ignored)


def by_kind(found: Collection[Difference]) -> dict[str, int]:
    """How many events differ in each way."""
    counted = Counter(kind for each in found for kind in each.kinds)
    return {kind.value: counted[kind] for kind in DifferenceKind if counted[kind]}
