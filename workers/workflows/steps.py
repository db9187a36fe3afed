"""What each step of a migration does, and how it is known to be done.

`do` brings about, through the database alone, what the supervisors then make true; it does nothing where nothing is
left to do, so it may be called with every tick. `verify` looks, and never acts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.domain.base.states import (
    RUNNING_PHASES,
    DesiredState,
    InspectionState,
    LedgerState,
    MigrationKind,
    MigrationStage,
    Phase,
    RunRole,
    RunState,
)
from pipelines.domain.migration import progress, proof
from pipelines.domain.migration.observation import Accepted, Conclusion, ObservationRules, Sample, evaluate
from pipelines.domain.migration.plan import digest
from pipelines.domain.migration.progress import Instant
from pipelines.domain.migration.shadow import verdict
from pipelines.domain.migration.steps import StepName
from pipelines.domain.positions.cluster_move import PartitionTranslation
from pipelines.models import LedgerBatch, Migration, Pipeline, PositionInspection, Run
from pipelines.selectors.migration import migrations as selecting
from pipelines.selectors.migration.shadows import state_of
from pipelines.selectors.positions.positions import identities
from pipelines.selectors.runs.runs import last_active
from pipelines.services.migration import shadows, standbys, steering

PATIENCE = 2.0
"""Seconds before its deadline at which a pause on the way back is given up."""
_REFUSED = frozenset({Phase.BLOCKED, Phase.FAILED})


@dataclass(frozen=True)
class Outcome:
    """DONE, FAILED, or neither yet. `attention`: a person has to choose. `fields` are stored with the step's end."""

    done: bool = False
    failed: bool = False
    attention: bool = False
    message: str = ""
    evidence: Any = None
    findings: list[Any] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """A migration and its pipeline as they are now. `row`: the step's row of the log."""

    migration: Migration
    pipeline: Pipeline
    row: dict[str, Any]
    now: Instant

    @property
    def name(self) -> str:
        """For messages."""
        return self.pipeline.name

    @property
    def new_run(self) -> Run | None:
        """The new side's run."""
        run = self.migration.new_run
        if run is not None:
            run.refresh_from_db()
        return run


Deed = Callable[[Scene], None]
Verify = Callable[[Scene], Outcome]


@dataclass(frozen=True)
class Rule:
    """How a step is done, and how it is known to be."""

    do: Deed
    verify: Verify


def _nothing(_scene: Scene) -> None:
    """It only looks."""


def _prepare(scene: Scene) -> None:
    steering.prepare(migration=scene.migration)


def _prepared(scene: Scene) -> Outcome:
    run = scene.new_run
    if run is None:
        return Outcome(message="The new agent is requested.")
    found = standbys.outcome(run)
    evidence = {"run": run.number, "host": run.host_id, "components": found.components, "findings": found.findings}
    return Outcome(found.ready, found.failed, message=found.message, evidence=evidence, findings=found.findings)


def _shadow(scene: Scene) -> None:
    plan = selecting.plan_of(scene.migration)
    if plan is not None and plan.shadow is not None and _standby_lives(scene):
        shadows.carry_on(migration=scene.migration, plan=plan.shadow, elapsed=_since(scene))


def _shadowed(scene: Scene) -> Outcome:
    if not _standby_lives(scene):
        return _standby_lost(scene)
    plan, state = selecting.plan_of(scene.migration), state_of(scene.migration)
    if plan is None or plan.shadow is None or state is None:
        return Outcome(message="The shadow begins.")
    found = verdict(plan.shadow, state, _since(scene))
    return Outcome(found.done, found.failed, message=found.words, findings=list(state.findings))


def _pause(scene: Scene) -> None:
    """What waits for a person is left alone: to ask for a pause would start it."""
    if scene.pipeline.phase in _REFUSED:
        return
    why = f"Migration {scene.migration.pk} pauses it."
    steering.want(migration=scene.migration, desired=DesiredState.PAUSED, why=why)


def _paused(scene: Scene) -> Outcome:
    pipeline = scene.pipeline
    if not _standby_lives(scene):
        return _standby_lost(scene)
    evidence = _drain(selecting.active_run(pipeline.pk))
    if pipeline.phase == Phase.PAUSED and _obeyed(pipeline):
        return Outcome(done=True, message="Consumption has stopped.", evidence=evidence)
    if pipeline.phase in _REFUSED:
        return Outcome(failed=True, message=pipeline.phase_message, findings=list(pipeline.findings))
    return Outcome(message=pipeline.phase_message, evidence=evidence)


def _obeyed(pipeline: Pipeline) -> bool:
    """Whether the supervisor has acted on what was asked last, so that the phase is an answer to it."""
    return pipeline.observed_generation >= pipeline.generation


def _drain(run: Run | None) -> dict[str, Any]:
    """What is left to be finished, as far as the agent says."""
    queries = (run.observed or {}).get("queries", []) if run else []
    return {
        "run": run.number if run else None,
        "in_flight": sum(1 for each in queries if each.get("in_flight")),
        "held_by": sorted({each["holding"]["component"] for each in queries if each.get("holding")}),
        "stuck": (run.observed or {}).get("stuck", []) if run else [],
    }


def _prove(scene: Scene) -> Outcome:
    pipeline, run = scene.pipeline, selecting.active_run(scene.pipeline.pk)
    seen = (run.observed or {}) if run else {}
    items = proof.checklist(
        phase=pipeline.phase,
        proof=seen.get("pause_proof"),
        positions=positions(seen),
        ledger=selecting.positions(pipeline.pk),
        open_batches=LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.PLANNED).count(),
    )
    evidence = {"run": run.number if run else None, "checks": [item.model_dump(mode="json") for item in items]}
    missing = ", ".join(item.name for item in items if not item.holds)
    if not _standby_lives(scene):
        return _standby_lost(scene)
    if proof.holds(items) and run is not None:
        return Outcome(done=True, message="The pause is verified.", evidence=evidence)
    return Outcome(message=f"Not verified yet: {missing}.", evidence=evidence)


def positions(observed: dict[str, Any]) -> list[dict[str, Any]]:
    """Where an agent says that it stands."""
    return [
        {
            "source": query["source"],
            "channel": query["channel"],
            "topic": position["topic"],
            "partition": position["partition"],
            "offset": position["next_offset"],
        }
        for query in observed.get("queries", [])
        for position in query.get("positions", [])
    ]


def _snapshot(scene: Scene) -> None:
    if (scene.migration.snapshot or {}).get("digest"):
        return
    pipeline, run = scene.pipeline, selecting.active_run(scene.pipeline.pk)
    content = {
        "revision": scene.migration.old_revision.number if scene.migration.old_revision else None,
        "host": pipeline.host_id,
        "run": run.number if run else None,
        "lineage": run.lineage if run else None,
        "positions": selecting.positions(pipeline.pk),
        "identities": [each.model_dump() for each in identities(pipeline.pk)],
        "totals": selecting.totals(pipeline.pk),
        "stopped": _stopped_at(run),
    }
    taken = {**content, "digest": digest(content), "at": scene.now.wall.isoformat()}
    steering.keep_snapshot(migration=scene.migration, snapshot=taken)


def _stopped_at(run: Run | None) -> dict[str, Any]:
    """Where the old side stopped, and when it delivered last (wall seconds)."""
    seen = (run.observed or {}) if run else {}
    times = [each["last_batch_at"] for each in seen.get("queries", []) if each.get("last_batch_at")]
    return {"positions": positions(seen), "last_delivered_at": max(times, default=None)}


def _snapshot_taken(scene: Scene) -> Outcome:
    taken = scene.migration.snapshot or {}
    if taken.get("digest"):
        words = f"{len(taken['positions'])} positions are recorded."
        return Outcome(done=True, message=words, evidence={"digest": taken["digest"]})
    return Outcome(message="Positions are being recorded.")


def _attempt(scene: Scene) -> str:
    return str(scene.row["intent_at"])


def _translate(scene: Scene) -> None:
    steering.ask_both_clusters(migration=scene.migration, attempt=_attempt(scene))


def _translated(scene: Scene) -> Outcome:
    if not _standby_lives(scene):
        return _standby_lost(scene)
    return _answered(scene)


def _answered(scene: Scene) -> Outcome:
    """What the host has found on both clusters."""
    inspection = steering.inspection_of(scene.migration)
    if inspection is None or not steering.is_of(scene.migration, _attempt(scene)):
        return Outcome(message="The host is reading both clusters.")
    if inspection.state == InspectionState.PENDING:
        before = int((scene.migration.snapshot or {}).get("behind", 0))
        return _behind(before) if before else Outcome(message="The host is reading both clusters.")
    if inspection.state == InspectionState.FAILED:
        return _not_inspected(inspection)
    rows = inspection.moves
    if inspection.impossible:
        found = [
            PartitionTranslation.model_validate(row).finding().model_dump(mode="json") for row in inspection.impossible
        ]
        words = f"{len(found)} positions cannot be translated: {found[0]['message']}"
        return Outcome(failed=True, message=words, findings=found, evidence={"rows": rows})
    if behind := steering.behind(inspection):
        return _behind(behind)
    if not any("stopped_at" in row for row in rows):
        return Outcome(done=True, message=f"{len(rows)} ends are recorded.", evidence={"ends": rows})
    counts = {name: sum(row[name] or 0 for row in rows) for name in ("skip", "replay")}
    words = (
        f"{len(rows)} positions are translated: {counts['skip']} records are skipped, {counts['replay']} are reread."
    )
    return Outcome(done=True, message=words, evidence={**counts, "rows": rows})


def _behind(records: int) -> Outcome:
    words = f"The mirror has not copied {records} records that were already read."
    advice = "Check that it runs and keeps up, then plan again; or translate by given offsets."
    found = {"path": "positions", "code": "MIRROR_BEHIND", "message": words, "suggestion": advice}
    return Outcome(message=words, findings=[found])


def _not_inspected(inspection: PositionInspection) -> Outcome:
    error = inspection.error or {}
    found = [{"path": "to", "code": str(error.get("code", "")).upper(), "message": error.get("message", "")}]
    return Outcome(failed=True, message=str(error.get("message", "")), findings=found)


def _translate_back(scene: Scene) -> None:
    steering.request_rollback(migration=scene.migration, attempt=_attempt(scene))


def _translated_back(scene: Scene) -> Outcome:
    if not steering.needs_translation(scene.migration, scene.pipeline):
        return Outcome(done=True, message="The positions are those of the snapshot.")
    return _answered(scene)


def _end(scene: Scene) -> None:
    why = f"Migration {scene.migration.pk} ends run {_number(selecting.active_run(scene.pipeline.pk))}."
    steering.want(migration=scene.migration, desired=DesiredState.STOPPED, why=why)


def _number(run: Run | None) -> str:
    return str(run.number) if run else "-"


def _ended(scene: Scene) -> Outcome:
    run, pipeline = selecting.active_run(scene.pipeline.pk), scene.pipeline
    if run is None and pipeline.phase == Phase.STOPPED and _obeyed(pipeline):
        last = last_active(pipeline.pk)
        evidence = {"run": last.number, "outcome": last.outcome, "exit_code": last.exit_code} if last else None
        return Outcome(done=True, message="None of its processes is alive.", evidence=evidence)
    return Outcome(message=pipeline.phase_message)


def _set_positions(scene: Scene) -> None:
    if scene.migration.kind == MigrationKind.POSITION:
        steering.ask_for_positions(migration=scene.migration)
    steering.set_positions(migration=scene.migration)


def _positions_set(scene: Scene) -> Outcome:
    inspection = steering.inspection_of(scene.migration)
    if inspection is None and scene.migration.kind == MigrationKind.CLUSTER:
        return Outcome(
            failed=True, message="The translation of its positions no longer exists; plan the migration again."
        )
    if inspection is None or inspection.state in {InspectionState.PENDING, InspectionState.ANSWERED}:
        return Outcome(message="The host is counting the records skipped and reread.")
    if inspection.state == InspectionState.FAILED:
        return _not_inspected(inspection)
    moves = inspection.moves
    counts = {name: sum(each[name] or 0 for each in moves) for name in ("skip", "replay")}
    words = f"{counts['skip']} records are skipped, {counts['replay']} are reread."
    return Outcome(done=True, message=words, evidence={**counts, "moves": moves})


def _checked(scene: Scene) -> Outcome:
    run = scene.new_run
    found = standbys.outcome(run) if run else standbys.Preflight(failed=True, message="There is no new agent.")
    return Outcome(found.ready, found.failed, message=found.message, findings=found.findings)


def _promote(scene: Scene) -> None:
    steering.hand_over(migration=scene.migration)


def _promoted(scene: Scene) -> Outcome:
    run, pipeline = scene.new_run, scene.pipeline
    if run is None or (run.role != RunRole.ACTIVE and run.state == RunState.ENDED):
        return _standby_lost(scene)
    if pipeline.phase in _REFUSED:
        return Outcome(failed=True, message=pipeline.phase_message, findings=list(pipeline.findings))
    if run.role == RunRole.ACTIVE and _works(scene):
        evidence = {
            "run": run.number,
            "first_record_at": _iso(run),
            "positions": selecting.positions(pipeline.pk),
            "lag": selecting.seen_now(pipeline, run).lag,
        }
        return Outcome(done=True, message=f"Run {run.number} is promoted.", evidence=evidence)
    return Outcome(message=pipeline.phase_message)


def _iso(run: Run) -> str | None:
    return run.first_record_at.isoformat() if run.first_record_at else None


def _works(scene: Scene) -> bool:
    """Whether what was wanted before the migration is so again."""
    pipeline = scene.pipeline
    if not _obeyed(pipeline) or pipeline.desired_state != scene.migration.old_desired:
        return False
    if pipeline.desired_state == DesiredState.PAUSED:
        return bool(pipeline.phase == Phase.PAUSED)
    return pipeline.phase in RUNNING_PHASES


def _observe(scene: Scene) -> Outcome:
    """The rules, over what is seen since the new side began."""
    migration, run = scene.migration, scene.new_run
    plan = selecting.plan_of(migration)
    rules = plan.rules if plan else ObservationRules()
    if run is None:
        return Outcome(failed=True, message="The new agent has no run.")
    taken = migration.snapshot or {}
    before = Sample.model_validate(taken.get("before") or {})
    now = selecting.seen_now(scene.pipeline, run, _span(scene)).since(
        Accepted.model_validate(taken.get("accepted") or {})
    )
    observed = evaluate(
        rules,
        before,
        now,
        seconds=_since(scene),
        backlog=_backlog(migration),
        interval=selecting.batch_interval(migration),
        flows=migration.old_desired != DesiredState.PAUSED,
        expected=selecting.expected(migration),
        changed=migration.kind == MigrationKind.REVISION,
    )
    seen = observed.model_dump(mode="json")
    words = "; ".join(check.words for check in observed.breaches)
    if _committed_by_hand(migration):
        return Outcome(done=True, message="Committed by a user.", evidence=seen, fields={"observed": seen})
    if observed.conclusion is Conclusion.COMMIT:
        passed = [*migration.passed, {"stage": MigrationStage.COMMITTED.value, "by": "rules", "at": _wall(scene)}]
        asked = plan is not None and MigrationStage.COMMITTED in plan.gates
        fields = {"observed": seen} if asked else {"observed": seen, "passed": passed}
        return Outcome(done=True, message="All rules hold.", evidence=seen, fields=fields)
    if observed.conclusion is Conclusion.ROLL_BACK:
        return Outcome(failed=True, message=f"Not as before: {words}", evidence=seen, findings=_breaches(seen))
    if observed.conclusion is Conclusion.ASK:
        asks = not observed.breaches
        well = NOTHING_SEEN if observed.waiting else "All rules hold; commit the migration."
        message = well if asks else f"Not as before: {words}"
        return Outcome(asks, False, not asks, message, seen, _breaches(seen), {"observed": seen})
    return Outcome(message=f"{observed.left:.0f} s of observation left.", evidence=seen)


NOTHING_SEEN = "Nothing was delivered yet, so the outcome is not known; commit the migration or roll it back."


def _backlog(migration: Migration) -> int | None:
    """The lag when the new side had delivered first."""
    return (progress.of(migration.steps, StepName.PROMOTE, "evidence") or {}).get("lag")


def _breaches(observed: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"path": check["name"], "code": f"OBSERVED_{check['name'].upper()}", "message": _breach(check)}
        for check in observed["checks"]
        if not check["holds"]
    ]


def _breach(check: dict[str, Any]) -> str:
    """The rule, and what was found in its stead."""
    return f"{check['words']} Found: {check['after']}."


def _committed_by_hand(migration: Migration) -> bool:
    return any(each["stage"] == MigrationStage.COMMITTED for each in migration.passed)


def _since(scene: Scene) -> float:
    """Seconds of observation."""
    return float(scene.row["seconds"]) - progress.left(scene.row, scene.now)


def _span(scene: Scene) -> float:
    """Seconds whose records are counted: also those of records that had waited through the pause."""
    paused = progress.of(scene.migration.steps, StepName.PAUSE, "intent_at")
    since = (scene.migration.snapshot or {}).get("accepted_at") or paused
    return max(0.0, (scene.now.wall - datetime.fromisoformat(since)).total_seconds()) if since else 0.0


def _wall(scene: Scene) -> str:
    return scene.now.wall.isoformat()


def _discard(scene: Scene) -> None:
    steering.discard(migration=scene.migration)


def _discarded(scene: Scene) -> Outcome:
    run = scene.new_run
    if run is None or run.state == RunState.ENDED or run.role == RunRole.ACTIVE:
        return Outcome(done=True, message="The new agent has ended; it has consumed nothing.")
    return Outcome(message=f"Run {run.number} is being ended.")


def _resume(scene: Scene) -> None:
    desired = DesiredState(scene.migration.old_desired)
    steering.want(migration=scene.migration, desired=desired, why=f"Migration {scene.migration.pk} is rolled back.")


def _resumed(scene: Scene) -> Outcome:
    """The old agent is the supervisor's again as soon as it was told; whatever it does then is what it did before."""
    pipeline = scene.pipeline
    stays = pipeline.desired_state == DesiredState.PAUSED
    if _obeyed(pipeline) and (stays or pipeline.phase not in {Phase.PAUSING, Phase.PAUSED}):
        return Outcome(done=True, message=f"{scene.name} is {pipeline.phase} again.")
    return Outcome(message=pipeline.phase_message)


def _pause_new(scene: Scene) -> Outcome:
    """A clean stop is better than none: where the new side cannot be paused, it is ended as it is."""
    pipeline = scene.pipeline
    if selecting.active_run(pipeline.pk) is None:
        return Outcome(done=True, message=f"No run consumes; {scene.name} is {pipeline.phase}.")
    if pipeline.phase in {Phase.PAUSED, Phase.STOPPED, *_REFUSED} and _obeyed(pipeline):
        return Outcome(done=True, message=f"{scene.name} is {pipeline.phase}.")
    if progress.left(scene.row, scene.now) <= PATIENCE:
        return Outcome(done=True, message="The pause timed out; the run is ended.")
    return Outcome(message=pipeline.phase_message)


def _stop_consuming(scene: Scene) -> None:
    """Where no run lives, a pause would only start another one."""
    if scene.pipeline.desired_state != DesiredState.STOPPED and selecting.active_run(scene.pipeline.pk) is not None:
        _pause(scene)


def _restore(scene: Scene) -> None:
    steering.restore(migration=scene.migration)


def _restored(scene: Scene) -> Outcome:
    pipeline, migration = scene.pipeline, scene.migration
    same = (pipeline.current_revision_id, pipeline.host_id) == (migration.old_revision_id, migration.old_host_id)
    return Outcome(done=same, message="The old revision and host are restored." if same else "Being restored.")


def _started(scene: Scene) -> Outcome:
    pipeline = scene.pipeline
    if pipeline.phase in _REFUSED and _obeyed(pipeline):
        return Outcome(failed=True, message=pipeline.phase_message, findings=list(pipeline.findings))
    if _works(scene):
        evidence = {"positions": selecting.positions(pipeline.pk)}
        return Outcome(done=True, message=f"{scene.name} is {pipeline.phase} again.", evidence=evidence)
    return Outcome(message=pipeline.phase_message)


def standby_lost(scene: Scene) -> Outcome | None:
    """Why the new agent cannot take over any more; None where it still can, or was not asked for yet."""
    return None if _standby_lives(scene) else _standby_lost(scene)


def _standby_lives(scene: Scene) -> bool:
    run = scene.new_run
    return run is None or run.role == RunRole.ACTIVE or run.state != RunState.ENDED


def _standby_lost(scene: Scene) -> Outcome:
    run = scene.new_run
    found = standbys.outcome(run) if run else standbys.Preflight(message="There is no new agent.")
    return Outcome(failed=True, message=f"The new agent has ended: {found.message}", findings=found.findings)


RULES: dict[StepName, Rule] = {
    StepName.PREPARE_STANDBY: Rule(_prepare, _prepared),
    StepName.SHADOW: Rule(_shadow, _shadowed),
    StepName.PAUSE: Rule(_pause, _paused),
    StepName.PROVE_PAUSE: Rule(_nothing, _prove),
    StepName.TAKE_SNAPSHOT: Rule(_snapshot, _snapshot_taken),
    StepName.TRANSLATE_POSITIONS: Rule(_translate, _translated),
    StepName.NOTE_SINK_ENDS: Rule(_translate, _translated),
    StepName.END_OLD_RUN: Rule(_end, _ended),
    StepName.SET_POSITIONS: Rule(_set_positions, _positions_set),
    StepName.CHECK_STANDBY: Rule(_nothing, _checked),
    StepName.PROMOTE: Rule(_promote, _promoted),
    StepName.OBSERVE: Rule(_nothing, _observe),
    StepName.DISCARD_STANDBY: Rule(_discard, _discarded),
    StepName.RESUME_OLD: Rule(_resume, _resumed),
    StepName.PAUSE_NEW: Rule(_stop_consuming, _pause_new),
    StepName.END_NEW_RUN: Rule(_end, _ended),
    StepName.TRANSLATE_BACK: Rule(_translate_back, _translated_back),
    StepName.RESTORE: Rule(_restore, _restored),
    StepName.START_OLD: Rule(_resume, _started),
}
