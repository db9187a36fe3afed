"""Migrations at every stage, without one agent: a part for `tests.e2e.fill` each.

`moving` adds a pipeline that runs and a host that it can move to; `migrated` one migration for every look of the
wizard, an evacuation, and so many more that the list has a second page.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.base.states import (
    DesiredState,
    LedgerState,
    MigrationKind,
    MigrationStage,
    Phase,
    RunRole,
    RunState,
)
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.migration import progress
from pipelines.domain.migration.observation import ObservationRules, Sample, evaluate
from pipelines.domain.migration.outcome import ChannelOutcome, Outcome
from pipelines.domain.migration.plan import digest
from pipelines.domain.migration.prediction import Prediction
from pipelines.domain.migration.proof import checklist
from pipelines.domain.migration.shadow import ShadowSample, ShadowState
from pipelines.domain.migration.steps import StepName, back
from pipelines.domain.positions.cluster_move import By, PartitionTranslation, Translation
from pipelines.domain.preview.comparing import DifferenceKind, Totals
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.preview.protocol import ChangedValue, DifferenceRow, NotCompared, ShownSide
from pipelines.domain.preview.shadowing import ShadowCounts
from pipelines.models import Evacuation, FreezeWindow, Host, Migration, Pipeline, PositionInspection, Revision, Run
from pipelines.selectors.migration.migrations import get_migration, positions, totals
from pipelines.selectors.positions.positions import basis
from pipelines.services.base.audit import Actor
from pipelines.services.migration import migrations
from pipelines.services.migration.steps import emit
from pipelines.services.positions import positions as positions_of
from tests.factories import (
    HostFactory,
    LedgerBatchFactory,
    PipelineFactory,
    PositionFactory,
    RunFactory,
    SampleFactory,
    definition_data,
    now,
)

ANA, BEN = Actor("ana"), Actor("ben")
REASON = "The topic is split by country; change 4711"
START = 48_000
READY = [
    {"name": "shop", "kind": "source", "type": "kafka", "state": "ready", "detail": "4 partitions of shop-in"},
    {"name": "main", "kind": "channel", "type": "direct", "state": "ready", "detail": ""},
    {"name": "out", "kind": "sink", "type": "kafka", "state": "ready", "detail": "the topic exists"},
]
BROKEN = {"name": "out", "kind": "sink", "type": "kafka", "state": "failed", "detail": "The topic does not exist."}
MIGRATED = {
    "planned": MigrationStage.PLANNED,
    "blocked": MigrationStage.DRAFT,
    "preflight": MigrationStage.ABORTED,
    "pausing": MigrationStage.PAUSING,
    "gated": MigrationStage.READY_TO_CUT_OVER,
    "verifying": MigrationStage.VERIFYING,
    "committed": MigrationStage.COMMITTED,
    "reverted": MigrationStage.ROLLED_BACK,
    "stuck": MigrationStage.NEEDS_ATTENTION,
}
"""The pipelines of `migrated`, and where their migrations stand."""


def moving() -> None:
    """`orders` runs on alpha, and charlie has room for it."""
    charlie()
    running("orders")


def charlie() -> Host:
    """A host that is heard of for as long as a test lasts."""
    return HostFactory.create(
        name="charlie", cores=8, memory_bytes=32 << 30, seen_at=now() + timedelta(days=1), version="0.2.0"
    )


def running(name: str) -> Pipeline:
    pipeline = PipelineFactory.create(name=name, phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    run = RunFactory.create(pipeline=pipeline, number=1, first_record_at=now(), start_requested_at=now())
    for partition in range(4):
        PositionFactory.create(
            pipeline=pipeline, topic=f"{name}-in", partition=partition, next_offset=START + partition
        )
        SampleFactory.create(pipeline=pipeline, at=now() - timedelta(seconds=3 * partition))
    LedgerBatchFactory.create(run=run, first_batch=1, ranges=[batch(name, 0)])
    return pipeline


def batch(name: str, start: int, end: int = START) -> dict[str, Any]:
    return {"topic": f"{name}-in", "partition": 0, "start": start, "end": end}


def migrated() -> None:
    """A migration for every look, and an evacuation in which one moves, one waits and one stays."""
    charlie()
    for name, stage in MIGRATED.items():
        running(name)
        LOOKS[stage](planned(name))
    shadowed()
    elsewhere()
    evacuation()
    many()
    FreezeWindow.objects.create(
        label="tier:1",
        starts_at=now(),
        ends_at=now() + timedelta(days=2),
        reason="The sale",
        created_by="ana",
        created_at=now(),
    )


def planned(name: str, kind: MigrationKind = MigrationKind.REVISION, **spec: Any) -> Migration:
    """Planned by ana, as the API does it."""
    data = definition_data(name)
    data["sinks"]["out"] |= {"topic": f"{name}-by-country", "options": {"sasl.password": "${secret:shop-kafka}"}}
    wanted = {"definition": data, **spec} if kind is MigrationKind.REVISION else spec
    pipeline = Pipeline.objects.get(name=name)
    return migrations.create(pipeline=pipeline, kind=kind, spec=wanted, reason=REASON, actor=ANA)


def blocked(row: Migration) -> None:
    """The pipeline was stopped meanwhile, and changed: two findings."""
    Pipeline.objects.filter(pk=row.pipeline_id).update(phase=Phase.BLOCKED)
    migrations.plan(migration=row, actor=BEN)


def shadowed() -> None:
    """Half of the records are compared. The new revision filters some, and gives others a header."""
    running("shadowed")
    row = planned("shadowed", shadow={"records": 10_000, "most_different": 0.25})
    counts = ShadowCounts(records=5_000, identical=4_000, different=600, only_old=400, kinds=DIFFERING)
    samples = [ShadowSample(source="shop", difference=each) for each in (FILTERED, MARKED)]
    state = ShadowState(
        since=now().isoformat(),
        after={"shop": 1},
        counts=counts,
        parts=3,
        not_compared={"shop": NotCompared(headers=["timestamp"])},
        samples=samples,
        unlike_ledger=1,
        notes=["The ledger has 4,998 delivered records of 5,000 that were compared."],
        rate_before=4_980.5,
        rate=4_870.0,
    )
    went(row, StepName.SHADOW, shadow=state.model_dump(mode="json"))


INTERCEPTOR = "sources.shop.interceptors[0]"
EVENT = {
    "key": "o-4711",
    "headers": [["timestamp", "1795690185784"]],
    "bytes": 17,
    "body": '{"number": 4711}',
    "note": "",
}
DELIVERED = ShownSide(result=EventResult.DELIVERED, channels=["main"], event=EVENT)
FILTERED = DifferenceRow(
    topic="shadowed-in",
    partition=0,
    offset=START,
    kinds=[DifferenceKind.NEWLY_FILTERED],
    components=[INTERCEPTOR],
    before=DELIVERED,
    after=ShownSide(result=EventResult.FILTERED, channels=[], component=INTERCEPTOR, event=EVENT),
)
MARKED = DifferenceRow(
    topic="shadowed-in",
    partition=0,
    offset=START + 1,
    kinds=[DifferenceKind.HEADERS],
    components=[INTERCEPTOR],
    before=DELIVERED,
    after=DELIVERED,
    headers=[ChangedValue(name="seen", before=None, after="yes")],
)
DIFFERING = {DifferenceKind.NEWLY_FILTERED: 400, DifferenceKind.HEADERS: 600}


def elsewhere() -> None:
    """To another cluster: proven by pairs, counted by time, not brought yet, and one that nothing proves."""
    pipeline = running("elsewhere")
    positions_of.identify(pipeline.pk, [SourceIdentity(source="shop", cluster_id="old", topics={"elsewhere-in": "a"})])
    made = planned(
        "elsewhere",
        MigrationKind.CLUSTER,
        source="shop",
        to={"bootstrap_servers": "kafka-new.example:9092"},
        topics={"elsewhere-in": "old.elsewhere-in"},
        positions={"by": "mapping", "topic": "mm2-offset-syncs.new.internal"},
    )
    proof = {
        "pair": [47_990, 1_047_990],
        "expected": 1_048_000,
        "proof": "records",
        "compared": 32,
        "last_read": 47_999,
    }
    times = {"timestamp": 1_795_000_000_000, "times_of": "producer", "compared": 7, "last_read": 48_000}
    words = {
        "code": "NO_SYNC",
        "reason": "The offset syncs have no pair of it.",
        "suggestion": "Translate by timestamp.",
    }
    rows = [
        translated(0, new=1_048_000, exact=True, evidence=proof),
        translated(1, new=1_048_001, by=By.TIMESTAMP, replay=7, evidence=times),
        translated(2, behind=1_204),
        translated(3, **words),
    ]
    inspection = PositionInspection.objects.get(pipeline=pipeline)
    positions_of.answer_move(inspection=inspection, found=Translation(rows=rows), seen=basis(pipeline))
    migrations.plan(migration=made, actor=ANA)


def translated(partition: int, **more: Any) -> PartitionTranslation:
    fields: dict[str, Any] = {"by": By.MAPPING, "cluster_id": "new", "topic_id": "b", **more}
    return PartitionTranslation(
        source="shop",
        channel="main",
        old_topic="elsewhere-in",
        topic="old.elsewhere-in",
        partition=partition,
        stopped_at=START + partition,
        **fields,
    )


def started(row: Migration) -> Migration:
    approved = migrations.approve(migration=row, named=row.plan_hash, actor=ANA)
    return migrations.advance(migration=approved, named=row.plan_hash, actor=ANA)


def went(row: Migration, upto: StepName, state: str = "running", **fields: Any) -> Migration:
    """So far: every step before is done, this one is in `state`."""
    found = started(row)
    steps = [dict(each) for each in found.steps]
    names = [each["name"] for each in steps]
    place = names.index(upto)
    for index, each in enumerate(steps[: place + 1]):
        step_started = now() - timedelta(seconds=4 * (place - index) + 4)
        last = index == place
        each |= {"state": state if last else "done", "tried": 1, "intent_at": step_started.isoformat()}
        each |= {} if last and state == "running" else {"done_at": (step_started + timedelta(seconds=3)).isoformat()}
        each |= {"message": WORDS.get(each["name"], ""), "evidence": evidence(each["name"], found)}
    if state == "pending":
        steps[place] |= {"tried": 0, "intent_at": None, "done_at": None}
    wanted = {"stage": steps[place]["stage"], "message": WORDS.get(upto, ""), "steps": steps, "runner_host": "alpha"}
    wanted["started_at"] = now() - timedelta(seconds=4 * place + 5)
    Migration.objects.filter(pk=found.pk).update(**{**wanted, **fields})
    return get_migration(found.pk)


WORDS = {
    StepName.PREPARE_STANDBY: "Every component is ready.",
    StepName.PAUSE: "Batch 812 is being finished.",
    StepName.PROVE_PAUSE: "The pause is verified.",
    StepName.TAKE_SNAPSHOT: "4 positions are recorded.",
    StepName.END_OLD_RUN: "None of its processes is alive.",
    StepName.PROMOTE: "Run 2 is promoted.",
    StepName.OBSERVE: "31 s of observation left.",
}


def evidence(step: str, row: Migration) -> Any:
    run = row.old_run
    if step == StepName.PREPARE_STANDBY:
        return {"run": 2, "host": "alpha", "components": READY, "findings": []}
    if step == StepName.PROVE_PAUSE:
        proof = {"gate_closed": True, "batches_in_flight": 0, "positions_still": True, "balanced": True}
        items = checklist(phase="PAUSED", proof=proof, positions=[], ledger=[], open_batches=0)
        return {"run": run.number if run else None, "checks": [item.model_dump(mode="json") for item in items]}
    return observed() if step == StepName.OBSERVE else None


def observed(**after: Any) -> dict[str, Any]:
    before, seen = Sample(rate=4_980.5, lag=120), Sample(**{"rate": 5_011.0, "lag": 96, **after})
    return evaluate(ObservationRules(), before, seen, seconds=29.0).model_dump(mode="json")


def preflight(row: Migration) -> None:
    """The sink of the new side has no topic: nothing was touched."""
    failed = {**evidence(StepName.PREPARE_STANDBY, row), "components": [*READY[:2], BROKEN]}
    found = went(row, StepName.PREPARE_STANDBY, "failed")
    steps = [found.steps[0] | {"evidence": failed, "message": BROKEN["detail"]}, *found.steps[1:]]
    over(found, MigrationStage.ABORTED, BROKEN["detail"], steps=skipped(steps), findings=[finding(BROKEN["detail"])])


def skipped(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each | ({"state": "skipped"} if each["state"] == "pending" else {}) for each in steps]


def finding(message: str, code: str = "TOPIC_UNKNOWN", path: str = "sinks.out") -> dict[str, str]:
    return {"path": path, "code": code, "message": message, "suggestion": ""}


def over(row: Migration, stage: MigrationStage, message: str, **fields: Any) -> None:
    ended = {"stage": stage, "message": message, "ended_at": now(), **fields}
    Migration.objects.filter(pk=row.pk).update(**ended)
    found = get_migration(row.pk)
    emit(found, message, old=MigrationStage.VERIFYING)


def pausing(row: Migration) -> None:
    """A batch of the old run is held by its sink."""
    found = went(row, StepName.PAUSE)
    name = row.pipeline.name
    holding = {"component": "sinks.out", "cause": "The broker does not answer.", "attempts": 3, "since": 0.0}
    held = {"source": "shop", "channel": "main", "in_flight": True, "holding": holding, "positions": []}
    Run.objects.filter(pipeline=row.pipeline).update(observed={"queries": [held]})
    LedgerBatchFactory.create(
        run=found.old_run,
        first_batch=2,
        state=LedgerState.PLANNED,
        ranges=[batch(name, START, START + 1_250)],
        read=0,
        delivered=0,
        done_at=None,
    )


def gated(row: Migration) -> None:
    """A person is asked before the new agent takes over."""
    found = went(row, StepName.CHECK_STANDBY, "pending", snapshot=snapshot(row))
    steps = [each | {"gate": each["name"] == StepName.CHECK_STANDBY} for each in found.steps]
    Migration.objects.filter(pk=row.pk).update(steps=steps, stage=MigrationStage.APPLYING)


def snapshot(row: Migration) -> dict[str, Any]:
    content = {
        "revision": 1,
        "host": "alpha",
        "run": 1,
        "lineage": 1,
        "positions": positions(row.pipeline_id),
        "totals": totals(row.pipeline_id),
        "stopped": {"positions": positions(row.pipeline_id), "last_delivered_at": LAST().timestamp()},
    }
    return {**content, "digest": digest(content), "at": now().isoformat()}


def seconds_ago(seconds: float) -> Callable[[], datetime]:
    return lambda: now() - timedelta(seconds=seconds)


LAST, FIRST = seconds_ago(25.5), seconds_ago(5.2)
"""The last delivery of the old side and the first of the new one, as the steps of `went` have them."""


def handed_over(row: Migration) -> dict[str, Any]:
    """The new run has the pipeline, and began where the old one stopped."""
    name, pipeline = row.pipeline.name, row.pipeline
    revision = Revision.objects.filter(pipeline=pipeline).order_by("-number").first()
    Run.objects.filter(pipeline=pipeline).update(
        state=RunState.ENDED, ended_at=seconds_ago(13)(), first_record_at=seconds_ago(900)()
    )
    new = RunFactory.create(
        pipeline=pipeline,
        number=2,
        role=RunRole.ACTIVE,
        revision=revision,
        first_record_at=FIRST(),
        promoted_at=seconds_ago(8)(),
    )
    Run.objects.filter(pipeline=pipeline, number=1).update(started_at=seconds_ago(920)())
    Run.objects.filter(pk=new.pk).update(started_at=seconds_ago(32)())
    LedgerBatchFactory.create(run=new, first_batch=0, ranges=[batch(name, START, START + 500)])
    series(pipeline)
    return {"new_run": new, "new_revision": revision, "snapshot": snapshot(row)}


def series(pipeline: Pipeline) -> None:
    """Rate and lag every other second: steady, nothing in the pause, and faster until the lag is gone."""
    pipeline.samples.all().delete()
    for ago in range(90, 0, -2):
        waiting, caught_up = 5 < ago < 26, ago <= 5
        rate = 0.0 if waiting else 5_600.0 - 90 * ago if caught_up else 4_980.0 + 40 * (ago % 6)
        lag = 120 + 5_000 * (26 - ago) if waiting else 9_000 * ago if caught_up else 120 + 11 * (ago % 6)
        SampleFactory.create(pipeline=pipeline, at=seconds_ago(ago)(), records_per_second=rate, lag_records=lag)


def verifying(row: Migration) -> None:
    went(row, StepName.OBSERVE, **handed_over(row))


FILTER = "sources.shop.interceptors[0]"


def fared(read: int, filtered: int, size: int) -> Outcome:
    """What has become of records of the one channel."""
    left = read - filtered
    parts = {FILTER: filtered}
    counts = ChannelOutcome(read=read, events=read, delivered=left, filtered=parts, size=left * size, sized=left)
    return Outcome(sources={"shop": {"main": counts}})


def predicted() -> list[dict[str, Any]]:
    """What a preview of both revisions has shown."""
    sides = {}
    for side, filtered, size in (("before", 50, 410), ("after", 380, 388)):
        left = 1_000 - filtered
        sides[side] = Totals(
            events=1_000, delivered=left, filtered={FILTER: filtered}, channels={"main": left}, size=left * size
        )
    return [Prediction(source="shop", records=1_000, **sides).model_dump(mode="json")]


def compared() -> dict[str, Any]:
    """What a shadow has found at its end."""
    counts = ShadowCounts(records=90_000, identical=56_700, different=3_300, only_old=30_000)
    state = ShadowState(since=seconds_ago(60)().isoformat(), after={}, counts=counts, parts=3)
    return state.model_dump(mode="json")


def committed(row: Migration) -> None:
    fields = handed_over(row)
    found = went(row, StepName.OBSERVE, "done", observed=observed(), **fields)
    passed = [{"stage": "COMMITTED", "by": "rules", "at": now().isoformat()}]
    seen = {"before": Sample(outcome=fared(9_000, 420, 412)).model_dump(mode="json")}
    seen["outcome"] = fared(24_000, 9_300, 390).model_dump(mode="json")
    after = {**fields["snapshot"], "totals_after": totals(row.pipeline_id), **seen}
    plan = {**found.plan, "predictions": predicted()}
    over(
        found,
        MigrationStage.COMMITTED,
        "The change is permanent.",
        passed=passed,
        snapshot=after,
        plan=plan,
        shadow=compared(),
    )


def turned(row: Migration, ill: str, last: str) -> Migration:
    """The way back after the new side had begun."""
    found = went(row, StepName.OBSERVE, "failed", observed=observed(lag=90_000), **handed_over(row))
    way = back(paused=True, ending=True, ended=True, has_standby=True, promoted=True, life=Lifecycle())
    steps = progress.with_rollback(found.steps, way, now(), ill)
    for index, each in enumerate(steps):
        if each["stage"] == MigrationStage.ROLLING_BACK:
            done = {"tried": 1, "intent_at": now().isoformat(), "done_at": now().isoformat()}
            steps[index] = each | done | {"state": last if index == len(steps) - 1 else "done"}
    Migration.objects.filter(pk=row.pk).update(steps=steps, stage=MigrationStage.ROLLING_BACK, message=ill)
    return get_migration(row.pk)


LAG = "Not as before: The lag is at most 1120 records."


def reverted(row: Migration) -> None:
    """Run 3 delivers what run 2 has left."""
    turned(row, LAG, "done")
    found = get_migration(row.pk)
    ended = {"run": 2, "outcome": "CLEAN"}
    steps = [each | ({"evidence": ended} if each["name"] == StepName.END_NEW_RUN else {}) for each in found.steps]
    Run.objects.filter(pipeline=row.pipeline, number=2).update(state=RunState.ENDED, ended_at=now())
    heir = RunFactory.create(
        pipeline=row.pipeline, number=3, revision=found.old_revision, first_record_at=now() + timedelta(seconds=3)
    )
    LedgerBatchFactory.create(run=heir, first_batch=0, ranges=[batch(row.pipeline.name, START + 500, START + 900)])
    over(
        found,
        MigrationStage.ROLLED_BACK,
        f"The old configuration is restored. {LAG}",
        findings=[finding(LAG, "OBSERVED_LAG", "lag")],
        steps=steps,
    )


def stuck(row: Migration) -> None:
    words = "start_old timed out after 240 s. Its host is silent."
    turned(row, LAG, "failed")
    Migration.objects.filter(pk=row.pk).update(
        stage=MigrationStage.NEEDS_ATTENTION, message=words, findings=[finding(words, "STEP_FAILED", "start_old")]
    )


LOOKS: dict[MigrationStage, Callable[[Migration], None]] = {
    MigrationStage.PLANNED: lambda row: None,
    MigrationStage.DRAFT: blocked,
    MigrationStage.ABORTED: preflight,
    MigrationStage.PAUSING: pausing,
    MigrationStage.READY_TO_CUT_OVER: gated,
    MigrationStage.VERIFYING: verifying,
    MigrationStage.COMMITTED: committed,
    MigrationStage.ROLLED_BACK: reverted,
    MigrationStage.NEEDS_ATTENTION: stuck,
}


def evacuation() -> None:
    """bravo was emptied of all but one."""
    host = Host.objects.get(name="bravo")
    row = Evacuation.objects.create(
        host=host,
        reason="A new kernel",
        created_by="ana",
        created_at=now(),
        names=["later"],
        left={"tied": "placement.host is bravo"},
    )
    for name in ("first", "second"):
        running(name)
        made = planned(name, MigrationKind.HOST, host="charlie")
        Migration.objects.filter(pk=made.pk).update(evacuation=row)
        if name == "first":
            Migration.objects.filter(pk=made.pk).update(
                stage=MigrationStage.COMMITTED,
                ended_at=now(),
                started_at=now() - timedelta(seconds=38),
                old_host=host,
                new_host=Host.objects.get(name="charlie"),
            )


def many() -> None:
    """Sixty that are over."""
    pipeline = Pipeline.objects.get(name="first")
    Migration.objects.bulk_create(
        Migration(
            pipeline=pipeline,
            kind=MigrationKind.SOFTWARE,
            stage=MigrationStage.COMMITTED,
            stage_since=now(),
            reason=f"Release {number}",
            created_by="ben",
            created_at=now() - timedelta(days=1, minutes=number),
            started_at=now() - timedelta(days=1),
            ended_at=now() - timedelta(days=1) + timedelta(seconds=number),
        )
        for number in range(60)
    )


PARTS: dict[str, Callable[[], None]] = {"moving": moving, "migrated": migrated}
