"""What an installation holds already survives the schema migrations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from pipelines.models import Run

BEFORE_STANDBYS = ("pipelines", "0016_told_at_decision")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def migrate_to(*targets: tuple[str, str]) -> Apps:
    executor = MigrationExecutor(connection)
    return executor.migrate(list(targets or executor.loader.graph.leaf_nodes())).apps


@pytest.fixture
def before_standbys(transactional_db: None) -> Iterator[Apps]:
    """The schema as it was; whatever happens, the newest one is there afterwards."""
    try:
        yield migrate_to(BEFORE_STANDBYS)
    finally:
        migrate_to()


def test_runs_of_before_have_epochs_and_those_that_ended_well_whole_journals(before_standbys: Apps) -> None:
    host = before_standbys.get_model("pipelines", "Host").objects.create(name="alpha", seen_at=NOW)
    pipeline = before_standbys.get_model("pipelines", "Pipeline").objects.create(
        name="orders", host=host, created_at=NOW, updated_at=NOW, phase_since=NOW
    )
    revision = before_standbys.get_model("pipelines", "Revision").objects.create(
        pipeline=pipeline, number=1, definition={}, created_at=NOW
    )
    runs = before_standbys.get_model("pipelines", "Run").objects
    for number, (state, outcome) in enumerate([("ENDED", "CLEAN"), ("ENDED", "LOST"), ("LIVE", "")], 1):
        runs.create(
            pipeline=pipeline,
            pipeline_name="orders",
            number=number,
            revision=revision,
            host=host,
            lineage=1,
            token=str(number),
            run_dir="",
            generation=1,
            state=state,
            outcome=outcome,
        )
    migrate_to()
    found = Run.objects.order_by("number").values_list("role", "epoch", "journal_whole")
    assert list(found) == [("ACTIVE", 1, True), ("ACTIVE", 2, False), ("ACTIVE", 3, False)]
