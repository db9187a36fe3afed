"""A source moves to another cluster, where offsets are others: whatever fails, no record is skipped or read twice."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from django.conf import settings as django_settings

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.base.states import (
    InspectionState,
    LedgerState,
    MigrationKind,
    MigrationStage,
    OperationKind,
    Phase,
)
from pipelines.domain.positions.cluster_move import By, ClusterMove, PartitionTranslation, Translation
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult, Survey
from pipelines.domain.runs.protocol import Launch, SparkSettings
from pipelines.foundation import clock
from pipelines.models import LedgerBatch, LogIdentity, Migration, Pipeline, PositionInspection
from pipelines.selectors.migration import evidence
from pipelines.selectors.migration import migrations as selecting
from pipelines.services.migration import migrations, plans
from pipelines.services.positions import positions
from pipelines.services.runs import standby
from tests.chaos.extent import some
from tests.fakes.surveys import Unhurried
from tests.simulation.test_migrations_survive_everything import ANA, FORWARD, over, present
from tests.simulation.world import World
from workers import crash_points
from workers.adapters.secrets import StoredSecrets, backends
from workers.supervisor.background.surveyor import InspectionContext
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.tick import journals

SHIFT = 100_000
"""A record's offset on the new cluster is larger by this."""
NEW = "new:9092"


@dataclass
class Mirror(Unhurried):
    """Both clusters, as a look sees them. `behind`: looks for which the mirror is late; `refuse`: it cannot be told;
    `one_way`: what the new side reads is not on the old cluster."""

    behind: int = 0
    refuse: bool = False
    one_way: bool = False
    replay: int = 0
    inspections: list[ClusterMove] = field(default_factory=list)

    def inspect(self, question: InspectionRequest) -> InspectionResult:
        assert question.move is not None
        self.inspections.append(question.move)
        (head,) = Launch.model_validate(question.launch).heads
        rows = [self._row(question.move, head.channel, at.topic, at.offset) for at in head.positions]
        return InspectionResult(survey=None, translation=Translation(rows=rows))

    def _row(self, move: ClusterMove, channel: str, topic: str, at: int) -> PartitionTranslation:
        place: dict[str, Any] = {
            "source": move.source,
            "channel": channel,
            "old_topic": topic,
            "topic": topic,
            "partition": 0,
            "stopped_at": at,
            "by": By.CUT if move.positions is None else By.MAPPING,
            "topic_id": "t",
            "cluster_id": "old" if move.positions is None else "new",
        }
        back = move.positions is None
        if self.refuse or (back and self.one_way):
            return PartitionTranslation(**place, code="RECORDS_DIFFER", reason="No.", suggestion="Give it.")
        if self.behind and not back:
            self.behind -= 1
            return PartitionTranslation(**place, behind=5)
        if back:
            (cut,) = move.cut
            return PartitionTranslation(**place, new=cut.pair[1] + at - cut.pair[0], exact=True)
        again = {"replay": self.replay, "exact": not self.replay, "evidence": {"same_as": at - self.replay}}
        return PartitionTranslation(**place, new=at - self.replay + SHIFT, **again)


class TwoClusters(World):
    """The same with a surveyor that asks both clusters."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        super().__init__()

    def pass_time(self, seconds: float = 1.0, *, worker_first: bool = False) -> None:
        super().pass_time(seconds, worker_first=worker_first)
        nothing = References(backends({}, None, StoredSecrets(django_settings.HEADGATE.keyring)))
        launcher = Launcher("alpha", self.host.state_dir, nothing, lambda: SparkSettings(classpath=[]))
        for inspection in PositionInspection.objects.filter(state=InspectionState.PENDING).select_related("pipeline"):
            InspectionContext("alpha", launcher, self.mirror).take(inspection)

    def _check_positions(self) -> None:
        """They are offsets of one cluster, and then of the other."""

    def records(self) -> list[int]:
        """Every record that a sink has acknowledged, by its number on the old cluster, in the order of the ledger."""
        rows = LedgerBatch.objects.filter(pipeline_id=self.pipeline_id, state=LedgerState.DONE).order_by("pk")
        found: list[int] = []
        for row in rows.select_related("run__revision"):
            address = row.run.revision.definition["sources"]["shop"]["bootstrap_servers"]
            for each in row.ranges:
                shift = SHIFT if address == NEW else 0
                found += range(each["start"] - shift, each["end"] - shift)
        return found

    def require_each_once(self) -> None:
        """Stop, and look at the ledger."""
        self.ask(OperationKind.STOP)
        self.run_until(self.settled)
        read = self.records()
        assert sorted(read) == list(range(len(read))), self.story()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "JOURNAL_CHUNK", 1000)
    monkeypatch.setattr(crash_points, "reach", crash_points.reach)
    monkeypatch.setattr(standby, "seen_within", lambda *_: True)
    monkeypatch.setattr(plans, "seen_within", lambda *_: True)
    for module in (plans, positions, migrations):
        monkeypatch.setattr(module, "supervised", lambda *_: True)


@pytest.fixture
def mirror() -> Mirror:
    return Mirror()


@pytest.fixture
def world(db: None, mirror: Mirror) -> TwoClusters:
    world = TwoClusters(mirror)
    world.ask(OperationKind.START)
    world.run_until(world.settled)
    for _ in range(5):
        world.pass_time()
    return world


def start(world: World, **more: Any) -> Migration:
    """Plan, count, approve and begin it."""
    spec = {
        "source": "shop",
        "to": {"bootstrap_servers": NEW},
        "rules": {"window": 3},
        "positions": {"by": "mapping", "topic": "mm2-offset-syncs.new.internal"},
        **more,
    }
    made = migrations.create(pipeline=world.pipeline, kind=MigrationKind.CLUSTER, spec=spec, reason="x", actor=ANA)
    world.pass_time()
    made = migrations.plan(migration=made, actor=ANA)
    assert made.stage == MigrationStage.PLANNED, made.findings
    made = migrations.approve(migration=made, named=made.plan_hash, actor=ANA)
    return migrations.advance(migration=made, named=made.plan_hash, actor=ANA)


def address(pipeline: Pipeline) -> str:
    assert pipeline.current_revision is not None
    return str(pipeline.current_revision.definition["sources"]["shop"]["bootstrap_servers"])


def until(world: World, stage: MigrationStage) -> None:
    for _ in range(400):
        if present(world).stage == stage:
            return
        world.pass_time(0.2)
        world.check()
    raise AssertionError(world.story())


@pytest.mark.parametrize(("behind", "replay"), [(0, 0), (3, 0), (0, 7)])
def test_it_goes_on_in_the_new_cluster_behind_the_last_record(
    world: TwoClusters, mirror: Mirror, behind: int, replay: int
) -> None:
    mirror.replay = replay
    start(world)
    mirror.behind = behind
    world.run_until(lambda: over(world), within=120)
    made = present(world)
    assert made.stage == MigrationStage.COMMITTED, world.story()
    assert address(world.pipeline) == NEW
    assert {each.cluster_id for each in LogIdentity.objects.all()} == {"new"}
    found = evidence.document(made)["content"]
    (row,) = found["positions"]
    assert row["started_at"] == row["translated"] == row["stopped_at"] + SHIFT - replay
    assert (row["snapshot"], found["gap"], found["overlap"]) == (row["stopped_at"], 0, replay)
    assert found["expected"] == {"skip": 0, "replay": replay}
    assert [each.positions is None for each in mirror.inspections] == [False] * (2 + behind)
    if not replay:
        world.require_each_once()


def wait_at_the_gate(world: World) -> Migration:
    """Its positions are translated, and a person has to let it go on."""
    start(world, gates=[MigrationStage.APPLYING])
    world.run_until(lambda: selecting.waits(present(world)) is not None)
    return present(world)


def inspect_repeatedly(world: World) -> None:
    """Somebody follows the positions for longer than looks are kept."""
    for _ in range(positions.KEPT + 1):
        seen = positions.inspect(pipeline=world.pipeline, actor=ANA, now=clock.now(), max_age=0)
        assert positions.answer(inspection=seen, survey=Survey(at=1.0, rows=[]), found=None, findings=[], seen={})


def test_what_was_translated_is_known_however_long_its_gate_waits(world: TwoClusters, mirror: Mirror) -> None:
    made = wait_at_the_gate(world)
    inspect_repeatedly(world)
    migrations.advance(migration=made, named=made.plan_hash, actor=ANA)
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()
    assert address(world.pipeline) == NEW
    world.require_each_once()


def test_without_what_was_translated_it_is_taken_back_at_once(world: TwoClusters) -> None:
    before, made = world.pipeline.current_revision, wait_at_the_gate(world)
    PositionInspection.objects.all().delete()
    migrations.advance(migration=made, named=made.plan_hash, actor=ANA)
    world.run_until(lambda: over(world), within=60)
    made = present(world)
    assert made.stage == MigrationStage.ROLLED_BACK, world.story()
    assert "no longer exists" in made.message
    assert world.pipeline.current_revision == before
    world.require_each_once()


def test_what_cannot_be_translated_lets_the_old_agent_go_on(world: TwoClusters, mirror: Mirror) -> None:
    old = world.agent
    start(world)
    mirror.refuse = True
    world.run_until(lambda: over(world), within=120)
    made = present(world)
    assert (made.stage, world.agents.living) == (MigrationStage.ABORTED, [old]), world.story()
    assert [each["code"] for each in made.findings] == ["RECORDS_DIFFER"]
    world.run_until(world.settled)
    assert world.phase is Phase.RUNNING
    world.require_each_once()


def test_a_mirror_that_never_comes_is_given_up(world: TwoClusters, mirror: Mirror) -> None:
    start(world)
    mirror.behind = 1_000_000
    world.run_until(lambda: len(mirror.inspections) > 5, within=60)
    world.run_until(lambda: over(world), within=300, step=3)
    made = present(world)
    assert made.stage == MigrationStage.ABORTED, world.story()
    assert "not copied 5 records" in made.message
    assert [each["code"] for each in made.findings] == ["MIRROR_BEHIND"]
    world.run_until(world.settled)
    world.require_each_once()


@pytest.mark.parametrize("stage", some(FORWARD, 4))
def test_it_is_taken_back_at_every_stage(world: TwoClusters, stage: MigrationStage) -> None:
    before = world.pipeline.current_revision
    start(world, rules={"window": 600})
    until(world, stage)
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: over(world), within=200)
    assert present(world).stage in {MigrationStage.ROLLED_BACK, MigrationStage.ABORTED}, world.story()
    world.run_until(world.settled)
    assert (world.pipeline.current_revision, world.phase) == (before, Phase.RUNNING)
    world.require_each_once()


def test_the_way_back_is_exact_where_both_logs_count_alike(world: TwoClusters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SHIFT", 0)
    positions.identify(world.pipeline_id, [SourceIdentity(source="shop", cluster_id="old", topics={"orders-in": "t"})])
    start(world, gates=["READY_TO_CUT_OVER"])
    world.run_until(lambda: selecting.needs_action(present(world)), within=120)
    assert {each.cluster_id for each in LogIdentity.objects.all()} == {"new"}
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: over(world), within=200)
    assert present(world).stage == MigrationStage.ROLLED_BACK, world.story()
    assert {each.cluster_id for each in LogIdentity.objects.all()} == {"old"}
    world.run_until(world.settled)
    world.require_each_once()


def test_it_is_translated_back_after_the_new_side_has_delivered(world: TwoClusters, mirror: Mirror) -> None:
    start(world, rules={"window": 600})
    until(world, MigrationStage.VERIFYING)
    for _ in range(5):
        world.pass_time()
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: over(world), within=200)
    assert present(world).stage == MigrationStage.ROLLED_BACK, world.story()
    back = evidence.document(present(world))["content"]["rollback"]
    (row,) = back["positions"]
    assert row["started_at"] == row["translated"] == row["stopped_at"] - SHIFT
    assert (back["gap"], back["overlap"]) == (0, 0)
    assert mirror.inspections[-1].cut
    assert mirror.inspections[-1].to["bootstrap_servers"] != NEW
    assert {each.cluster_id for each in LogIdentity.objects.all()} == {"old"}
    world.run_until(world.settled)
    world.require_each_once()


@pytest.mark.parametrize("anew", [False, True])
def test_what_cannot_be_translated_back_waits_for_a_person_who_may_try_again(
    world: TwoClusters, mirror: Mirror, anew: bool
) -> None:
    start(world, rules={"window": 600})
    until(world, MigrationStage.VERIFYING)
    for _ in range(5):
        world.pass_time()
    mirror.one_way = True
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: over(world), within=200)
    made = present(world)
    assert made.stage == MigrationStage.NEEDS_ATTENTION, world.story()
    assert [each["code"] for each in made.findings] == ["RECORDS_DIFFER"]
    assert not world.agents.living
    mirror.one_way = False
    if anew:
        migrations.rollback(migration=made, reason="again", actor=ANA)
    else:
        migrations.advance(migration=made, named=made.plan_hash, actor=ANA)
    world.run_until(lambda: present(world).stage == MigrationStage.ROLLED_BACK, within=200)
    back = evidence.document(present(world))["content"]["rollback"]
    assert [back[name] for name in ("gap", "overlap", "not_compared")] == [0, 0, 0]
    world.run_until(world.settled)
    world.require_each_once()


def test_one_that_cannot_be_taken_back_is_closed_and_goes_on_in_the_new_cluster(
    world: TwoClusters, mirror: Mirror
) -> None:
    start(world, rules={"window": 600})
    until(world, MigrationStage.VERIFYING)
    world.pass_time()
    mirror.one_way = True
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: over(world), within=200)
    migrations.abort(migration=present(world), reason="stay there", actor=ANA)
    assert present(world).stage == MigrationStage.COMMITTED
    assert address(world.pipeline) == NEW
    world.ask(OperationKind.START)
    world.run_until(world.settled)
    world.require_each_once()


@pytest.mark.parametrize(("points", "back"), some(list(product(range(0, 60, 3), (False, True))), 13))
def test_it_survives_the_death_of_the_worker_at_every_point(world: TwoClusters, points: int, back: bool) -> None:
    start(world, rules={"window": 600 if back else 3})
    if back:
        until(world, MigrationStage.VERIFYING)
        world.pass_time()
        migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.points_left = points
    for _ in range(40):
        world.pass_time(0.2)
        if not world.workers:
            break
    world.kill_worker()
    world.start_worker()
    world.run_until(lambda: over(world), within=200)
    end = MigrationStage.ROLLED_BACK if back else MigrationStage.COMMITTED
    assert present(world).stage == end, world.story()
    world.check()
    world.require_each_once()
