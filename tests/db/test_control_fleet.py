"""The benchmark's simulated fleet is one that the supervisor believes: nothing is started, ended or out of balance."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.control.cases.ticks import _counted
from bench.control.fleet import BATCHES_PER_SECOND, RECORDS, Plan
from bench.control.stage import Stage
from pipelines.models import Event, Host, LedgerBatch, Pipeline, Run, Sample
from pipelines.selectors.ledger.ledger import ledger_totals
from workers.supervisor.tick.journals import QUIET_STATUS_INTERVAL

pytestmark = pytest.mark.django_db
SECONDS = 4
UNTIL_EACH_HAS_REPORTED = int(QUIET_STATUS_INTERVAL) + 1
"""Seconds; statuses of quiet runs are stored by turns, at instants that their random tokens give."""


def test_busy_pipelines_are_accounted_for_and_quiet_ones_are_left_alone(tmp_path: Path) -> None:
    with Stage(tmp_path, ticks=1, runs=1).fleet(Plan(6, busy=2, hosts=2)) as fleet:
        for _ in range(SECONDS):
            fleet.live()
            fleet.tick()
    done = SECONDS * BATCHES_PER_SECOND
    busy = Pipeline.objects.filter(name__in=["pipeline-00000", "pipeline-00003"])
    for pipeline in busy:
        (totals,) = ledger_totals(pipeline).channels
        assert (totals.read, totals.batches, totals.balanced, totals.open_batches) == (done * RECORDS, done, True, 0)
    assert LedgerBatch.objects.exclude(pipeline__in=busy).count() == 0
    assert set(Pipeline.objects.values_list("phase", flat=True)) == {"RUNNING"}
    assert Run.objects.filter(observed__isnull=True).count() == 0
    assert Sample.objects.exists()
    assert not Event.objects.filter(kind__in=["phase.changed", "supervisor.error", "run.ended"]).exists()


def test_a_second_is_a_whole_one_after_a_tick_that_took_long(tmp_path: Path) -> None:
    with Stage(tmp_path, ticks=1, runs=1).fleet(Plan(1)) as fleet:
        fleet.clock.skip_to(fleet.clock.now().boottime + 30)
        fleet.live()
        first = fleet.clock.now().boottime
        fleet.live()
        assert fleet.clock.now().boottime - first >= 1.0


@pytest.mark.parametrize("busy", [0, 1])
def test_queries_do_not_depend_on_the_number_of_pipelines(tmp_path: Path, busy: int) -> None:
    def queries(factor: int) -> int:
        state = tmp_path / str(factor)
        state.mkdir()
        with Stage(state, ticks=1, runs=1).fleet(Plan(4 * factor, busy=busy * factor)) as fleet:
            for _ in range(SECONDS):
                fleet.live()
                fleet.tick()
            return max(_counted(fleet) for _ in range(UNTIL_EACH_HAS_REPORTED))

    few = queries(1)
    Pipeline.objects.update(current_revision=None)
    for model in (Run, Pipeline, Host):
        model.objects.all().delete()
    assert queries(10) == few
