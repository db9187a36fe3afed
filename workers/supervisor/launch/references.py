"""References of a definition, resolved on the host: `${secret:}` from the store, `${env:}` by an allow-list, `${file:}`
below one directory. The values are for the agent alone: they are handed over to it, and never written into a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipelines.domain.access.secret_bindings import Purpose, SecretBinding, SecretUser
from pipelines.domain.access.secret_findings import secret_findings
from pipelines.domain.access.secret_uses import CLUSTER, SecretUse, client_uses, listening_uses, secret_uses
from pipelines.domain.access.secrets import forms
from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.value_checks import SECRET_KEYS
from pipelines.domain.definitions.document.references import Reference, references, substituted
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.client_options import SECRET_OPTIONS
from pipelines.domain.runs.protocol import Handover
from pipelines.selectors.access.secrets import bindings as bindings_of
from workers.ports import Secrets, Unreadable, missing

_LARGEST_FILE = 64 * 1024
_KNOWN_HERE = "A pipeline does not start with an unresolved reference; define it on this host."


@dataclass(frozen=True)
class _Stored:
    """What was read, of pipelines and of clusters."""

    secrets: Mapping[str, str | Unreadable]
    clusters: Mapping[str, str | Unreadable]

    def of(self, reference: Reference) -> str | Unreadable:
        """The value of a reference; the definition of a cluster has secrets of clusters."""
        of_cluster = reference.path.startswith(f"{CLUSTER}.")
        known, purpose = (self.clusters, Purpose.CLUSTERS) if of_cluster else (self.secrets, Purpose.PIPELINES)
        return known.get(reference.name, missing(reference.name, purpose))


class Unresolved(Exception):
    """A reference that this host cannot resolve; the text says why, `hint` what to do. Never a value."""

    def __init__(self, message: str, hint: str = _KNOWN_HERE) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass
class Resolved:
    """Values by reference as it is written, those that must never be shown, and a finding for each that is missing.
    `versions`: of the secrets of pipelines among them."""

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
    """What references may see. `variables`: values of the allowed names. `directory`: of `${file:}`, or None.
    `cluster_secrets`: those of the clusters that definitions name. `bindings`: of secrets of pipelines, by name; others
    do not exist. `development`: loopback needs no encryption."""

    variables: Mapping[str, str]
    directory: Path | None
    secrets: Secrets
    cluster_secrets: Secrets | None = None
    bindings: Callable[[Collection[str]], Mapping[str, SecretBinding]] = bindings_of
    development: bool = False

    def resolve(self, definition: Mapping[str, Any], asker: Asker) -> Resolved:
        """Every reference of a definition; the store is asked once for all secrets together. A secret that may not go
        where the definition sends it is a finding, and no value: before it is read, as far as it shows then, and once
        more when all is known."""
        found = references(definition)
        uses = asker.uses(definition, definition)
        clusters = {use.name for use in uses if use.component == CLUSTER}
        bound = self.bindings({use.name for use in uses if use.component != CLUSTER})
        resolved = Resolved(findings=self._against(uses, asker, bound, at_launch=False))
        refused = {use.name for use in uses if use.path in {each.path for each in resolved.findings}}
        stored = _Stored(self._read(self.secrets, bound.keys() - refused), self._read(self.cluster_secrets, clusters))
        for reference in found:
            if reference.kind == "secret" and reference.name in refused:
                continue
            try:
                self._resolve(reference, stored, resolved)
            except Unresolved as error:
                resolved.findings.append(_finding(reference, error))
        resolved.findings += self._at_launch(definition, asker, bound, resolved)
        if resolved.findings:
            resolved.values.clear()
        resolved.versions = {name: bound[name].version for name in bound}
        return resolved

    @staticmethod
    def _read(store: Secrets | None, names: Collection[str]) -> Mapping[str, str | Unreadable]:
        return store.read(names) if names and store else {}

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

    def _resolve(self, reference: Reference, stored: _Stored, resolved: Resolved) -> None:
        value = self._value(reference, stored)
        written = f"${{{reference.kind}:{reference.name}}}"
        if resolved.values.setdefault(written, value) != value:
            message = f"{written} is a secret of the cluster, too, with another value."
            raise Unresolved(message, "Store one of them under another name.")
        if reference.kind == "secret" or _is_secret(reference.path):
            resolved.hidden.add(value)

    def _value(self, reference: Reference, stored: _Stored) -> str:
        if reference.kind == "env":
            return self._variable(reference.name)
        if reference.kind == "file":
            return self._file(reference.name)
        value = stored.of(reference)
        if isinstance(value, Unreadable):
            raise Unresolved(f"${{secret:{reference.name}}} cannot be resolved: {value.reason}", value.hint)
        return value

    def _variable(self, name: str) -> str:
        if name not in self.variables:
            raise Unresolved(f"${{env:{name}}} is not set, or is not in HEADGATE_ENV_REFERENCES.")
        return self.variables[name]

    def _file(self, name: str) -> str:
        """The file's text without its last line feed; links and dots must not lead out of the directory."""
        if self.directory is None:
            raise Unresolved(f"${{file:{name}}} needs HEADGATE_FILE_REFERENCES, the directory of such files.")
        path = (self.directory / name).resolve()
        if not path.is_relative_to(self.directory.resolve()):
            raise Unresolved(f"${{file:{name}}} is outside the directory of such files.")
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(_LARGEST_FILE + 1)
        except (OSError, UnicodeDecodeError):
            raise Unresolved(f"${{file:{name}}} cannot be read on this host.") from None
        if len(text) > _LARGEST_FILE:
            raise Unresolved(f"${{file:{name}}} is longer than {_LARGEST_FILE} characters.")
        return text.removesuffix("\n")


def _is_secret(path: str) -> bool:
    """Whether an option or a key holds a secret whatever it is filled from."""
    endings = (*(f'["{option}"]' for option in SECRET_OPTIONS), *(f".{key}" for key in SECRET_KEYS))
    return "password" in path.lower() or path.endswith(endings)


def _finding(reference: Reference, error: Unresolved) -> Finding:
    return Finding(path=reference.path, code="UNRESOLVED_REFERENCE", message=str(error), suggestion=error.hint)
