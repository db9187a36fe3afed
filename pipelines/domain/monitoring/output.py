"""Whether what a pipeline delivers is in proportion to what it reads, compared with its own past. Pure.

A source is checked by its delivered share, deliveries per record read, over a window of some minutes. The past is made
of buckets of the ledger: of the same hour of the day where enough days have one, else of all that there is. The band
around their median is as wide as they scatter, so a pipeline that always filters much is as usual. Without a past one
thing is certain: to deliver nothing of much that is read.

Two more things are compared with the past, where there is one: the mean size of a body that is delivered, and of each
of several channels, whether it still delivers. A selector may give a channel more or less; one that always got
something and gets nothing is unusual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from math import sqrt
from statistics import median, quantiles
from typing import NamedTuple

from pipelines.domain.base.states import Phase
from pipelines.domain.ledger.ledger import Cause, Parts
from pipelines.domain.lifecycle.conditions import ConditionStatus
from pipelines.domain.monitoring.alert_rules import RuleSettings

MOST_SECONDS = 3_600.0
"""The longest window; a longer one is cut to it."""
LEAST_READ = 100
"""Records that a bucket has read, at least, to say something of the share."""
LEAST_BUCKETS = 12
LEAST_DAYS = 5
"""Days that have read at this hour, at least, for the hour to be compared with itself."""
SAME_HOUR = timedelta(minutes=90)
FROZEN = timedelta(days=1)
"""So long what is unusual is compared with what was usual before it; a change that is meant is learned after that."""
OLD_RECORDS = 900.0
"""Seconds: a run that reads older records than this catches up."""
CATCH_UP = timedelta(hours=1)
"""So long a run may catch up without being checked."""
_SPREAD_OVER = 0.6
"""Part of the window that the batches in it reach back, at least."""
_EXPECTED = 10.0
"""Deliveries that are expected, at least, for none of them to be unusual."""
_MAD_TO_SIGMA = 1.4826
_PERCENTS = 20
"""Quantiles that always belong to the band: the lowest and the highest of so many parts."""


class Scale(NamedTuple):
    """How wide a band is at least for each deviation: as a part of its middle, and upwards. `chance`: what so many
    records add to a middle. `idle`: the quantile of the past in which nothing may have been delivered."""

    relative: float
    absolute: float
    chance: Callable[[float, int], float]
    idle: int = _PERCENTS // 4


SHARE = Scale(0.05, 0.02, lambda middle, read: sqrt(middle / max(read, 1)))
CHANNEL = SHARE._replace(idle=_PERCENTS // 10)
SIZE = Scale(1 / 12, 1.0, lambda middle, sized: middle / sqrt(max(sized, 1)))


class Reason(StrEnum):
    """Why the condition is what it is."""

    AS_USUAL = "as_usual"
    DELIVERING = "delivering"
    NOTHING_DELIVERED = "nothing_delivered"
    CHANNEL_SILENT = "channel_silent"
    BELOW_USUAL = "below_usual"
    ABOVE_USUAL = "above_usual"
    RECORDS_SMALLER = "records_smaller"
    RECORDS_LARGER = "records_larger"
    LEARNING = "learning"
    QUIET = "quiet"
    CATCHING_UP = "catching_up"
    NOT_RUNNING = "not_running"
    SWITCHED_OFF = "switched_off"


UNUSUAL = (
    Reason.NOTHING_DELIVERED,
    Reason.CHANNEL_SILENT,
    Reason.BELOW_USUAL,
    Reason.ABOVE_USUAL,
    Reason.RECORDS_SMALLER,
    Reason.RECORDS_LARGER,
)
"""Of these an alert is raised, in the order of their weight."""
_USUAL = frozenset({Reason.AS_USUAL, Reason.DELIVERING})
_UNCHECKED = (Reason.LEARNING, Reason.CATCHING_UP, Reason.QUIET)
"""In the order in which they speak for several sources."""
_CHECKED_PHASES = frozenset({Phase.RUNNING, Phase.DEGRADED})
_AT_REST = frozenset({Phase.STOPPED, Phase.PAUSED, Phase.BLOCKED, Phase.FAILED})


class Series(NamedTuple):
    """What of a source is compared with its past: the share that is delivered; whether one `channel` delivers; or the
    `sizes` of bodies."""

    source: str
    channel: str = ""
    sizes: bool = False

    @property
    def key(self) -> str:
        """As it is stored."""
        return f"{self.source}{_SIZES}" if self.sizes else "/".join(filter(None, self[:2]))

    @classmethod
    def of_key(cls, key: str) -> Series:
        """What was stored."""
        source, _, channel = key.removesuffix(_SIZES).partition("/")
        return cls(source, channel, key.endswith(_SIZES))


_SIZES = "/*"
"""Behind the name of a source in a key. No channel has such a name."""


class Bucket(NamedTuple):
    """What was read of a source and delivered in a stretch of its past, with the bytes of `sized` bodies, and what each
    of the `channels` has delivered."""

    at: datetime
    read: int
    delivered: int
    size: int = 0
    sized: int = 0
    channels: Mapping[str, int] = {}

    @property
    def share(self) -> float:
        """Deliveries per record read."""
        return self.delivered / self.read if self.read else 0.0

    def of(self, series: Series) -> Bucket:
        """What of it is compared: of sizes, bytes for each body stand for deliveries for each record."""
        if series.sizes:
            return Bucket(self.at, self.sized, self.size)
        return Bucket(self.at, self.read, self.channels.get(series.channel, 0)) if series.channel else self


class Window(NamedTuple):
    """The same for the last minutes. `since`: when the first batch in it was finished."""

    read: int
    delivered: int
    since: datetime
    size: int = 0
    sized: int = 0
    channels: Mapping[str, int] = {}

    def of(self, series: Series) -> Window:
        """What of it is compared."""
        if series.sizes:
            return Window(self.sized, self.size, self.since)
        return Window(self.read, self.channels.get(series.channel, 0), self.since) if series.channel else self


class Band(NamedTuple):
    """Shares that are usual, and whether it is usual that nothing is delivered of what was read."""

    lower: float
    upper: float
    nothing: bool


@dataclass(frozen=True)
class Verdict:
    """Status, reason and words of the condition. `series`: those that are unusual, each with the band that it was
    compared with, where there was one."""

    status: ConditionStatus
    reason: Reason
    message: str
    series: Mapping[Series, Band | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What is known of a pipeline when its output is checked. `since`: when its run began, `lag_seconds`: age of the
    oldest record that waits, `before`: the verdict that stands, and since when."""

    phase: Phase
    since: datetime | None
    lag_seconds: float | None
    windows: Mapping[str, Window]
    past: Mapping[str, Sequence[Bucket]]
    before: Verdict | None = None
    before_since: datetime | None = None


@dataclass(frozen=True)
class Checked:
    """What was found of a series, and what it was compared with."""

    reason: Reason
    band: Band | None = None


def window_seconds(limits: RuleSettings) -> float | None:
    """How long the window is; None where a threshold is switched off."""
    if not limits.enabled or limits.seconds is None or limits.records is None:
        return None
    return min(limits.seconds, MOST_SECONDS)


def checked(seen: Seen, limits: RuleSettings, now: datetime) -> dict[Series, Checked]:
    """Each source that has read something in the window, with what more of it can be compared."""
    found: dict[Series, Checked] = {}
    for source, window in seen.windows.items():
        own = found[Series(source)] = _checked(Series(source), window, seen, limits, now)
        if own.reason not in _NOT_NOW and window.delivered:
            found |= _more(source, window, seen, limits, now)
    return found


_NOT_NOW = frozenset({Reason.QUIET, Reason.CATCHING_UP})


def _checked(series: Series, window: Window, seen: Seen, limits: RuleSettings, now: datetime) -> Checked:
    if window.read < (limits.records or 0):
        return Checked(Reason.QUIET)
    if _catches_up(window, seen, limits, now):
        return Checked(Reason.CATCHING_UP)
    band = _band(series, window, seen, limits, now, SHARE)
    return Checked(_compared(window, band, learns=limits.deviations is not None), band)


def _more(
    source: str, window: Window, seen: Seen, limits: RuleSettings, now: datetime
) -> Iterator[tuple[Series, Checked]]:
    """Channels and sizes that have a past."""
    for channel in window.channels if len(window.channels) > 1 else ():
        series = Series(source, channel)
        if band := _band(series, window.of(series), seen, limits, now, CHANNEL):
            silent = not (window.channels[channel] or band.nothing)
            yield series, Checked(Reason.CHANNEL_SILENT if silent else Reason.AS_USUAL, band)
    series = Series(source, sizes=True)
    sizes = window.of(series)
    if sizes.read >= LEAST_READ and (band := _band(series, sizes, seen, limits, now, SIZE)):
        yield series, Checked(_size(sizes.delivered / sizes.read, band), band)


def _size(mean: float, band: Band) -> Reason:
    if mean < band.lower:
        return Reason.RECORDS_SMALLER
    return Reason.RECORDS_LARGER if mean > band.upper else Reason.AS_USUAL


def _compared(window: Window, band: Band | None, *, learns: bool) -> Reason:
    if window.delivered == 0 and not (band and band.nothing):
        return Reason.NOTHING_DELIVERED
    if band is None:
        return Reason.LEARNING if learns else Reason.DELIVERING
    share = window.delivered / window.read
    if share < band.lower and window.delivered:
        return Reason.BELOW_USUAL
    return Reason.ABOVE_USUAL if share > band.upper else Reason.AS_USUAL


def _band(series: Series, window: Window, seen: Seen, limits: RuleSettings, now: datetime, scale: Scale) -> Band | None:
    """What is unusual does not become usual by lasting: it is compared with the same band for a day."""
    if limits.deviations is None:
        return None
    unusual = seen.before.series if seen.before and seen.before_since and now - seen.before_since < FROZEN else {}
    if series in unusual and (unusual[series] or not window.delivered):
        return unusual[series]
    past = [each.of(series) for each in seen.past.get(series.source, ())]
    return band_of(comparable(past, now), window.read, limits.deviations, scale)


def _catches_up(window: Window, seen: Seen, limits: RuleSettings, now: datetime) -> bool:
    """It has just started, or reads what is old."""
    length = timedelta(seconds=window_seconds(limits) or 0.0)
    if seen.since is None or now - seen.since < length or now - window.since < _SPREAD_OVER * length:
        return True
    return (seen.lag_seconds or 0.0) > OLD_RECORDS and now - seen.since < CATCH_UP


def comparable(past: Sequence[Bucket], now: datetime) -> list[Bucket]:
    """Buckets of the same hour of the day, where enough days have one, else all; without those that read little."""
    return _same_hour(past, now) or [each for each in past if each.read >= LEAST_READ]


def knows_hour(past: Sequence[Bucket], now: datetime) -> bool:
    """Whether enough days have read at this hour of the day."""
    return bool(_same_hour(past, now))


def _same_hour(past: Sequence[Bucket], now: datetime) -> list[Bucket]:
    """Buckets of this hour of the day; none where too few days have one."""
    known = [each for each in past if each.read >= LEAST_READ and now - each.at > SAME_HOUR * 2]
    same = [each for each in known if _apart(each.at, now) <= SAME_HOUR]
    days = {round((now - each.at) / timedelta(days=1)) for each in same}
    return same if len(days) >= LEAST_DAYS else []


def _apart(at: datetime, now: datetime) -> timedelta:
    """How far two times of the day are from each other."""
    rest = (now - at) % timedelta(days=1)
    return min(rest, timedelta(days=1) - rest)


def band_of(past: Sequence[Bucket], read: int, deviations: float, scale: Scale = SHARE) -> Band | None:
    """The shares that are usual when so many records are read; None where the past is too short.

    As wide as `deviations` times what the shares scatter by, what chance alone makes of so few records, or what the
    `scale` has; and never without nine tenths of the past. Of a share that is small by itself, a rise by a few percent
    is no news.
    """
    if len(past) < LEAST_BUCKETS:
        return None
    shares = [each.share for each in past]
    middle = median(shares)
    scatter = _MAD_TO_SIGMA * median(abs(share - middle) for share in shares)
    width = deviations * max(scatter, scale.chance(middle, read), scale.relative * middle)
    cuts = quantiles(shares, n=_PERCENTS, method="inclusive")
    idle = cuts[scale.idle - 1]
    return Band(
        lower=max(0.0, min(middle - width, cuts[0])),
        upper=max(middle + max(width, deviations * scale.absolute), cuts[-1]),
        nothing=idle == 0 or middle * read < _EXPECTED,
    )


def verdict(
    seen: Seen, limits: RuleSettings, found: Mapping[Series, Checked], parts: Mapping[Series, Parts]
) -> Verdict:
    """The condition of the pipeline. `found`: its series by `checked`, `parts`: what components have counted in the
    window, by source and by channel, for those that are unusual."""
    if window_seconds(limits) is None:
        return Verdict(ConditionStatus.UNKNOWN, Reason.SWITCHED_OFF, _WORDS[Reason.SWITCHED_OFF])
    fresh = _combined(seen, limits, found, parts)
    return seen.before if seen.before is not None and _stays(seen, fresh, found) else fresh


def _combined(
    seen: Seen, limits: RuleSettings, found: Mapping[Series, Checked], parts: Mapping[Series, Parts]
) -> Verdict:
    if seen.phase not in _CHECKED_PHASES:
        return Verdict(ConditionStatus.UNKNOWN, Reason.NOT_RUNNING, _WORDS[Reason.NOT_RUNNING])
    unusual = [series for reason in UNUSUAL for series in sorted(found) if found[series].reason is reason]
    if unusual:
        words = [_told(each, found[each], seen, limits, parts) for each in unusual if _is_cause(each, found)]
        bands = {series: found[series].band for series in unusual}
        return Verdict(ConditionStatus.FALSE, found[unusual[0]].reason, " ".join(words), bands)
    reasons = {each.reason for each in found.values()}
    if reasons & _USUAL and reasons <= _USUAL | {Reason.QUIET}:
        reason = Reason.AS_USUAL if Reason.AS_USUAL in reasons else Reason.DELIVERING
        return Verdict(ConditionStatus.TRUE, reason, _WORDS[reason])
    reason = next((each for each in _UNCHECKED if each in reasons), Reason.QUIET)
    return Verdict(ConditionStatus.UNKNOWN, reason, _WORDS[reason])


def _is_cause(series: Series, found: Mapping[Series, Checked]) -> bool:
    """A channel that delivers nothing changes the share and the sizes of its source."""
    silent = (each for each in found if each.channel and found[each].reason is Reason.CHANNEL_SILENT)
    return bool(series.channel) or all(each.source != series.source for each in silent)


def _stays(seen: Seen, fresh: Verdict, found: Mapping[Series, Checked]) -> bool:
    """What was unusual stays so while it cannot be checked anew and delivers nothing: an input that stops, or a start,
    has mended nothing."""
    if seen.before is None or fresh.status is ConditionStatus.FALSE or seen.phase in _AT_REST:
        return False
    return any(_waits(each, seen, found) for each in seen.before.series)


def _waits(series: Series, seen: Seen, found: Mapping[Series, Checked]) -> bool:
    window = seen.windows.get(series.source)
    if window is None:
        return True
    unchecked = seen.phase not in _CHECKED_PHASES or found[Series(series.source)].reason in _NOT_NOW
    return unchecked and window.of(series).delivered == 0


_WORDS = {
    Reason.AS_USUAL: "The share of what is read that is delivered is as usual.",
    Reason.DELIVERING: "Records are delivered.",
    Reason.LEARNING: "Records are delivered. What share of them is usual is not known before an hour of them.",
    Reason.QUIET: "Too few records were read in the last minutes to check what is delivered of them.",
    Reason.CATCHING_UP: "The pipeline has just started, or catches up. Its output is checked after that.",
    Reason.NOT_RUNNING: "The output is checked while the pipeline runs.",
    Reason.SWITCHED_OFF: "The rule output is switched off for this pipeline.",
}
_VERBS: dict[Cause, str] = {"filtered": "filtered", "unrouted": "did not route", "dead_lettered": "dead-lettered"}
_VERBS_OF_CHANNEL: dict[Cause, str] = {**_VERBS, "routed_elsewhere": "routed elsewhere"}
_NAMED = 3
"""Components that are named of one source."""


def _told(series: Series, found: Checked, seen: Seen, limits: RuleSettings, parts: Mapping[Series, Parts]) -> str:
    window = seen.windows[series.source].of(series)
    minutes = f"{(window_seconds(limits) or 0.0) / 60:g} min"
    if found.reason in _TAKEN:
        takers = takers_of(parts.get(series, {}), _VERBS_OF_CHANNEL if series.channel else _VERBS)
        why = f": {', '.join(takers)}." if takers else "."
    else:
        why = "."
    read = f"{window.read:,} records of source {series.source}"
    if found.reason is Reason.CHANNEL_SILENT:
        return f"Channel {series.channel} delivered nothing in {minutes} while {read} were read, and others did{why}"
    if found.reason is Reason.NOTHING_DELIVERED:
        return f"Nothing was delivered in {minutes} while {read} were read{why}"
    mean, band = window.delivered / window.read, found.band or Band(0.0, 0.0, nothing=False)
    side, limit = ("at most", band.upper) if found.reason in _ABOVE else ("at least", band.lower)
    if series.sizes:
        what = f"The bodies that source {series.source} delivered in {minutes} have {mean:,.0f} bytes in the mean"
        return f"{what}, usually {side} {limit:,.0f}."
    return f"{_percent(mean)} of {read} were delivered in {minutes}, usually {side} {_percent(limit)}{why}"


_TAKEN = frozenset({Reason.NOTHING_DELIVERED, Reason.CHANNEL_SILENT, Reason.BELOW_USUAL})
_ABOVE = frozenset({Reason.ABOVE_USUAL, Reason.RECORDS_LARGER})


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def takers_of(parts: Parts, verbs: Mapping[Cause, str] = _VERBS) -> list[str]:
    """The components that take the most records, with what they do to how many."""
    counted = [
        (number, path, verb)
        for path, counts in parts.items()
        for name, verb in verbs.items()
        if (number := counts.get(name, 0))
    ]
    return [f"{path} {verb} {number:,}" for number, path, verb in sorted(counted, reverse=True)[:_NAMED]]
