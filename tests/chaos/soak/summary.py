"""The report of a soak, made of what the faults and the observer have written. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.chaos.soak.schedule import Strike

Look = Mapping[str, Any]
BLIND = 30.0
"""Seconds for which the observer may not know what is in the topics, although they can be read."""


@dataclass(frozen=True)
class Struck:
    """A fault that was tried, in seconds of the clock that the looks have. `skipped`: why it could not be done."""

    strike: Strike
    at: float
    healed: float
    skipped: str = ""


@dataclass(frozen=True)
class Totals:
    """What became of a pipeline's numbers. `doubled`: records of the sink that are there too often, of which the ledger
    has announced at most `announced`. `undeliverable`: records that must become dead letters."""

    pipeline: str
    produced: int
    missing: int
    doubled: int
    announced: int
    foreign: int
    dead_lettered: int
    undeliverable: int
    balanced: bool
    alerts: Sequence[str] = ()
    trouble: str = ""

    def problems(self) -> Iterable[str]:
        """What must not be, in words."""
        if self.trouble:
            yield self.trouble
        if self.missing:
            yield f"{self.missing} of {self.produced} numbers are missing in the sink"
        if self.foreign:
            yield f"{self.foreign} records of the sink should not be there"
        if self.doubled > self.announced:
            yield f"{self.doubled} duplicates, and the ledger has at most {self.announced}"
        if self.dead_lettered != self.undeliverable:
            yield f"{self.dead_lettered} dead letters, and {self.undeliverable} records cannot be delivered"
        if not self.balanced:
            yield "the ledger is unbalanced"
        if self.alerts:
            yield f"alerts are left: {', '.join(self.alerts)}"


@dataclass(frozen=True)
class Report:
    """Everything about one soak."""

    seed: int
    seconds: float
    every: float
    struck: Sequence[Struck]
    looks: Sequence[Look]
    totals: Sequence[Totals]
    user: Sequence[Mapping[str, Any]] = ()
    disagreements: Sequence[Mapping[str, Any]] = field(default_factory=tuple)

    def problems(self) -> list[str]:
        """Nothing where the soak has passed."""
        found = [f"{each.pipeline}: {problem}" for each in self.totals for problem in each.problems()]
        if len(self.looks) < 2:
            found.append("the observer has not looked")
        for pipeline in sorted({look["pipeline"] for look in self.looks}):
            blind = longest_blind([look for look in self.looks if look["pipeline"] == pipeline])
            if blind > BLIND:
                found.append(f"{pipeline}: the observer did not read the topics for {blind:.0f} s")
        return found + [
            f"{each['pipeline']}: {each['disagreement']} for {each['seconds']} s: {each['detail']}"
            for each in self.disagreements
        ]


def longest_blind(looks: Sequence[Look]) -> float:
    """Seconds for which the topics of a pipeline were not read, at most, while both of them answered: nobody knows what
    was true of its totals."""
    longest, since = 0.0, None
    for look in looks:
        measured = look["measured"]
        if measured["records"] is not None or not (measured["source"] and measured["sink"]):
            since = None
            continue
        since = look["at"] if since is None else since
        longest = max(longest, look["at"] - since)
    return longest


def merged(disagreements: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each, however often it was written: when it was found, and again when it ended."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in disagreements:
        found[each["pipeline"], each["disagreement"], each["since"]] = dict(each)
    return sorted(found.values(), key=lambda each: float(each["since"]))


def is_well(look: Look) -> bool:
    """Whether a pipeline runs, and is shown so."""
    shown = look["shown"]
    return bool(
        shown
        and (shown["phase"], shown["supervised"]) == ("RUNNING", True)
        and look["measured"]["healthy"]
        and look["measured"]["still"] == 0
    )


def _shows_trouble(look: Look) -> bool:
    shown = look["shown"]
    return not shown or bool(shown["refused"]) or not shown["supervised"] or shown["phase"] != "RUNNING"


def _first(looks: Iterable[Look], since: float) -> float | None:
    return next((round(look["at"] - since, 1) for look in looks), None)


def timing(struck: Struck, until: float, looks: Sequence[Look]) -> dict[str, float | None]:
    """Seconds from a strike until a page shows trouble and until it has another alert, both before the next strike at
    `until`; and from its end until all goes well. The longest of the pipelines that it struck; None: never seen."""
    names = {look["pipeline"] for look in looks if struck.strike.pipeline in ("", look["pipeline"])}
    each = [_timing(struck, until, [look for look in looks if look["pipeline"] == name]) for name in sorted(names)]
    return {key: _longest(one[key] for one in each) for key in ("shown", "alert", "recovered")}


def _longest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _timing(struck: Struck, until: float, looks: Sequence[Look]) -> dict[str, float | None]:
    before = [look for look in looks if look["at"] <= struck.at and look["shown"]]
    known = set(before[-1]["shown"]["alerts"]) if before else set()
    during = [look for look in looks if struck.at < look["at"] < until]
    after = [look for look in looks if look["at"] >= struck.healed]
    return {
        "shown": _first((look for look in during if _shows_trouble(look)), struck.at),
        "alert": _first((look for look in during if look["shown"] and set(look["shown"]["alerts"]) - known), struck.at),
        "recovered": _first((look for look in after if is_well(look)), struck.healed),
    }


def document(report: Report) -> dict[str, Any]:
    """As JSON."""
    return {
        "seed": report.seed,
        "seconds": report.seconds,
        "every": report.every,
        "passed": not report.problems(),
        "problems": report.problems(),
        "faults": rows(report),
        "disagreements": list(report.disagreements),
        "totals": [asdict(each) for each in report.totals],
        "user": list(report.user),
        "looks": len(report.looks),
    }


def rows(report: Report) -> list[dict[str, Any]]:
    """One for each strike; times are seconds since the first."""
    start = report.struck[0].at if report.struck else 0.0
    found = []
    for number, struck in enumerate(report.struck):
        following = report.struck[number + 1].at if number + 1 < len(report.struck) else struck.healed + report.every
        times = {} if struck.skipped else timing(struck, following, report.looks)
        found.append(
            {
                "fault": struck.strike.fault,
                "pipeline": struck.strike.pipeline,
                "at": round(struck.at - start, 1),
                "lasted": round(struck.healed - struck.at, 1),
                "skipped": struck.skipped,
                **times,
            }
        )
    return found


def text(report: Report) -> str:
    """For a terminal."""
    problems = report.problems()
    strikes = rows(report)
    lines = [f"seed {report.seed}: {len(strikes)} faults in {report.seconds:g} s, {len(report.looks)} looks", ""]
    lines.append(f"{'at':>7} {'fault':<27} {'pipeline':<10} {'lasted':>7} {'shown':>7} {'alert':>7} {'recovered':>9}")
    for row in strikes:
        figures = "".join(f" {_seconds(row.get(key)):>{width}}" for key, width in _COLUMNS)
        tail = f" not done: {row['skipped']}" if row["skipped"] else figures
        lines.append(f"{row['at']:>7} {row['fault']:<27} {row['pipeline'] or 'all':<10}{tail}")
    lines.append("")
    lines += [_counted(each) for each in report.totals]
    lines += [f"PROBLEM {each}" for each in problems]
    lines.append("FAILED" if problems else "No record is missing, and the page never disagreed for longer than it may.")
    return "\n".join(lines) + "\n"


def _counted(each: Totals) -> str:
    return (
        f"{each.pipeline}: {each.produced} produced, {each.missing} missing, {each.doubled} doubled of at most "
        f"{each.announced} announced, {each.dead_lettered} of {each.undeliverable} dead letters"
    )


_COLUMNS = (("lasted", 7), ("shown", 7), ("alert", 7), ("recovered", 9))


def _seconds(value: object) -> str:
    return "-" if value is None else str(value)
