"""Judging the new configuration by what is seen of it, against what was seen of the old one."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, Field

from pipelines.domain.base.positions import Frozen

DEFAULT_WINDOW = 60.0


class Conclusion(StrEnum):
    """What the rules say."""

    WAIT = "wait"
    COMMIT = "commit"
    ASK = "ask"
    ROLL_BACK = "roll_back"


class ObservationRules(Frozen):
    """`window`: seconds of observation. `then`: what follows when all is well at its end, `otherwise`: when something
    is not. `band`: the least share of the rate of before, while it lags further behind than before; else the source
    gives no more. `dead_letters`: so many more than those of before explain are no fault. `lag_slack`: records by which
    the lag may be larger at the end than before and what comes between two batches, unless it falls. `crashes`: so many
    restarts of the new run are no fault."""

    model_config = ConfigDict(allow_inf_nan=False)

    window: float = Field(default=DEFAULT_WINDOW, ge=0, le=86_400)
    then: Literal[Conclusion.COMMIT, Conclusion.ASK] = Conclusion.COMMIT
    otherwise: Literal[Conclusion.ROLL_BACK, Conclusion.ASK] = Conclusion.ROLL_BACK
    band: float = Field(default=0.5, ge=0, le=1)
    dead_letters: int = Field(default=0, ge=0)
    lag_slack: int = Field(default=1000, ge=0)
    crashes: int = Field(default=1, ge=0)


class Sample(Frozen):
    """What was seen at one moment. `rate`: records per second; `dead_letters`, `gaps`, `overlaps`, `difference`: of the
    new run since it began, of the old one before. `span`: seconds whose records they are of; 0: not known. `ended`: why
    no run goes on, in words; `away`: why none is at work, though one may come."""

    rate: float | None = None
    lag: int | None = None
    dead_letters: int = 0
    gaps: int = 0
    overlaps: int = 0
    difference: int = 0
    held: str = ""
    restarts: int = 0
    ended: str = ""
    span: float = 0.0
    away: str = ""

    def since(self, then: Counts) -> Sample:
        """The same, with only what was counted since."""
        left = {name: max(0, getattr(self, name) - count) for name, count in then}
        return self.model_copy(update=left)


class Counts(Frozen):
    """What of a sample only grows."""

    dead_letters: int = 0
    gaps: int = 0
    overlaps: int = 0
    restarts: int = 0


class Check(Frozen):
    """One rule and what it found. `fatal`: a breach does not wait for the end of the window."""

    name: str
    holds: bool
    before: float | int | str | None
    after: float | int | str | None
    words: str
    fatal: bool = False


class Observed(Frozen):
    """What follows, and why."""

    conclusion: Conclusion
    checks: list[Check]
    seconds: float
    left: float

    @property
    def breaches(self) -> list[Check]:
        """The rules that do not hold."""
        return [check for check in self.checks if not check.holds]


def evaluate(
    rules: ObservationRules,
    before: Sample,
    now: Sample,
    *,
    seconds: float,
    repeats: int = 0,
    skips: int = 0,
    backlog: int | None = None,
    interval: float = 0.0,
    flows: bool = True,
) -> Observed:
    """Compare. `seconds`: since the new run delivered first; `repeats`, `skips`: records that the plan announced.
    `backlog`: the lag when it had delivered first, which a long pause has made; None where nobody saw it. `interval`:
    seconds between two batches, in which a lag grows however well all is. `flows`: records are to be read, so that lag
    and rate say something."""
    usual = round((before.lag or 0) + _BATCHES * interval * (before.rate or 0.0))
    moving = _moving(rules, before, now, backlog, usual) if flows else []
    checks = [*_fatal(rules, now, repeats, skips), *moving, *_settled(rules, before, now)]
    left = max(0.0, rules.window - seconds)
    breached = [check for check in checks if not check.holds]
    if any(check.fatal for check in breached):
        conclusion: Conclusion = rules.otherwise
    elif left > 0 or (now.away and seconds < rules.window + RETURN_SECONDS):
        conclusion = Conclusion.WAIT
    else:
        conclusion = rules.otherwise if breached else rules.then
    return Observed(conclusion=conclusion, checks=checks, seconds=seconds, left=left)


RETURN_SECONDS = 25.0
"""Beyond the window, for a new side that is on its way back; less than what its step may take longer."""
_BATCHES = 2
"""The one that is waited for, and the one that is worked at."""


def _fatal(rules: ObservationRules, now: Sample, repeats: int, skips: int) -> list[Check]:
    balanced = now.difference == 0 and now.gaps <= skips and now.overlaps <= repeats
    totals = f"{now.difference} without a verdict, {now.gaps} skipped, {now.overlaps} reread"
    return [
        Check(
            name="totals",
            holds=balanced,
            fatal=True,
            before=f"{skips} to skip, {repeats} to reread",
            after=totals,
            words="Every record is accounted for, and each range starts where the last one ended, as planned.",
        ),
        Check(
            name="alive",
            holds=not now.ended and now.restarts <= rules.crashes,
            fatal=True,
            before="",
            after=now.ended or _counted(now.restarts, "restart"),
            words=f"The new run is alive; at most {_counted(rules.crashes, 'restart')}.",
        ),
    ]


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _moving(rules: ObservationRules, before: Sample, now: Sample, backlog: int | None, usual: int) -> list[Check]:
    limit = usual + rules.lag_slack
    falling = backlog is not None and (now.lag or 0) < backlog
    behind = (now.lag or 0) > usual
    floor = (before.rate or 0.0) * rules.band
    return [
        Check(
            name="lag",
            holds=(now.lag or 0) <= limit or falling,
            before=before.lag,
            after=now.lag,
            words=f"The lag is at most {limit} records, or smaller than when the new agent started.",
        ),
        Check(
            name="rate",
            holds=not behind or now.rate is None or now.rate >= floor,
            before=before.rate,
            after=now.rate,
            words=f"While its lag is higher than before, at least {floor:.0f} records/s.",
        ),
    ]


def _settled(rules: ObservationRules, before: Sample, now: Sample) -> list[Check]:
    dead_letters = _explained(before, now) + rules.dead_letters
    return [
        Check(
            name="at_work",
            holds=not now.away,
            before="",
            after=now.away or "running",
            words="A run is active at the end of the window.",
        ),
        Check(
            name="dead_letters",
            holds=now.dead_letters <= dead_letters,
            before=before.dead_letters,
            after=now.dead_letters,
            words=f"At most {_counted(dead_letters, 'dead letter')}: as many as before the change, and "
            f"{rules.dead_letters} more.",
        ),
        Check(
            name="held",
            holds=not now.held or bool(before.held),
            before=before.held,
            after=now.held,
            words="No batch is held that was not held before the change.",
        ),
    ]


def _explained(before: Sample, now: Sample) -> int:
    """Dead letters that come in as many seconds as before, and what chance adds to so many: three standard deviations
    of a Poisson distribution."""
    known = before.span > 0 and now.span > 0
    expected = before.dead_letters * (now.span / before.span if known else 1.0)
    return math.ceil(expected + 3 * math.sqrt(expected))
