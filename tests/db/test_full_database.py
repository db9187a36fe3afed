"""A database that cannot be written, for lack of room: nothing is half taken in, agents go on, and so does the tick."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection

from pipelines.domain.base.states import OperationKind, Phase
from pipelines.models import Event, LedgerBatch
from tests.db.test_supervisor import Stage, phase
from tests.factories import PipelineFactory

pytestmark = pytest.mark.django_db(transaction=True)

_REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$
LANGUAGE plpgsql
"""


@contextmanager
def full_database() -> Iterator[None]:
    """What the database says when its disk is full: from SQLite itself, from PostgreSQL with its error code."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("VACUUM")  # earlier tests leave free pages, which would be used first
            cursor.execute("PRAGMA page_count")
            cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
        else:
            cursor.execute(_REFUSE)
            cursor.execute("CREATE TRIGGER full_disk BEFORE INSERT ON pipelines_ledgerbatch EXECUTE FUNCTION refuse()")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA max_page_count = 1073741823")
            else:
                cursor.execute("DROP FUNCTION refuse() CASCADE")


def test_a_full_database_takes_in_nothing_by_halves_and_everything_once_when_there_is_room() -> None:
    stage = Stage()
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(8)
    assert phase(pipeline) == Phase.RUNNING
    (agent,) = stage.agents.living
    before, refused = agent.delivered, 0
    with full_database():
        for _ in range(2_000):  # the last page of each table has some room left
            if refused >= 100:
                break
            stage.host.advance(1)
            stage.agents.step()
            try:
                stage.supervisor.tick()
            except OperationalError:
                refused += 1
    assert refused >= 100
    assert agent.delivered > before + 200
    stage.pass_time(10)
    assert stage.agents.living == [agent]
    taken_in = sum(LedgerBatch.objects.filter(state="done").values_list("delivered", flat=True))
    assert 0 <= agent.delivered - taken_in <= 20  # what the last step delivered is taken in by the next tick
    assert not Event.objects.filter(kind__in=["ledger.gap", "ledger.overlap"]).exists()
    assert phase(pipeline) == Phase.RUNNING
