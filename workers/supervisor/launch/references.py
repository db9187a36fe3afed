"""References of a definition, resolved on the host: each kind by its backend, and secrets as far as they are bound. The
values are for the agent alone: they are handed over to it, and never written into a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from pipelines.domain.access.secret_bindings import Purpose, SecretBinding, SecretUser
from pipelines.domain.access.secret_findings import secret_findings
from pipelines.domain.access.secret_uses import CLUSTER, SecretUse, client_uses, listening_uses, secret_uses
from pipelines.domain.access.secrets import forms
from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.value_checks import SECRET_KEYS
from pipelines.domain.definitions.document.references import (
    ALWAYS_SECRET,
    Reference,
    bound_name,
    references,
    substituted,
)
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.client_options import SECRET_OPTIONS
from pipelines.domain.runs.protocol import Handover
from pipelines.selectors.access.secrets import bindings as bindings_of
from workers.ports import ABSENT, Secrets, SecretValue, Unreadable, missing

Values = Mapping[str, SecretValue | Unreadable]
Read = Mapping[str, Values]
"""What backends have said, by kind and name."""


class Unresolved(Exception):
    """A reference that this host cannot resolve; the text says why, `hint` what to do. Never a value."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass
class Resolved:
    """Values by reference as it is written, those that must never be shown, and a finding for each that is missing.
    `versions`: of those that are bound, 0 where their backend counts none."""

    values: dict[str, str] = field(default_factory=dict, repr=False)
    hidden: set[str] = field(default_factory=set, repr=False)
    findings: list[Finding] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)

    def handover(self) -> Handover:
        """What the agent gets."""
        return Handover(values=self.values, masked=sorted({form for value in self.hidden for form in forms(value)}))


@dataclass(frozen=True)
class Asker:
    """Who asks for the values of a text's references. `uses`: where its secrets go, told from the text as it is written
    and from the same with its references replaced."""

    user: SecretUser
    uses: Callable[[Mapping[str, Any], Mapping[str, Any]], Sequence[SecretUse]]


def of_pipeline(user: SecretUser) -> Asker:
    """Asks for a whole definition, with that of its cluster beside it."""
    return Asker(user, lambda data, resolved: secret_uses(data, _definition(resolved)))


def kafka_client(user: SecretUser, component: str) -> Asker:
    """Asks for the servers and options of a client of Kafka."""
    return Asker(user, lambda data, resolved: client_uses(data, resolved, component))


def listener(user: SecretUser, component: str) -> Asker:
    """Asks for what a component that connects to no server is given."""
    return Asker(user, lambda data, _resolved: listening_uses(data, component))


def _definition(data: Mapping[str, Any]) -> Definition | None:
    try:
        return Definition.model_validate({key: value for key, value in data.items() if key != CLUSTER})
    except ValidationError:
        return None


@dataclass(frozen=True)
class References:
    """What references may see. `backends`: by the kind of reference that they answer, `cluster` for secrets of the
    definitions of clusters. `bindings`: by the name under which a value is bound; secrets of pipelines without one, and
    those of other teams, do not exist, variables and files without one are open to all. `development`: loopback needs
    no encryption."""

    backends: Mapping[str, Secrets]
    bindings: Callable[[Collection[str]], Mapping[str, SecretBinding]] = bindings_of
    development: bool = False

    def resolve(self, definition: Mapping[str, Any], asker: Asker) -> Resolved:
        """Every reference of a definition; each backend is asked once for all of its own. A secret that may not go
        where the definition sends it is a finding, and no value: before it is read, as far as it shows then, and once
        more when all is known."""
        uses = asker.uses(definition, definition)
        known = self.bindings({use.name for use in uses if use.component != CLUSTER})
        bound = {name: binding for name, binding in known.items() if binding.exists_for(asker.user)}
        resolved = Resolved(findings=self._against(uses, asker, bound, at_launch=False))
        refused = {use.name for use in uses if use.path in {each.path for each in resolved.findings}}
        found = [each for each in references(definition) if each.bound not in refused]
        read = self._read(found, bound, known.keys() - bound.keys())
        for reference in found:
            try:
                self._resolve(reference, read, bound, resolved)
            except Unresolved as error:
                resolved.findings.append(_finding(reference, error))
        resolved.findings += self._at_launch(definition, asker, bound, resolved)
        if resolved.findings:
            resolved.values.clear()
        return resolved

    def _read(self, found: Sequence[Reference], bound: Mapping[str, SecretBinding], hidden: Collection[str]) -> Read:
        """What the backends say; a secret of a pipeline that is bound to nothing is not even asked for. Variables and
        files that are `hidden`, since another team has them, are as if they were not there."""
        asked: dict[str, set[str]] = defaultdict(set)
        for each in found:
            kind = _backend(each)
            if kind not in ALWAYS_SECRET or each.bound in bound:
                asked[kind].add(each.name)
        read = {kind: self.backends[kind].read(names) for kind, names in asked.items() if kind in self.backends}
        return {kind: _seen(kind, values, hidden) for kind, values in read.items()}

    def _at_launch(
        self, data: Mapping[str, Any], asker: Asker, bound: Mapping[str, SecretBinding], resolved: Resolved
    ) -> list[Finding]:
        """What shows only with all references replaced."""
        if not bound or resolved.findings:
            return []
        uses = asker.uses(data, substituted(data, resolved.values))
        return self._against(uses, asker, bound, at_launch=True)

    def _against(
        self, uses: Sequence[SecretUse], asker: Asker, bound: Mapping[str, SecretBinding], *, at_launch: bool
    ) -> list[Finding]:
        found = secret_findings(uses, asker.user, bound, at_launch=at_launch, development=self.development)
        return [each for each in found if each.is_error]

    @staticmethod
    def _resolve(reference: Reference, read: Read, bound: Mapping[str, SecretBinding], resolved: Resolved) -> None:
        written = f"${{{reference.kind}:{reference.name}}}"
        kind = _backend(reference)
        value = read.get(kind, {}).get(reference.name) or _missing(reference)
        if isinstance(value, Unreadable):
            raise Unresolved(f"{written} cannot be resolved: {value.reason}", value.hint)
        if resolved.values.setdefault(written, value.text) != value.text:
            message = f"{written} is a secret of the cluster, too, with another value."
            raise Unresolved(message, "Store one of them under another name.")
        is_bound = kind != CLUSTER and reference.bound in bound
        if is_bound:
            resolved.versions[reference.bound] = value.version
        if is_bound or reference.kind in ALWAYS_SECRET or _is_secret(reference.path):
            resolved.hidden.add(value.text)


def _seen(kind: str, read: Values, hidden: Collection[str]) -> Values:
    """What a backend says, without the values of other teams."""
    absent = ABSENT.get(kind)
    if absent is None:
        return read
    gone = {name for name in read if bound_name(kind, name) in hidden}
    return {name: absent if name in gone and isinstance(each, SecretValue) else each for name, each in read.items()}


def _backend(reference: Reference) -> str:
    """The kind of backend that answers; the definition of a cluster has secrets of clusters."""
    of_cluster = reference.kind == "secret" and reference.path.startswith(f"{CLUSTER}.")
    return CLUSTER if of_cluster else reference.kind


def _missing(reference: Reference) -> Unreadable:
    if reference.kind == "secret":
        return missing(reference.name, Purpose.CLUSTERS if _backend(reference) == CLUSTER else Purpose.PIPELINES)
    hint = f"Bind it: `headgate secrets set {reference.bound} --pipeline NAME --destination HOST:PORT`."
    return Unreadable("it is bound to nothing, or this host has no such backend.", hint)


def _is_secret(path: str) -> bool:
    """Whether an option or a key holds a secret whatever it is filled from."""
    endings = (*(f'["{option}"]' for option in SECRET_OPTIONS), *(f".{key}" for key in SECRET_KEYS))
    return "password" in path.lower() or path.endswith(endings)


def _finding(reference: Reference, error: Unresolved) -> Finding:
    return Finding(path=reference.path, code="UNRESOLVED_REFERENCE", message=str(error), suggestion=error.hint)
