"""References of a definition, resolved on the host: `${secret:}` from the store, `${env:}` by an allow-list, `${file:}`
below one directory. The values are for the agent alone: they are handed over to it, and never written into a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.domain.access.secrets import forms
from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.value_checks import SECRET_KEYS
from pipelines.domain.definitions.document.references import Reference, references
from pipelines.domain.definitions.parts.client_options import SECRET_OPTIONS
from pipelines.domain.runs.protocol import Handover
from workers.ports import Secrets, Unreadable

_LARGEST_FILE = 64 * 1024
_KNOWN_HERE = "A pipeline does not start with an unresolved reference; define it on this host."


class Unresolved(Exception):
    """A reference that this host cannot resolve; the text says why, `hint` what to do. Never a value."""

    def __init__(self, message: str, hint: str = _KNOWN_HERE) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass
class Resolved:
    """Values by reference as it is written, those that must never be shown, and a finding for each that is missing."""

    values: dict[str, str] = field(default_factory=dict, repr=False)
    hidden: set[str] = field(default_factory=set, repr=False)
    findings: list[Finding] = field(default_factory=list)

    def handover(self) -> Handover:
        """What the agent gets."""
        return Handover(values=self.values, masked=sorted({form for value in self.hidden for form in forms(value)}))


@dataclass(frozen=True)
class References:
    """What references may see. `variables`: values of the allowed names. `directory`: of `${file:}`, or None."""

    variables: Mapping[str, str]
    directory: Path | None
    secrets: Secrets

    def resolve(self, definition: Mapping[str, Any]) -> Resolved:
        """Every reference of a definition; the store is asked once for all secrets together."""
        found = references(definition)
        names = {reference.name for reference in found if reference.kind == "secret"}
        stored = self.secrets.read(names) if names else {}
        resolved = Resolved()
        for reference in found:
            try:
                self._resolve(reference, stored, resolved)
            except Unresolved as error:
                resolved.findings.append(_finding(reference, error))
        return resolved

    def _resolve(self, reference: Reference, stored: Mapping[str, str | Unreadable], resolved: Resolved) -> None:
        value = self._value(reference, stored)
        resolved.values[f"${{{reference.kind}:{reference.name}}}"] = value
        if reference.kind == "secret" or _is_secret(reference.path):
            resolved.hidden.add(value)

    def _value(self, reference: Reference, stored: Mapping[str, str | Unreadable]) -> str:
        if reference.kind == "env":
            return self._variable(reference.name)
        if reference.kind == "file":
            return self._file(reference.name)
        value = stored[reference.name]
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
