"""From what is asked for to a plan: nothing is written here, and nothing about the pipeline is touched."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pipelines.domain.access.uses import reach_findings
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.plain import clean
from pipelines.domain.base.states import DesiredState, InspectionState, MigrationKind, Phase
from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.definitions.document.consequences import Consequence, EvaluatedChange, evaluate, heaviest
from pipelines.domain.definitions.document.diff import diff
from pipelines.domain.definitions.document.guarantees import guarantees
from pipelines.domain.definitions.document.spec import ANY_HOST, Definition
from pipelines.domain.migration import blockers as blocking
from pipelines.domain.migration.blockers import Facts, Place
from pipelines.domain.migration.plan import MigrationPlan, MigrationTarget, expected_pause
from pipelines.domain.migration.shadow import ShadowPlan
from pipelines.domain.migration.shadow import planned as shadow_planned
from pipelines.domain.migration.specs import SPECS, ClusterSpec, HostSpec, PositionSpec, RevisionSpec, Spec, problems
from pipelines.domain.migration.steps import forward
from pipelines.domain.positions import cluster_move
from pipelines.domain.positions.cluster_move import ClusterMove, PartitionTranslation, SinkEnd
from pipelines.domain.positions.plan import PlannedMove, Target
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.models import Host, Pipeline, PositionInspection, Revision
from pipelines.selectors.access import reach
from pipelines.selectors.access.clusters import placed
from pipelines.selectors.governance.rules import frozen
from pipelines.selectors.hosts.capacity import need_by, need_of, rooms
from pipelines.selectors.hosts.hosts import LOST_AFTER, seen_within, supervised
from pipelines.selectors.lifecycle.situations import open_operation
from pipelines.selectors.migration import migrations as selecting
from pipelines.selectors.preview.testing import not_passed, run_findings

_LEAST = {
    MigrationKind.HOST: Consequence.NEW_LINEAGE,
    MigrationKind.POSITION: Consequence.POSITION_DECISION,
}


def read_spec(kind: MigrationKind, data: dict[str, Any]) -> Spec:
    """Check what is asked for. Raises Invalid with every problem, and for what could neither be stored nor shown."""
    with suppress(ValidationError):
        if not clean(data).findings:
            return SPECS[kind].model_validate(data)
    raise Invalid("The spec of the migration is not valid.", code="spec_invalid", findings=problems(kind, data))


@dataclass(frozen=True)
class PlanTarget:
    """What the pipeline is to become. `stored`: its revision, where there is one; `findings` of a definition."""

    definition: Definition | None
    stored: Revision | None
    host: str
    findings: tuple[Finding, ...] = ()


def wanted_by(kind: MigrationKind, spec: Spec, pipeline: Pipeline) -> PlanTarget:
    """The target of a spec. A definition that names the old host follows the pipeline to its new one."""
    present = pipeline.current_revision
    host = pipeline.host_id or ""
    if isinstance(spec, RevisionSpec):
        return _revised(spec, pipeline, host)
    definition = _valid(present)
    if isinstance(spec, ClusterSpec) and definition is not None:
        return _elsewhere(spec, definition, pipeline, host)
    if isinstance(spec, HostSpec):
        host = spec.host
        if definition is not None and definition.placement.host not in (ANY_HOST, host):
            placement = definition.placement.model_copy(update={"host": host})
            return PlanTarget(definition.model_copy(update={"placement": placement}), None, host)
    return PlanTarget(definition, present, host)


def _revised(spec: RevisionSpec, pipeline: Pipeline, host: str) -> PlanTarget:
    if spec.revision is not None:
        stored = Revision.objects.filter(pipeline=pipeline, number=spec.revision).first()
        if stored is None:
            words = f"{pipeline.name} has no revision {spec.revision}."
            return PlanTarget(None, None, host, (Finding(path="revision", code="REVISION_UNKNOWN", message=words),))
        validation = placed(validate_data(stored.definition), [pipeline.team_id])
        return PlanTarget(validation.definition, stored, host, tuple(validation.findings))
    sent = spec.definition
    validation = placed(validate_text(sent) if isinstance(sent, str) else validate_data(sent or {}), [pipeline.team_id])
    return PlanTarget(validation.definition, None, host, tuple(validation.findings))


def _elsewhere(spec: ClusterSpec, old: Definition, pipeline: Pipeline, host: str) -> PlanTarget:
    """A component on another cluster."""
    changed = spec.changed(old)
    if isinstance(changed, Finding):
        return PlanTarget(None, None, host, (changed,))
    validation = validate_data(changed)
    refused = reach_findings(validation.definition, reach.policy([pipeline.team_id])) if validation.definition else []
    if refused:  # the host is not even asked
        return PlanTarget(None, None, host, tuple(refused))
    return PlanTarget(validation.definition, None, host, tuple(validation.findings))


def question(pipeline: Pipeline, spec: Spec) -> Target | ClusterMove | None:
    """What the host has to look at before a plan can be made; None where nothing, or where there is no definition."""
    if isinstance(spec, PositionSpec):
        return spec.target
    if isinstance(spec, ClusterSpec):
        new = wanted_by(MigrationKind.CLUSTER, spec, pipeline).definition
        return spec.move(new) if new is not None else None
    return None


def _valid(revision: Revision | None) -> Definition | None:
    return validate_data(revision.definition).definition if revision else None


def make(
    *, pipeline: Pipeline, kind: MigrationKind, spec: Spec, inspection: PositionInspection | None = None
) -> MigrationPlan:
    """The plan, with everything that stands in its way. `look`: where positions change, what the host found of it.
    Raises Conflict for a pipeline without a valid definition."""
    old = _valid(pipeline.current_revision)
    if old is None:
        raise Conflict(
            f"The current definition of {pipeline.name} is no longer valid, so it cannot be migrated.",
            code="definition_invalid",
            hint="Stop the pipeline and publish a valid definition.",
        )
    wanted = wanted_by(kind, spec, pipeline)
    new = wanted.definition
    changes = evaluate(diff(old, new), old, new) if new else []
    facts = _facts(pipeline, kind, old, wanted, changes)
    longest = old.delivery.batch_duration if old.delivery.mode == "real_time" else 0.0
    of_sink = isinstance(spec, ClusterSpec) and spec.sink is not None
    shadow = _shadow(spec, old, new)
    steps = forward(
        kind,
        old.lifecycle,
        gates=spec.gates,
        window=spec.rules.window,
        longest_batch=longest,
        of_sink=of_sink,
        shadow=shadow.seconds if isinstance(shadow, ShadowPlan) else None,
    )
    run = selecting.active_run(pipeline.id)
    seen = _seen(kind, inspection, of_sink=of_sink)
    tested = new if kind is MigrationKind.REVISION else None
    refused = _refused(tested, pipeline) if tested else []
    return MigrationPlan(
        kind=kind,
        pipeline=pipeline.name,
        basis=selecting.basis(pipeline),
        target=MigrationTarget(
            host=wanted.host,
            revision=wanted.stored.number if wanted.stored else None,
            digest=new.digest() if new else "",
        ),
        changes=changes,
        consequence=_consequence(kind, changes),
        steps=steps,
        pause=expected_pause(
            batch_seconds=longest or selecting.batch_seconds(run),
            drain_timeout=old.lifecycle.drain_timeout,
            steps=len(steps),
            inspections=kind in _INSPECTED,
        ),
        rules=spec.rules,
        gates=list(spec.gates),
        moves=seen.moves,
        translation=seen.rows,
        sink_ends=seen.ends,
        skip=seen.skip,
        replay=seen.replay,
        blockers=[
            *(finding for finding in blocking.blockers(facts) if finding.is_error),
            *(_uncounted(inspection, seen) if kind in _INSPECTED and new is not None else ()),
            *refused,
            *(shadow if isinstance(shadow, list) else ()),
            *(_nothing_to_shadow(pipeline) if isinstance(shadow, ShadowPlan) else ()),
        ],
        warnings=[
            *(finding for finding in wanted.findings if not finding.is_error),
            *blocking.warnings(changes, old, new),
            *cluster_move.warnings(seen.rows),
        ],
        guarantees=guarantees(new) if new else [],
        passed_tests=[each.name for each in (tested.tests or [])] if tested and not refused else [],
        shadow=shadow if isinstance(shadow, ShadowPlan) else None,
    )


def _refused(definition: Definition, pipeline: Pipeline) -> list[Finding]:
    """Why the last run of its tests keeps a definition from being carried out: of the tests, and of Spark's findings in
    its SQL."""
    found = run_findings(definition, [pipeline.team_id])
    return [*not_passed(definition, pipeline), *(each for each in found if each.is_error)]


def _shadow(spec: Spec, old: Definition, new: Definition | None) -> ShadowPlan | list[Finding] | None:
    """What a shadow compares, or why it cannot; None where none is wanted."""
    if not isinstance(spec, RevisionSpec) or spec.shadow is None or new is None:
        return None
    return shadow_planned(spec.shadow, old, new)


def _nothing_to_shadow(pipeline: Pipeline) -> list[Finding]:
    if pipeline.desired_state != DesiredState.PAUSED:
        return []
    words = f"{pipeline.name} is paused, so its agent delivers no records that a shadow could compare."
    return [
        Finding(
            path="spec.shadow",
            code="SHADOW_PAUSED",
            message=words,
            suggestion=f"headgate resume {pipeline.name}, or leave the shadow out.",
        )
    ]


_INSPECTED = frozenset({MigrationKind.POSITION, MigrationKind.CLUSTER})
"""Kinds whose plan needs a look of the host."""


@dataclass(frozen=True)
class _Seen:
    """What the host found: of a decision, of a source's move, of a sink's move."""

    moves: list[PlannedMove]
    rows: list[PartitionTranslation]
    ends: list[SinkEnd]

    @property
    def skip(self) -> int:
        """Records that are skipped, as far as anybody can count them."""
        return sum(move.skip for move in self.moves) + sum(row.skip or 0 for row in self.rows)

    @property
    def replay(self) -> int:
        """Records that come again."""
        return sum(move.replay for move in self.moves) + sum(row.replay or 0 for row in self.rows)


def _seen(kind: MigrationKind, inspection: PositionInspection | None, *, of_sink: bool) -> _Seen:
    found = inspection.moves if inspection else []
    if kind is not MigrationKind.CLUSTER:
        return _Seen([PlannedMove.model_validate(each) for each in found], [], [])
    if of_sink:
        return _Seen([], [], [SinkEnd.model_validate(each) for each in found])
    return _Seen([], [PartitionTranslation.model_validate(each) for each in found], [])


def _uncounted(inspection: PositionInspection | None, seen: _Seen) -> list[Finding]:
    """Why nobody knows yet what a decision about positions would do."""
    if inspection is None or inspection.state == InspectionState.PENDING:
        words = "The pipeline's host is counting the records skipped and reread."
        return [Finding(path="to", code="COUNTING", message=words, suggestion="Plan again in a moment.")]
    if inspection.state == InspectionState.FAILED:
        error = inspection.error or {}
        return [
            Finding(
                path="to",
                code=str(error.get("code", "inspection_failed")).upper(),
                message=str(error.get("message", "")),
                suggestion=str(error.get("hint", "")),
            )
        ]
    if seen.rows or seen.ends:
        return [row.finding() for row in seen.rows if row.code]
    return [
        Finding(
            path=f"{each['source']}.{each['channel']} {each['topic']}/{each['partition']}",
            code="POSITION_IMPOSSIBLE",
            message=each["reason"],
            suggestion="Choose another position.",
        )
        for each in inspection.impossible
    ]


def _consequence(kind: MigrationKind, changes: list[EvaluatedChange]) -> Consequence:
    least = _LEAST.get(kind, Consequence.RESTART)
    return heaviest([*(each.consequence for each in changes), *([] if kind is MigrationKind.REVISION else [least])])


def _facts(
    pipeline: Pipeline, kind: MigrationKind, old: Definition, wanted: PlanTarget, changes: list[EvaluatedChange]
) -> Facts:
    operation = open_operation(pipeline)
    run = selecting.active_run(pipeline.id)
    restarting = pipeline.restart_run is not None and run is not None and run.number <= pipeline.restart_run
    return Facts(
        kind=kind,
        pipeline=pipeline.name,
        phase=Phase(pipeline.phase),
        desired=DesiredState(pipeline.desired_state),
        old=old,
        new=wanted.definition,
        host=pipeline.host_id,
        host_responding=supervised(pipeline.host),
        target=_place(wanted.host, need_by(wanted.definition.plain()) if wanted.definition else need_of(pipeline)),
        evaluated=changes,
        findings=wanted.findings,
        operation=operation.kind if operation else None,
        frozen=frozen(pipeline),
        restart_under_way=restarting,
    )


def _place(name: str, need: int) -> Place:
    """Old and new agent need room beside each other where it is the same host. `need`: bytes of the new agent."""
    host = Host.objects.filter(name=name).first()
    if host is None:
        return Place(name, known=False)
    (room,) = rooms([host])
    return Place(
        name,
        responding=seen_within(host.seen_at, LOST_AFTER),
        drained=host.drained_at is not None,
        lacks=room.lacks(need),
    )
