"""A simulated fleet comes through what it is put through, and what does not hold is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import pytest

from controlplane.simulation import phases
from controlplane.simulation.phases import Measured, Plan, Simulation, SimulationFailed
from controlplane.simulation.report import markdown
from pipelines.foundation import clock
from pipelines.models import Evacuation, Host, Migration, Pipeline, Run

pytestmark = pytest.mark.django_db
PLAN = Plan(hosts=4, pipelines=8, lose=1, quiet=3, rest=5, at_once=5, window=2)


@pytest.fixture(autouse=True)
def own_time() -> Iterator[None]:
    """A simulation sets the clock of its process."""
    yield
    clock.follow(partial(datetime.now, UTC))


def test_every_pipeline_runs_once_after_a_start_an_evacuation_and_the_loss_of_a_host() -> None:
    said: list[str] = []
    measured = Simulation(PLAN, said.append).run()
    assert [each.name for each in measured] == ["start", "rest", "evacuation", "loss"]
    assert Host.objects.count() == PLAN.hosts
    assert set(Pipeline.objects.values_list("host", flat=True)) == {"host-01", "host-03", "host-04"}
    assert set(Pipeline.objects.values_list("phase", flat=True)) == {"RUNNING"}
    (row,) = Evacuation.objects.all()
    assert (row.host_id, row.outcome, row.left) == ("host-01", "done", {})
    assert Migration.objects.filter(stage="COMMITTED").count() == 2
    start, rest, evacuation, loss = measured
    assert start.rows["pipelines_pipeline"] == start.rows["pipelines_run"] == PLAN.pipelines
    assert (rest.simulated, len(rest.ticks)) == (PLAN.quiet, PLAN.quiet * PLAN.hosts)
    assert evacuation.rows["pipelines_migration"] == 2
    assert loss.simulated > 60, "nothing starts elsewhere before its agents have stopped for certain"
    assert len(loss.ticks) == loss.simulated * (PLAN.hosts - PLAN.lose)
    assert all(tick.ms > 0 and tick.queries > 0 for each in measured for tick in each.ticks)
    assert said[0] == "start: begins"
    page = markdown(PLAN, measured, "sqlite")
    assert "- pipelines evacuated: 2" in page
    assert "| pipelines_run | +8 |" in page


def test_a_phase_that_does_not_end_fails_and_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phases, "LONGEST", 1)
    with pytest.raises(SimulationFailed, match="start did not end within 1 simulated seconds: 0 of 8 pipelines run"):
        Simulation(PLAN, print).run()


def test_a_pipeline_that_two_hosts_run_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Simulation._start

    def twice(self: Simulation, found: Measured) -> None:
        start(self, found)
        first, second = self._fleet.sites[:2]
        second.agents.all |= {-1: first.agents.living[0]}

    monkeypatch.setattr(Simulation, "_start", twice)
    with pytest.raises(SimulationFailed, match="after start, 8 pipelines have an agent, and these not one"):
        Simulation(PLAN, print).run()


def test_nothing_is_left_unstarted() -> None:
    simulation = Simulation(PLAN, print)
    simulation._phase("start", simulation._start)
    assert Run.objects.exclude(state="LIVE").count() == 0
