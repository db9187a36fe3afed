"""What a migration is asked for, per kind. Unknown keys are errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from pipelines.domain.base.findings import Finding, PathParts, dotted
from pipelines.domain.base.plain import clean
from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.shapes import findings_of
from pipelines.domain.base.states import MigrationKind, MigrationStage
from pipelines.domain.base.values import HostName, Topic
from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.definitions.document.diff import masked
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.document.text import load
from pipelines.domain.migration.observation import ObservationRules
from pipelines.domain.migration.shadow import ShadowSpec
from pipelines.domain.migration.steps import GATES
from pipelines.domain.positions.cluster_move import SINK_KEYS, SOURCE_KEYS, ClusterMove, Translate
from pipelines.domain.positions.plan import Target


class Spec(Frozen):
    """What every kind takes. `rules`: of the observation; `gates`: stages before which a person is asked."""

    rules: ObservationRules = ObservationRules()
    gates: list[MigrationStage] = Field(default=[], max_length=len(GATES))

    @model_validator(mode="after")
    def _gates_exist(self) -> Self:
        wrong = sorted({gate.value for gate in self.gates} - {gate.value for gate in GATES})
        if wrong:
            raise ValueError(f"there is no gate before {', '.join(wrong)}; gates: {', '.join(GATES)}")
        return self


class RevisionSpec(Spec):
    """Another definition, as an object or as YAML or JSON text; or the number of a stored `revision`. `shadow`: compare
    both revisions before the pause, on what the old agent delivers."""

    definition: dict[str, Any] | str | None = None
    revision: int | None = Field(default=None, ge=1, lt=2**31)
    shadow: ShadowSpec | None = None

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if (self.definition is None) == (self.revision is None):
            raise ValueError("give exactly one of definition and revision")
        return self


class HostSpec(Spec):
    """Another host."""

    host: HostName


class SoftwareSpec(Spec):
    """The agent's software as it is installed on the host now."""


class PositionSpec(Spec):
    """Where to go on, as people write it (`to`, see positions/plan), of all sources or of one. `target` is the same as
    it was understood when it was asked for: a relative time counts from then."""

    to: str | dict[str, Any] | None = None
    source: str | None = Field(default=None, min_length=1, max_length=100)
    target: Target | None = None

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.to is None and self.target is None:
            raise ValueError("name the position to continue at: to")
        return self


class ClusterSpec(Spec):
    """A source or a sink by its name, and where it lies on the other cluster (`to`: keys of the component, in place of
    the present ones). Of a source `topics` says which have another name there, and `positions` how to translate."""

    source: str | None = Field(default=None, min_length=1, max_length=100)
    sink: str | None = Field(default=None, min_length=1, max_length=100)
    to: dict[str, Any]
    topics: dict[Topic, Topic] = {}
    positions: Translate | None = None

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if (self.source is None) == (self.sink is None):
            raise ValueError("give exactly one of source and sink")
        if (self.source is None) != (self.positions is None):
            raise ValueError("positions defines how the positions of a source are translated; a sink has none")
        if self.topics and self.source is None:
            raise ValueError("topics renames those of a source; of a sink give to.topic")
        allowed = SINK_KEYS if self.source is None else SOURCE_KEYS
        if wrong := sorted(self.to.keys() - allowed):
            raise ValueError(f"to has {', '.join(wrong)}; of another cluster it may have {', '.join(sorted(allowed))}")
        if "bootstrap_servers" not in self.to:
            raise ValueError("to needs bootstrap_servers, the address of the other cluster")
        return self

    @property
    def path(self) -> str:
        """The component in the definition."""
        return f"sources.{self.source}" if self.source is not None else f"sinks.{self.sink}"

    def changed(self, old: Definition) -> dict[str, Any] | Finding:
        """The definition with its component on the other cluster, or why there is none."""
        data = old.plain()
        group, name = self.path.split(".", 1)
        present = data.get(group, {}).get(name)
        if present is None or present.get("type") != "kafka":
            known = ", ".join(key for key, value in data.get(group, {}).items() if value.get("type") == "kafka")
            words = f"The pipeline has no {self.path} of the type kafka; it has {known or 'none'}."
            return Finding(path=self.path, code="NOT_KAFKA", message=words, suggestion="Name one that exists.")
        moved = {**present, **self.to}
        if unknown := sorted(self.topics.keys() - set(present.get("topics") or self.topics)):
            words = f"{self.path} does not read {', '.join(unknown)}."
            return Finding(path="spec.topics", code="TOPIC_UNKNOWN", message=words, suggestion="Name topics it reads.")
        if "topics" in present:
            moved["topics"] = [self.topics.get(topic, topic) for topic in present["topics"]]
        return {**data, group: {**data[group], name: moved}}

    def move(self, new: Definition) -> ClusterMove:
        """The question to the host."""
        group, name = self.path.split(".", 1)
        to = new.plain()[group][name]
        which = {"source" if group == "sources" else "sink": name}
        return ClusterMove(**which, to=to, topics=self.topics, positions=self.positions)


def shown(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec as people see it: a definition that was sent as text as the data that it holds, and no secrets. What
    cannot be read is not shown."""
    sent = spec.get("definition")
    found = {**spec, "definition": load(sent).data} if isinstance(sent, str) else spec
    hidden: dict[str, Any] = masked(found)
    return hidden


SPECS: dict[MigrationKind, type[Spec]] = {
    MigrationKind.REVISION: RevisionSpec,
    MigrationKind.HOST: HostSpec,
    MigrationKind.SOFTWARE: SoftwareSpec,
    MigrationKind.CLUSTER: ClusterSpec,
    MigrationKind.POSITION: PositionSpec,
}
"""What each kind is asked for with."""


EXAMPLES: dict[MigrationKind, str] = {
    MigrationKind.REVISION: "spec: {revision: 4}, or {definition: …}",
    MigrationKind.HOST: "spec: {host: beta}",
    MigrationKind.SOFTWARE: "spec: {}",
    MigrationKind.CLUSTER: "spec: {source: shop, to: {bootstrap_servers: 'new:9092'}, positions: {by: timestamp}}",
    MigrationKind.POSITION: "spec: {to: latest}",
}
"""How each kind is asked for."""


def problems(kind: MigrationKind, data: Mapping[str, Any], *, at: PathParts = ("spec",)) -> list[Finding]:
    """Everything that is wrong with what is asked for, and with the definition in it. `at`: where it stands in the
    whole."""
    cleaned = clean(data)
    found = [_moved(each, dotted(at)) for each in cleaned.findings]
    if cleaned.data is None:
        return found
    try:
        SPECS[kind].model_validate(cleaned.data)
    except ValidationError as error:
        found += findings_of(error, SPECS[kind], at=at, example=EXAMPLES[kind])
    return [*found, *_of_definition(cleaned.data.get("definition"), dotted((*at, "definition")))]


def _of_definition(sent: Any, within: str) -> list[Finding]:
    if not isinstance(sent, str | dict):
        return []
    validation = validate_text(sent) if isinstance(sent, str) else validate_data(sent)
    return [_moved(each, within) for each in validation.findings if each.is_error]


def _moved(finding: Finding, within: str) -> Finding:
    return finding.model_copy(update={"path": f"{within}.{finding.path}" if finding.path else within})
