"""What a simulation has found, as a page."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence

from controlplane.simulation.fleet import DEADLINE, LEASE
from controlplane.simulation.phases import Measured, Plan

_TITLES = {
    "start": "Start of every pipeline",
    "rest": "All pipelines run",
    "evacuation": "Evacuation of one host",
    "loss": "Loss of hosts",
}
_INTRODUCTION = f"""\
Supervisors, services and the database are the real ones. Hosts, their processes and run directories are in memory, and
agents are simulated: each delivers ten records at a time and rests in between. All hosts share one process and one
clock, which skips the time between ticks: a tick has the whole of one processor, and the simulated seconds are those
that a real fleet takes. After each phase every pipeline has one agent, its ledger has neither gap nor overlap, and no
supervisor has met an error; otherwise there is no report. Pipelines of a lost host wait until its agents have stopped
for certain: their lease and the write deadline of their sinks, {LEASE} s and {DEADLINE} s here."""


def markdown(plan: Plan, measured: Sequence[Measured], database: str) -> str:
    """The page: one table of all phases, and what each adds to the tables of the database."""
    parts = ["# The control plane, simulated", "Made by `headgate simulate`; do not edit.", _INTRODUCTION]
    parts.append(_table([["", ""], *_circumstances(plan, database)]))
    parts += ["## Phases", _table([_HEAD, *map(_row, measured)])]
    for each in measured:
        said = [f"- {what}: {value}" for what, value in each.said.items()]
        parts += [f"## {_TITLES[each.name]}", *(["\n".join(said)] if said else [])]
        parts.append(_table([["table", "rows gained", "a tick"], *_rows(each)]))
    return "\n\n".join(parts) + "\n"


_HEAD = [
    "phase",
    "simulated s",
    "real s",
    "tick p50, ms",
    "tick p99, ms",
    "slowest tick, ms",
    "queries of a tick, p50",
    "most queries",
    "database, MB",
    "bytes a tick",
]


def _circumstances(plan: Plan, database: str) -> list[list[str]]:
    return [
        ["hosts", f"{plan.hosts:,}"],
        ["pipelines", f"{plan.pipelines:,}"],
        ["seconds between two batches", f"{plan.rest:,}"],
        ["migrations at once", f"{plan.at_once:,}"],
        ["database", database],
        ["python", platform.python_version()],
        ["processors", str(os.cpu_count())],
    ]


def _row(found: Measured) -> list[str]:
    ms, queries = sorted(tick.ms for tick in found.ticks), sorted(tick.queries for tick in found.ticks)
    return [
        _TITLES[found.name],
        f"{found.simulated:,}",
        f"{found.real:,.0f}",
        *(f"{_at(ms, share):,.0f}" for share in (0.5, 0.99, 1.0)),
        *(f"{_at(queries, share):,.0f}" for share in (0.5, 1.0)),
        f"{found.size / 2**20:+,.1f}",
        f"{found.size / max(1, len(found.ticks)):,.0f}",
    ]


def _rows(found: Measured) -> list[list[str]]:
    ticks = max(1, len(found.ticks))
    most = sorted(found.rows.items(), key=lambda each: -abs(each[1]))
    return [[table, f"{gained:+,}", f"{gained / ticks:,.2f}"] for table, gained in most]


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _table(rows: Iterable[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rest])
