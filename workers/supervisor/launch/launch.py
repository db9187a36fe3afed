"""From a pipeline to a launch: definition, references, lineage, ledger heads. Findings instead of a launch block it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from pipelines.domain.access.interceptors import interceptors_not_allowed
from pipelines.domain.access.on_host import on_this_host
from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.access.uses import uses
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.base.states import RunRole
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.protocol import CasesRequest, PreviewRequest, Side
from pipelines.domain.preview.selection import PreviewSelection
from pipelines.domain.preview.shadowing import ShadowRequest
from pipelines.domain.runs.lineage import Lineage, continue_from
from pipelines.domain.runs.protocol import (
    AgentUser,
    Handover,
    Launch,
    PlacedCluster,
    Promotion,
    QueryHead,
    SparkSettings,
    checkpoint_root,
    data_root,
)
from pipelines.models import CaseRun, Cluster, Pipeline, Preview, Run, ShadowTask
from pipelines.selectors.access.clusters import cluster_of, placed
from pipelines.selectors.access.reach import policy
from pipelines.selectors.access.secrets import user_of
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.migration import tracing
from pipelines.selectors.positions import positions
from pipelines.selectors.runs import crashes
from workers.supervisor.launch.references import Asker, References, Unresolved, of_pipeline

_NOT_TOLD = "What this reference stands for is not among the paths and addresses that pipelines may reach."


class NotProvisioned(Exception):
    """The host lacks what an agent needs; the text says what, `hint` the command that helps."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Launcher:
    """What launches of this host share. `spark` raises NotProvisioned. `interceptors`: allowed, as module:Class;
    `interceptor_path`: directories in which they may lie. `user`: whom agents of a pipeline, by name and id, run as,
    None for the worker's own user; raises NotProvisioned where they must not run as that."""

    host: str
    state_dir: Path
    references: References
    spark: Callable[[], SparkSettings]
    interceptors: frozenset[str] = frozenset()
    interceptor_path: tuple[str, ...] = ()
    reach: Callable[[Collection[int]], ReachPolicy] = policy
    user: Callable[[str, str], AgentUser | None] = lambda _name, _id: None

    def check(self, pipeline: Pipeline) -> Lineage | list[Finding]:
        """Which lineage the next run continues, or every reason against a start."""
        revision = pipeline.current_revision
        if revision is None:
            return [_finding("", "NO_REVISION", "The pipeline has no definition.", "Publish a revision.")]
        validation = validate_data(revision.definition)
        findings = self.against(pipeline, revision.definition)
        if validation.definition is None:
            return findings
        lineage = continue_from(supervision.before(pipeline), validation.definition, self.host)
        if isinstance(lineage, list):
            return [*findings, *lineage]
        return findings or lineage

    def against(self, pipeline: Pipeline, data: dict[str, Any]) -> list[Finding]:
        """Everything that keeps an agent with this definition from being started on this host."""
        validation = validate_data(data)
        if validation.definition is None:
            return [finding for finding in validation.findings if finding.is_error]
        resolved = self.references.resolve(_with(data, cluster_of(validation.definition)), asker(pipeline, data))
        return [
            *(each for each in placed(validation, [pipeline.team_id]).findings if each.is_error),
            *resolved.findings,
            *interceptors_not_allowed(validation.definition, self.interceptors),
            *self._out_of_reach(pipeline, validation.definition, substituted(data, resolved.values)),
            *self._provision(),
        ]

    def _out_of_reach(self, pipeline: Pipeline, definition: Definition, data: dict[str, Any]) -> list[Finding]:
        """What it would reach on this host that is not allowed. `data`: the same with its references replaced, read as
        the agent reads it, which refuses what has no form. What a reference stands for is not told."""
        try:
            replaced = Definition.model_validate(data)
        except ValidationError:
            return []
        told = {use.path for use in uses(definition)}
        return [
            each if each.path in told else each.model_copy(update={"message": _NOT_TOLD})
            for each in on_this_host(replaced, self.reach([pipeline.team_id]))
        ]

    def _storage(self, definition: Definition) -> Path:
        """Where checkpoints and stores lie: on this host's disk, or where a cluster's executors see them, too."""
        shared = getattr(definition.placement.launcher, "storage", None)
        return Path(shared) if shared else self.state_dir

    def _provision(self) -> list[Finding]:
        try:
            self.spark()
            self.user("", "")
        except NotProvisioned as error:
            return [_finding("", "NOT_PROVISIONED", str(error), error.hint)]
        return []

    def to_inspect(self, pipeline: Pipeline) -> tuple[Launch, Handover]:
        """What the next run of a pipeline would be told, for a look at its positions; nothing is recorded.

        Raises Unresolved, or LookupError where it has no valid definition.
        """
        revision = pipeline.current_revision
        validation = validate_data(revision.definition) if revision else None
        if revision is None or validation is None or validation.definition is None:
            raise LookupError(f"{pipeline.name} has no valid definition")
        cluster = cluster_of(validation.definition)
        resolved = self.references.resolve(_with(revision.definition, cluster), asker(pipeline, revision.definition))
        if resolved.findings:
            raise Unresolved(resolved.findings[0].message)
        before = supervision.last_run(pipeline.id)
        number = before.number if before else 0
        found = continue_from(supervision.before(pipeline), validation.definition, self.host)
        lineage = found.number if isinstance(found, Lineage) else before.lineage if before else None
        lineage = lineage or number + 1
        launch = Launch(
            pipeline=pipeline.name,
            pipeline_id=str(pipeline.id),
            run=number + 1,
            epoch=number + 1,
            token="look",  # noqa: S106 - of no process
            host=self.host,
            revision=revision.number,
            revision_digest=revision.digest,
            definition=revision.definition,
            cluster=_placed(cluster),
            lineage=lineage,
            checkpoint_root=str(checkpoint_root(self._storage(validation.definition), pipeline.name, lineage)),
            heads=_heads(pipeline.id, lineage, validation.definition),
            identities=positions.identities(pipeline.id),
            spark=SparkSettings(classpath=[]),
            user=self.user(pipeline.name, str(pipeline.id)),
            reach=self.reach([pipeline.team_id]),
        )
        return launch, resolved.handover()

    def side(self, pipeline: Pipeline, data: dict[str, Any]) -> tuple[Side, list[str]] | list[Finding]:
        """A definition with the values of its references, and the texts that nobody may be shown; or what keeps an
        agent with it from being started here, in which case no value is given to any. Raises NotProvisioned."""
        resolved = self.references.resolve(data, asker(pipeline, data))
        if findings := self.against(pipeline, data) or resolved.findings:
            return findings
        return Side(definition=data, values=resolved.values), resolved.handover().masked

    def of_host(self, team: int, masked: Collection[str], seconds: float) -> dict[str, Any]:
        """What every request to a previewer has (`HostRequest`). Raises NotProvisioned."""
        return {
            "spark": self.spark().model_dump(),
            "interceptors": sorted(self.interceptors),
            "interceptor_path": list(self.interceptor_path),
            "reach": self.reach([team]).model_dump(mode="json"),
            "masked": sorted(masked),
            "seconds": seconds,
        }

    def to_preview(self, preview: Preview, seconds: float) -> PreviewRequest | list[Finding]:
        """What a previewer is asked, or what keeps an agent with one of the two definitions from being started here.
        Raises NotProvisioned."""
        found = self._both(preview.pipeline, (preview.base.definition, preview.candidate), seconds)
        if isinstance(found, list):
            return found
        return PreviewRequest(
            source=preview.source,
            selection=PreviewSelection.model_validate(preview.selection),
            state=str(self.data_root(preview.pipeline, preview.base.definition)),
            **found,
        )

    def to_shadow(self, task: ShadowTask, seconds: float) -> ShadowRequest | list[Finding]:
        """The same for a part of a shadow."""
        sides = [each.definition if each else {} for each in (task.migration.old_revision, task.migration.new_revision)]
        found = self._both(task.pipeline, sides, seconds)
        if isinstance(found, list):
            return found
        return ShadowRequest(
            source=task.source,
            channel=task.channel,
            ranges=[PartitionRange.model_validate(each) for each in task.ranges],
            samples=task.samples,
            **found,
        )

    def _both(
        self, pipeline: Pipeline, definitions: Iterable[dict[str, Any]], seconds: float
    ) -> dict[str, Any] | list[Finding]:
        sides, masked = [], set[str]()
        for data in definitions:
            found = self.side(pipeline, data)
            if isinstance(found, list):
                return found
            sides.append(found[0])
            masked.update(found[1])
        base, candidate = sides
        return {"base": base, "candidate": candidate, **self.of_host(pipeline.team_id, masked, seconds)}

    def data_root(self, pipeline: Pipeline, data: dict[str, Any]) -> Path:
        """Where agents of a pipeline with this definition keep what outlives their runs."""
        return data_root(self._storage(Definition.model_validate(data)), pipeline.name, str(pipeline.pk))

    def to_test(self, run: CaseRun, seconds: float) -> CasesRequest | list[Finding]:
        """What a previewer is asked, or what keeps the tests from being run here. References are not resolved, and
        nothing is contacted. Raises NotProvisioned."""
        definition = Definition.model_validate(run.candidate)
        if findings := [*interceptors_not_allowed(definition, self.interceptors), *self._provision()]:
            return findings
        return CasesRequest(candidate=Side(definition=run.candidate), **self.of_host(run.team_id, (), seconds))

    def launch(self, run: Run) -> tuple[Launch, Handover, dict[str, int]]:
        """launch.json of a run whose intent is recorded, the values of its references, which no file may hold, and the
        versions of its secrets. A standby is told where the ledger stands now, only to look at it.

        Raises Unresolved or NotProvisioned.
        """
        data: dict[str, Any] = run.revision.definition
        definition = Definition.model_validate(data)
        cluster = cluster_of(definition)
        resolved = self.references.resolve(_with(data, cluster), asker(run.pipeline, data))
        if resolved.findings:
            raise Unresolved(resolved.findings[0].message)
        launch = Launch(
            pipeline=run.pipeline_name,
            pipeline_id=str(run.pipeline_id),
            run=run.number,
            role=RunRole(run.role),
            token=run.token,
            host=self.host,
            revision=run.revision.number,
            revision_digest=run.revision.digest,
            definition=data,
            cluster=_placed(cluster),
            spark=self.spark(),
            handover=bool(resolved.values),
            interceptors=sorted(self.interceptors),
            interceptor_path=list(self.interceptor_path),
            reach=self.reach([run.pipeline.team_id]),
            user=self.user(run.pipeline_name, str(run.pipeline_id)),
            traceparent=tracing.traceparent_of(run.pipeline_id),
            **self._granted(run),
        )
        return launch, resolved.handover(), resolved.versions

    def promotion(self, run: Run) -> Promotion:
        """promote.json of a run that was a standby and is ACTIVE now."""
        return Promotion(token=run.token, **self._granted(run))

    def _granted(self, run: Run) -> dict[str, Any]:
        """What only a run that consumes has; of a standby, epoch and lineage are 0."""
        definition = Definition.model_validate(run.revision.definition)
        return {
            "epoch": run.epoch or 0,
            "lineage": run.lineage,
            "checkpoint_root": str(checkpoint_root(self._storage(definition), run.pipeline_name, run.lineage)),
            "heads": _heads(run.pipeline_id, run.lineage, definition),
            "identities": positions.identities(run.pipeline_id),
            "quarantined": crashes.quarantined(run.pipeline_id),
            "trace": crashes.crashed_in_flight(run.pipeline_id),
        }


def asker(pipeline: Pipeline, data: dict[str, Any]) -> Asker:
    """Who asks for the values of a definition: its pipeline, with the labels that it has and those that it brings."""
    return of_pipeline(user_of(pipeline.name, [pipeline.team_id], pipeline.labels, data.get("labels", {})))


def _heads(pipeline_id: UUID, lineage: int, definition: Definition) -> list[QueryHead]:
    heads = supervision.ledger_heads(pipeline_id, lineage, definition.queries())
    return [_of_present_topics(head, definition) for head in heads]


def _of_present_topics(head: QueryHead, definition: Definition) -> QueryHead:
    """The ledger keeps positions of topics that are not read any more; an agent is told of those that it reads."""
    topics = getattr(definition.source_spec(head.source), "topics", None)
    known = [position for position in head.positions if topics is None or position.topic in topics]
    return head.model_copy(update={"positions": known})


def _with(data: dict[str, Any], cluster: Cluster | None) -> dict[str, Any]:
    """A definition beside the cluster that it names, whose references are resolved with its own."""
    return {**data, "cluster": cluster.spec} if cluster else data


def _placed(cluster: Cluster | None) -> PlacedCluster | None:
    return PlacedCluster(name=cluster.name, version=cluster.version, spec=cluster.spec) if cluster else None


def _finding(path: str, code: str, message: str, suggestion: str) -> Finding:
    return Finding(path=path, code=code, message=message, suggestion=suggestion)
