"""A shadow on a simulated host: the old agent keeps working, whatever dies, and the cut comes after the comparison."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.conf import settings as django_settings

from pipelines.domain.base.states import MigrationStage, OperationKind
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.migration.shadow import ShadowState
from pipelines.domain.preview.shadowing import ShadowAnswer, ShadowCounts, ShadowPart, ShadowRequest
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import Event, Migration, ShadowTask
from pipelines.selectors.migration import evidence
from pipelines.selectors.migration.shadows import open_shadow_tasks
from pipelines.services.base import host_tasks
from pipelines.services.migration import migrations, plans
from pipelines.services.runs import standby
from tests.fakes.previews import FakePreviews
from tests.simulation.test_migrations_survive_everything import ANA, over, present, start
from tests.simulation.world import World
from workers import crash_points
from workers.adapters.secrets import StoredSecrets, backends
from workers.ports import PreviewFailed
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.previewing.shadows import ShadowContext

Answer = Callable[[ShadowRequest], ShadowAnswer]


def size_of(request: ShadowRequest) -> int:
    return sum(each.end - each.start for each in request.ranges)


def identical(request: ShadowRequest) -> ShadowAnswer:
    size = size_of(request)
    counts = ShadowCounts(records=size, identical=size)
    return ShadowAnswer(result=ShadowPart(counts=counts, old=Counts(read=size, delivered=size)))


def a_tenth(request: ShadowRequest) -> ShadowAnswer:
    """Records at offsets that end with 0 differ."""
    size = size_of(request)
    other = sum(1 for each in request.ranges for offset in range(each.start, each.end) if offset % 10 == 0)
    counts = ShadowCounts(records=size, identical=size - other, different=other)
    return ShadowAnswer(result=ShadowPart(counts=counts, old=Counts(read=size, delivered=size)))


class Shadowed(World):
    """With a host that compares, unless it is dead."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.previews = FakePreviews(identical)
        self.compares = True

    def pass_time(self, seconds: float = 1.0, *, worker_first: bool = False) -> None:
        super().pass_time(seconds, worker_first=worker_first)
        if self.compares:
            self.compare()

    def compare(self) -> None:
        nothing = References(backends({}, None, StoredSecrets(django_settings.HEADGATE.keyring)))
        launcher = Launcher("alpha", self.host.state_dir, nothing, lambda: SparkSettings(classpath=[]))
        for task in open_shadow_tasks("alpha"):
            ShadowContext("alpha", launcher, self.previews).make(task)

    @property
    def state(self) -> ShadowState:
        return ShadowState.model_validate(present(self).shadow)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> Shadowed:
    monkeypatch.setattr(crash_points, "reach", crash_points.reach)
    for module in (standby, plans):
        monkeypatch.setattr(module, "seen_within", lambda *_: True)
    for module in (plans, host_tasks):
        monkeypatch.setattr(module, "supervised", lambda *_: True)
    world = Shadowed()
    world.ask(OperationKind.START)
    world.run_until(world.settled)
    return world


def ended(world: Shadowed) -> Migration:
    world.run_until(lambda: over(world), within=300)
    return present(world)


def read_by(world: Shadowed) -> list[tuple[int, int]]:
    """The ranges that were compared, in their order."""
    return [(each.start, each.end) for request in world.previews.requests for each in request.ranges]


def test_what_the_old_agent_delivers_is_compared_before_the_cut(world: Shadowed) -> None:
    world.previews.answer = a_tenth
    start(world, shadow={"records": 200})
    made = ended(world)
    assert made.stage == MigrationStage.COMMITTED, world.story()
    counts = world.state.counts
    assert (counts.records, counts.different, counts.identical) == (200, 20, 180)
    assert world.state.unlike_ledger == 0, world.state.notes
    spans = read_by(world)
    assert all(one[1] == other[0] for one, other in pairwise(spans)), "one after the other"
    stages = [event.data["stage"] for event in Event.objects.filter(kind__startswith="migration.").order_by("id")]
    assert stages.index("PREFLIGHT") < stages.index("SHADOWING") < stages.index("PAUSING")
    assert not ShadowTask.objects.exists()
    world.check_ledger()
    content = evidence.document(made)["content"]
    assert content["shadow"]["counts"]["different"] == 20
    assert content["shadow"]["rate"] > 0


def test_a_part_whose_previewer_is_killed_is_made_again(world: Shadowed) -> None:
    killed: list[Any] = []

    def dies_twice(request: ShadowRequest) -> ShadowAnswer:
        if len(killed) < 2:
            killed.append(request)
            raise PreviewFailed("shadow_failed", "The previewer ended with -9.", "Request it again.")
        return a_tenth(request)

    world.previews.answer = dies_twice
    start(world, shadow={"records": 100})
    assert ended(world).stage == MigrationStage.COMMITTED, world.story()
    assert [each.ranges[0].start for each in killed] == [world.previews.requests[2].ranges[0].start] * 2
    assert (world.state.counts.records, world.state.counts.different, world.state.failures) == (100, 10, 0)


def test_a_worker_that_dies_meanwhile_costs_nothing_but_time(world: Shadowed) -> None:
    start(world, shadow={"records": 100})
    world.run_until(lambda: present(world).stage == MigrationStage.SHADOWING)
    world.compares = False
    world.run_until(lambda: ShadowTask.objects.exists())
    assert host_tasks.start(ShadowTask.objects.get())  # and the worker is gone
    world.compares = True
    assert ended(world).stage == MigrationStage.COMMITTED, world.story()
    spans = read_by(world)
    assert sum(end - begin for begin, end in spans) == world.state.counts.records == 100


def test_too_many_differences_end_it_before_anything_has_changed(world: Shadowed) -> None:
    old = world.agent
    world.previews.answer = a_tenth
    start(world, shadow={"records": 100, "most_different": 0.05})
    made = ended(world)
    assert made.stage == MigrationStage.ABORTED, world.story()
    assert "10.00% differ; at most 5.00% may." in made.message
    assert world.agents.living == [old]
    assert not Event.objects.filter(kind="phase.changed", data__new="PAUSING").exists()


def test_what_a_host_refuses_ends_it_at_once(world: Shadowed) -> None:
    finding = {"path": "sources.shop", "code": "RECORD_EXPIRED", "message": "It is gone.", "suggestion": "Wait."}
    world.previews.answer = lambda _: ShadowAnswer(findings=[finding])
    start(world, shadow={"records": 100})
    made = ended(world)
    assert (made.stage, len(world.previews.requests)) == (MigrationStage.ABORTED, 1)
    assert [each["code"] for each in made.findings] == ["RECORD_EXPIRED"]


def test_a_gate_waits_behind_it_with_the_comparison(world: Shadowed) -> None:
    start(world, shadow={"records": 50}, gates=["PAUSING"])
    world.run_until(lambda: "continue to PAUSING" in present(world).message, within=60)
    assert (present(world).stage, world.state.counts.records) == (MigrationStage.SHADOWING, 50)
    migrations.advance(migration=present(world), named=present(world).plan_hash, actor=ANA)
    assert ended(world).stage == MigrationStage.COMMITTED, world.story()


def test_it_is_cancelled_while_it_compares(world: Shadowed) -> None:
    old = world.agent
    start(world, shadow={"for": "10m"})
    world.run_until(lambda: present(world).stage == MigrationStage.SHADOWING and world.state.counts.records > 0)
    migrations.abort(migration=present(world), reason="no", actor=ANA)
    assert ended(world).stage == MigrationStage.ABORTED, world.story()
    assert world.agents.living == [old]
    world.pass_time()
    assert not open_shadow_tasks("alpha")
