"""How much the database grows: while everything is young, after a day and after two weeks of merging old rows."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection

from bench.control.fleet import Plan
from bench.control.stage import Stage, Values, on_one_core
from pipelines.models import Event, LedgerBatch, Sample
from pipelines.services.ledger.rollup import roll_up

PLAN = Plan(50, busy=10)
SECONDS = 300
MODELS = (LedgerBatch, Sample, Event)


def measure(stage: Stage) -> Values:
    """Five minutes of 40 quiet and 10 busy pipelines, told as MB a day of 800 and 200."""
    on_one_core()
    with stage.fleet(PLAN) as fleet:
        fleet.live()
        fleet.tick()
        empty = _megabytes()
        for _ in range(SECONDS):
            fleet.live()
            fleet.tick()
        now = fleet.clock.now().wall
    found = {"young": _megabytes()}
    for name, days in (("after_a_day", 1), ("after_two_weeks", 15)):
        roll_up(now=now + timedelta(days=days, hours=2), seconds=120)
        found[name] = _megabytes()
    scale = 86_400 / SECONDS * 1_000 / PLAN.pipelines
    return {f"{name}_mb_per_day": [(size - empty) * scale] for name, size in found.items()}


def _megabytes() -> float:
    """Of the rows that grow with time, with their indexes; free pages and dead rows are not counted."""
    if connection.vendor == "postgresql":
        return _of_postgres()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("VACUUM")
        pages, size = (cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return float(pages * size) / 2**20


def _of_postgres() -> float:
    with connection.cursor() as cursor:
        for model in MODELS:
            cursor.execute(f"VACUUM FULL {connection.ops.quote_name(model._meta.db_table)}")
        names = [model._meta.db_table for model in MODELS]
        cursor.execute("SELECT sum(pg_total_relation_size(each::regclass)) FROM unnest(%s::text[]) AS each", [names])
        return float(cursor.fetchone()[0]) / 2**20


CASES = {"growth": measure}
