"""The report on the control plane: one JSON file that grows case by case, and the Markdown made from it alone."""

from __future__ import annotations

import platform
import sqlite3
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import page
from bench.figures import Result
from bench.targets import Target, limit
from controlplane.install.tools.postgres import programs

NAME = "control-plane"
SYSTEMS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
TITLES = {
    "quiet_10": "A tick over 10 quiet pipelines",
    "quiet_100": "A tick over 100 quiet pipelines",
    "quiet_1000": "A tick over 1,000 quiet pipelines",
    "quiet_5000": "A tick over 5,000 quiet pipelines",
    "mixed_10": "A tick over 8 quiet and 2 busy pipelines",
    "mixed_100": "A tick over 80 quiet and 20 busy pipelines",
    "mixed_1000": "A tick over 800 quiet and 200 busy pipelines",
    "mixed_1000_on_10_hosts": "1,000 pipelines, 200 of them busy, on 10 hosts: a tick of one host",
    "mixed_5000_on_50_hosts": "5,000 pipelines, 1,000 of them busy, on 50 hosts: a tick of one host",
    "growth": "Growth of the database, per day of 800 quiet and 200 busy pipelines",
    "api": "Answers of the API over 1,000 pipelines",
    "stream": "200 open pages while 1,000 pipelines, 200 of them busy, move",
    "dashboard": "The dashboard in Chromium while 1,000 pipelines, 200 of them busy, move",
}
_INTRODUCTION = """\
The supervisor, the database and the web server are the real ones; the agents are simulated. Every simulated pipeline
has its rows, its run directory and two sleeping processes that carry its token. A quiet agent renews its status every
other second; a busy one finishes ten batches a second over four partitions and writes its journal and status as a real
one does. One clock skips the time between ticks. A tick runs alone on one processor; its time is that of the whole
tick: looking at processes, files and rows, recording what was written, deciding and acting. Figures are medians of the
runs in brackets.

Growth is that of the rows that grow with time, with their indexes, after compacting: as they are written, and what is
left of a day of them when old rows have been merged. The web server is one process on a core of its own; every answer
is read to its end. The pages are 200 connections of 20 users to one web server, each of which gets every event and
every figure.

The dashboard is that of a viewer in headless Chromium on the same machine. A view is opened anew in a browser that has
its files, while nothing moves; it stands when its first row, tile or figure does. The longest task is that of any
script while the pipelines move and the list and the fleet are loaded and scrolled through; agents and supervisor give
way to the browser, which has a machine of its own elsewhere. Five tabs stay open for ten minutes (list, fleet, events,
a pipeline and its charts). Every minute, after a garbage collection, what each of them keeps is counted: the objects of
the page, without the machine code that the engine makes as it optimises, and the nodes of its document. The first three
looks are compared with the last three, and the largest growth of a tab counts."""

TARGETS = [
    limit("tick over 1,000 quiet pipelines, SQLite, ms", "quiet_1000", "sqlite", "tick_p50_ms", 250),
    limit("tick over 800 quiet and 200 busy pipelines, SQLite, ms", "mixed_1000", "sqlite", "tick_p50_ms", 1000),
    Target(
        "queries of a tick over 1,000 quiet pipelines, against 10",
        lambda found: found["quiet_1000", "sqlite", "queries_per_tick"],
        lambda found: found["quiet_10", "sqlite", "queries_per_tick"],
    ),
    Target(
        "queries of a tick over 800 quiet and 200 busy pipelines, against 8 and 2",
        lambda found: found["mixed_1000", "sqlite", "queries_per_tick"],
        lambda found: found["mixed_10", "sqlite", "queries_per_tick"],
    ),
    limit("list of 1,000 pipelines with their status, SQLite, p99, ms", "api", "sqlite", "list_of_1000_p99_ms", 100),
    limit("first view of the list of 1,000 pipelines, ms", "dashboard", "sqlite", "list_first_view_ms", 1000),
    limit("scripts of the first view, kB", "dashboard", "sqlite", "list_scripts_kb", 300),
    limit("longest task over 1,000 pipelines that move, ms", "dashboard", "sqlite", "longest_task_ms", 200),
    limit("growth of a tab's objects in 10 minutes, MB", "dashboard", "sqlite", "objects_growth_in_10_min_mb", 0.25),
    limit("growth of a tab's document in 10 minutes, nodes", "dashboard", "sqlite", "growth_in_10_min_nodes", 500),
    limit("web server with five open tabs, % of a core", "dashboard", "sqlite", "web_cpu_of_5_tabs_percent", 3),
]


def versions() -> dict[str, str]:
    """Of everything that takes part."""
    reported = subprocess.run(
        [programs() / "postgres", "--version"], capture_output=True, text=True, timeout=30, check=True
    )
    return {
        "headgate": version("headgate"),
        "python": platform.python_version(),
        "django": version("django"),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": reported.stdout.split(") ", 1)[-1].split(" ")[0].strip(),
    }


def merge(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """The report after a run: what was measured again is replaced, everything else stays.

    `old` is None where there is no report yet. Machine and versions are those of the newest run.
    """
    if old is None:
        return dict(new)
    measured = {(found["case"], found["system"]) for found in new["results"]}
    kept = [found for found in old["results"] if (found["case"], found["system"]) not in measured]
    cases, systems = list(TITLES), list(SYSTEMS)
    results = sorted(
        [*kept, *new["results"]], key=lambda each: (cases.index(each["case"]), systems.index(each["system"]))
    )
    notes = list(dict.fromkeys([*old.get("notes", []), *new.get("notes", [])]))
    commands = list(dict.fromkeys([*old["commands"], *new["commands"]]))
    return {**new, "results": results, "commands": commands, "notes": notes}


def write(directory: Path, new: Mapping[str, Any]) -> None:
    """Merge a run into the report in `directory` and write both files."""
    page.store(directory, NAME, new, merge, markdown)


def markdown(report: Mapping[str, Any]) -> str:
    """The report as a page."""
    results = [Result(**found) for found in report["results"]]
    parts = ["# The control plane, measured", "Made by `make bench-control`; do not edit.", _INTRODUCTION]
    parts += ["## Machine and versions", page.machine(report), "## Targets", page.targets(TARGETS, results)]
    parts += [page.prose(" ".join(report["notes"]))] if report.get("notes") else []
    for case in dict.fromkeys(found.case for found in results):
        parts += [f"## {TITLES[case]}", page.table([found for found in results if found.case == case], SYSTEMS)]
    return "\n\n".join(parts) + "\n"
