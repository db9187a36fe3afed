"""Judging the new configuration by what is seen of it, against what was seen of the old one."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, Literal

from pydantic import ConfigDict, Field

from pipelines.domain.base.positions import Frozen
from pipelines.domain.migration import outcome as outcomes
from pipelines.domain.migration.outcome import Comparison, Expected, Outcome

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
    restarts of the new run are no fault. `outcome_band`: the least share of the expected delivered share, filtered
    shares, output rate and record size; they may exceed it as much. At 0 none of them is compared."""

    model_config = ConfigDict(allow_inf_nan=False)

    window: float = Field(default=DEFAULT_WINDOW, ge=0, le=86_400)
    then: Literal[Conclusion.COMMIT, Conclusion.ASK] = Conclusion.COMMIT
    otherwise: Literal[Conclusion.ROLL_BACK, Conclusion.ASK] = Conclusion.ROLL_BACK
    band: float = Field(default=0.5, ge=0, le=1)
    dead_letters: int = Field(default=0, ge=0)
    lag_slack: int = Field(default=1000, ge=0)
    crashes: int = Field(default=1, ge=0)
    outcome_band: float = Field(default=0.5, ge=0, le=1)


class Sample(Frozen):
    """What was seen at one moment. `rate`: records per second; `dead_letters`, `gaps`, `overlaps`, `difference`: of the
    new run since it began, of the old one before. `span`: seconds whose records they are of; 0: not known. `ended`: why
    no run goes on, in words; `away`: why none is at work, though one may come. `outcome`: what has become of the
    records of the new run since it began, and of the pipeline in the last hour before."""

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
    outcome: Outcome = Outcome()

    def since(self, then: Accepted) -> Sample:
        """The same, with only what was counted since."""
        left = {name: max(0, getattr(self, name) - getattr(then, name)) for name in COUNTED}
        return self.model_copy(update={**left, "outcome": self.outcome.since(then.outcome)})


class Accepted(Frozen):
    """What of a sample only grows."""

    dead_letters: int = 0
    gaps: int = 0
    overlaps: int = 0
    restarts: int = 0
    outcome: Outcome = Outcome()


COUNTED = ("dead_letters", "gaps", "overlaps", "restarts")


class Check(Frozen):
    """One rule and what it found. `fatal`: a breach does not wait for the end of the window. `waits`: there is nothing
    to judge yet, so that it neither holds nor is breached. `component`: the one whose records it judges."""

    name: str
    component: str = ""
    holds: bool
    waits: bool = False
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
        return [check for check in self.checks if not check.holds and not check.waits]

    @property
    def waiting(self) -> list[Check]:
        """The rules that have nothing to judge."""
        return [check for check in self.checks if check.waits]


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
    expected: Expected | None = None,
    changed: bool = True,
) -> Observed:
    """Compare. `seconds`: since the new run delivered first; `repeats`, `skips`: records that the plan announced.
    `backlog`: the lag when it had delivered first, which a long pause has made; None where nobody saw it. `interval`:
    seconds between two batches, in which a lag grows however well all is. `flows`: records are to be read, so that lag,
    rate and outcome say something. `expected`: of the outcome; None where nobody compares it. `changed`: the definition
    is another one, so that a source without records is no reason to commit."""
    usual = round((before.lag or 0) + _BATCHES * interval * (before.rate or 0.0))
    left = max(0.0, rules.window - seconds)
    early = left > 0 and seconds < max(SETTLING_SECONDS, _BATCHES * interval)
    moving = _moving(rules, before, now, backlog, usual, early) if flows else []
    outcome = _outcome(rules, expected, now, left) if flows and expected is not None and rules.window > 0 else []
    checks = [*_fatal(rules, now, repeats, skips), *moving, *outcome, *_settled(rules, before, now, early)]
    found = Observed(conclusion=Conclusion.WAIT, checks=checks, seconds=seconds, left=left)
    return found.model_copy(update={"conclusion": _conclusion(rules, found, now, changed=changed)})


def _conclusion(rules: ObservationRules, found: Observed, now: Sample, *, changed: bool) -> Conclusion:
    if any(check.fatal for check in found.breaches):
        return rules.otherwise
    if found.left > 0 or (now.away and found.seconds < rules.window + RETURN_SECONDS):
        return Conclusion.WAIT
    if found.breaches:
        return rules.otherwise
    if not (changed and found.waiting):
        return rules.then
    return Conclusion.WAIT if now.lag and found.seconds < rules.window + FIRST_RESULT_SECONDS else Conclusion.ASK


RETURN_SECONDS = 25.0
"""Beyond the window, for a new side that is on its way back; less than what its step may take longer."""
FIRST_RESULT_SECONDS = 90.0
"""Beyond the window, for a new side that has records to read and has finished too few to be judged: a pause leaves a
large first batch. Less than what its step may take longer."""
SETTLING_SECONDS = 5.0
"""Before so many, a lag is still that of the pause, a rate is of no batch, and a run may be about to report."""
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


def _moving(
    rules: ObservationRules, before: Sample, now: Sample, backlog: int | None, usual: int, early: bool
) -> list[Check]:
    limit = usual + rules.lag_slack
    falling = backlog is not None and (now.lag or 0) < backlog
    behind = (now.lag or 0) > usual
    floor = (before.rate or 0.0) * rules.band
    return [
        _unless_early(
            early,
            name="lag",
            holds=(now.lag or 0) <= limit or falling,
            before=before.lag,
            after=now.lag,
            words=f"The lag is at most {limit} records, or smaller than when the new agent started.",
        ),
        _unless_early(
            early,
            name="rate",
            holds=not behind or now.rate is None or now.rate >= floor,
            before=before.rate,
            after=now.rate,
            words=f"While its lag is higher than before, at least {floor:.0f} records/s.",
        ),
    ]


def _unless_early(early: bool, *, holds: bool, **fields: Any) -> Check:
    """A check that waits, in place of failing, while there is nothing to judge."""
    return Check(holds=holds, waits=early and not holds, **fields)


LOSSES = frozenset({"delivering", "delivered_share"})
"""Rules whose breach means that records are missing in the sinks."""
JUDGED_RECORDS = 100
"""Before a channel has had so many, the outcome is not judged within the window."""
CERTAIN_RECORDS = 1000
"""After so many without one that was delivered, nobody waits for the end of the window."""


def _outcome(rules: ObservationRules, expected: Expected, now: Sample, left: float) -> list[Check]:
    """What becomes of records. Within the window nothing is judged by a few of them."""
    found = now.outcome
    checks = [_delivering(found, left)]
    if rules.outcome_band == 0:
        return checks
    where = "predicted" if expected.predicted else "of the last hour"
    delivered = outcomes.delivered(expected.outcome, found)
    if delivered.of:
        checks.append(_delivered_share(rules.outcome_band, delivered, where, left))
        checks.append(_output_rate(rules.outcome_band, outcomes.output(expected.outcome, found), now.span, where, left))
    size = outcomes.record_size(expected.outcome, found)
    if size.of:
        checks.append(_record_size(rules.outcome_band, size, where, left))
    checks += (
        _filtered_share(rules.outcome_band, path, each, where, left)
        for path, each in outcomes.filtered(expected.outcome, found).items()
    )
    return checks


def _delivering(found: Outcome, left: float) -> Check:
    few = found.read == 0 or (left > 0 and found.read < JUDGED_RECORDS)
    return Check(
        name="delivering",
        holds=found.delivered > 0,
        waits=found.delivered == 0 and few,
        fatal=found.delivered == 0 and found.read >= CERTAIN_RECORDS,
        before="",
        after=f"{found.delivered:,} of {found.read:,} records",
        words="The new agent has delivered records.",
    )


def _delivered_share(band: float, seen: Comparison, where: str, left: float) -> Check:
    least = seen.share_expected * band
    return _share(
        "delivered_share",
        seen,
        left,
        holds=seen.share_found >= least - seen.chance,
        words=f"At least {least:.0%} are delivered: {band:.0%} of the share {where}.",
    )


def _filtered_share(band: float, path: str, seen: Comparison, where: str, left: float) -> Check:
    least, most = seen.share_expected * band, 1 - (1 - seen.share_expected) * band
    return _share(
        "filtered_share",
        seen,
        left,
        component=path,
        holds=least - seen.chance <= seen.share_found <= most + seen.chance,
        words=f"{path} filters between {least:.0%} and {most:.0%}; {seen.share_expected:.0%} {where}.",
    )


def _share(name: str, seen: Comparison, left: float, *, holds: bool, words: str, component: str = "") -> Check:
    few = left > 0 and seen.of < JUDGED_RECORDS
    return Check(
        name=name,
        component=component,
        holds=holds and not few,
        waits=few,
        before=f"{seen.share_expected:.1%}",
        after=f"{seen.share_found:.1%} of {seen.of:,}",
        words=words,
    )


def _output_rate(band: float, seen: Comparison, span: float, where: str, left: float) -> Check:
    return _ratio(
        "output_rate",
        band,
        seen,
        left,
        before=_per_second(seen.expected, span),
        after=_per_second(seen.found, span),
        words="Between {:.2g} and {:.2g} records are delivered for each record read; {:.2g} " + f"{where}.",
    )


def _record_size(band: float, seen: Comparison, where: str, left: float) -> Check:
    return _ratio(
        "record_size",
        band,
        seen,
        left,
        before=f"{seen.share_expected:,.0f} bytes",
        after=f"{seen.share_found:,.0f} bytes of {seen.of:,}",
        words="The bodies that are delivered have between {:.0f} and {:.0f} bytes; {:.0f} " + f"{where}.",
    )


def _ratio(
    name: str,
    band: float,
    seen: Comparison,
    left: float,
    *,
    before: float | str | None,
    after: float | str | None,
    words: str,
) -> Check:
    """What may be more than one. `words` is filled with its bounds, and with what was expected."""
    few = left > 0 and seen.of < JUDGED_RECORDS
    chance = seen.chance * max(1.0, seen.share_expected)
    least, most = seen.share_expected * band, seen.share_expected / band
    holds = least - chance <= seen.share_found <= most + chance
    filled = words.format(least, most, seen.share_expected)
    return Check(name=name, holds=holds and not few, waits=few, before=before, after=after, words=filled)


def _per_second(records: float, span: float) -> float | None:
    return round(records / span, 1) if span > 0 else None


def _settled(rules: ObservationRules, before: Sample, now: Sample, early: bool) -> list[Check]:
    dead_letters = _explained(before, now) + rules.dead_letters
    return [
        _unless_early(
            early,
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
