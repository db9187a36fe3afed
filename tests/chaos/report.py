"""docs/reference/chaos.json and docs/reference/chaos.md: what became of each fault of the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.chaos.faults import FAULTS, Fault, belongs
from tests.chaos.running import PROJECT, Outcome

JSON = PROJECT / "docs" / "reference" / "chaos.json"
UNTIL = "seconds until"
MARKDOWN = PROJECT / "docs" / "reference" / "chaos.md"
SHORT = " (short selection)"
_HEAD = """\
# What was broken on purpose

Written by `make chaos`; `make chaos FAULT=46` runs one row and replaces it here. Every fault is produced for real, or
simulated where the second table names a test of the tiers `unit`, `db` or `simulation`.

A test that counts records reports how many are missing, how many are duplicates, and how many possible duplicates the
ledger had counted; the figures of a row are the sums over its tests. Recovery is the longest time from the fault
to the next finished batch, of those that were measured. Shown is the longest time until page, API and alert were true.
Seeds: {seeds}; a row with "short selection" has the cases that `make test` runs.

`make chaos SOAK=3600` strikes at random for so many seconds, with an observer beside it: see
[how the page is checked against measurements](../decisions/0032-an-observer-that-knows-no-faults.md).

| # | fault | tries | missing | duplicates | possible duplicates | shown, s | recovery, s | |
|-|-|-|-|-|-|-|-|-|
"""
_TESTS = """
## Which tests show it

| # | tests |
|-|-|
"""


def result(fault: Fault, outcomes: Sequence[Outcome], *, short: bool = False) -> dict[str, Any]:
    """One row of the report. `short`: not all cases of its tests were run, so that one that was skipped is no
    failure."""
    known = [each for each in outcomes if any(belongs(each.node, test) for test in fault.tests)]
    own = [each for each in known if not (short and each.skipped)]
    missed = [test for test in fault.tests if not any(belongs(each.node, test) for each in known)]
    failed = [f"{each.node}: {each.why}" for each in own if not each.passed]
    return {
        "fault": fault.number,
        "name": fault.name,
        "tries": sum(int(each.figures.get("tries", 1)) for each in own),
        "missing": _sum(own, "missing"),
        "duplicates": _sum(own, "duplicates"),
        "announced": _sum(own, "announced"),
        "shown_seconds": _shown(own),
        "recovery_seconds": _longest(own),
        "short": short,
        "passed": None if fault.reason else bool(own) and not missed and not failed,
        "reason_if_not_tested": fault.reason,
        "tests": list(fault.tests),
        "failures": [*failed, *(f"{test}: not run" for test in missed)],
    }


def _described(outcomes: Sequence[Outcome], figure: str) -> list[float]:
    return [each.figures[figure] for each in outcomes if figure in each.figures]


def _sum(outcomes: Sequence[Outcome], figure: str) -> int | None:
    reported = _described(outcomes, figure)
    return int(sum(reported)) if reported else None


def _longest(outcomes: Sequence[Outcome]) -> float | None:
    return max((round(each, 1) for each in _described(outcomes, "recovery_seconds")), default=None)


def _shown(outcomes: Sequence[Outcome]) -> float | None:
    """Figures of tests that wait for what is shown are named `seconds until …`."""
    found = [value for each in outcomes for name, value in each.figures.items() if name.startswith(UNTIL)]
    return max((round(each, 1) for each in found), default=None)


def write(results: Sequence[dict[str, Any]], seeds: Sequence[int], path: Path = JSON, page: Path = MARKDOWN) -> None:
    """Put rows in the place of those of an earlier run; rows that were never run are left out."""
    earlier = json.loads(path.read_text())["results"] if path.exists() else []
    rows = {row["fault"]: row for row in [*earlier, *results]}
    known = [rows[fault.number] for fault in FAULTS if fault.number in rows]
    path.write_text(json.dumps({"seeds": list(seeds), "results": known}, indent=1, ensure_ascii=False) + "\n")
    page.write_text(rendered(known, seeds))


def rendered(results: Sequence[dict[str, Any]], seeds: Sequence[int]) -> str:
    """The page."""
    lines = [_line(row) for row in results]
    tests = [f"| {row['fault']} | {_names(row)} |" for row in results if row["tests"]]
    head = _HEAD.format(seeds=", ".join(map(str, seeds)))
    return head + "\n".join(lines) + "\n" + _TESTS + "\n".join(tests) + "\n"


def _names(row: dict[str, Any]) -> str:
    return "<br>".join(f"`{test}`" for test in row["tests"])


def _line(row: dict[str, Any]) -> str:
    figures = ["tries", "missing", "duplicates", "announced", "shown_seconds", "recovery_seconds"]
    shown = ["" if row.get(figure) is None else str(row[figure]) for figure in figures]
    return f"| {row['fault']} | {row['name']} | {' | '.join(shown)} | {verdict(row)} |"


def verdict(row: dict[str, Any]) -> str:
    """In words: passed, failed with the causes, or why there is no test."""
    if row["reason_if_not_tested"]:
        return f"not tested: {row['reason_if_not_tested']}"
    causes = "; ".join(row["failures"]).replace("|", "\\|").replace("\n", " ")
    return f"passed{SHORT if row.get('short') else ''}" if row["passed"] else f"**failed**: {causes}"
