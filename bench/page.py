"""What both reports are made of: the page's tables, and the files that a run is merged into."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.figures import Result
from bench.targets import Lookup, Target, short

Report = Mapping[str, Any]


def store(
    directory: Path,
    name: str,
    new: Report,
    merge: Callable[[Report | None, Report], Report],
    markdown: Callable[[Report], str],
) -> None:
    """Merge a run into the report `name` in `directory` and write its JSON and its page."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{name}.json"
    report = merge(json.loads(file.read_text()) if file.exists() else None, new)
    file.write_text(json.dumps(report, indent=1) + "\n")
    (directory / f"{name}.md").write_text(markdown(report))


def prose(text: str) -> str:
    """A note of several paragraphs, in lines of a page."""
    return "\n".join(
        textwrap.fill(line, 150, break_long_words=False, break_on_hyphens=False) for line in text.split("\n")
    )


def machine(report: Report) -> str:
    """Machine, versions, and the commands that made the report."""
    rows = [["", ""], *([name, str(value)] for name, value in {**report["machine"], **report["versions"]}.items())]
    commands = "\n".join(report["commands"])
    return "\n".join([grid(rows), "", "```", commands, "```"])


def targets(wanted: Sequence[Target], results: Sequence[Result]) -> str:
    """Each target with what was measured."""
    medians: Lookup = {(found.case, found.system, found.metric): found.median for found in results}
    rows = [["target", "wanted", "measured", "reached"]]
    for target in wanted:
        verdict = target.verdict(medians)
        rows.append([target.words, verdict.wanted, verdict.measured, verdict.word])
    return grid(rows)


def table(results: Sequence[Result], systems: Mapping[str, str]) -> str:
    """One case: a row for each metric, a column for each system that has any. `systems`: titles by name."""
    shown = [name for name in systems if any(found.system == name for found in results)]
    by_place = {(found.metric, found.system): found for found in results}
    rows = [["", *(systems[name] for name in shown)]]
    for metric, unit in dict.fromkeys((found.metric, found.unit) for found in results):
        cells = [_cell(by_place.get((metric, name))) for name in shown]
        rows.append([f"{metric.replace('_', ' ')}, {unit}", *cells])
    return grid(rows)


def _cell(found: Result | None) -> str:
    if found is None:
        return ""
    return f"**{short(found.median)}** ({', '.join(short(value) for value in found.values)})"


def grid(rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; the first row is its head."""
    head, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *others])
