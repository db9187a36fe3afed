"""References of a definition, resolved on the host: `${env:}` by an allow-list, `${file:}` below one directory."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.findings import Finding, PathParts, dotted
from pipelines.domain.references import REFERENCE, texts

_LARGEST_FILE = 64 * 1024


class Unresolved(Exception):
    """A reference that this host cannot resolve; the text says why."""


@dataclass(frozen=True)
class References:
    """What references may see. `variables`: values of the allowed names. `directory`: of `${file:}`, or None."""

    variables: Mapping[str, str]
    directory: Path | None

    def resolve(self, definition: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
        """A copy with every reference replaced by its value, and a finding for each that cannot be."""
        resolved: dict[str, Any] = copy.deepcopy(dict(definition))
        findings: list[Finding] = []
        for path, text in texts(definition):
            if REFERENCE.search(text):
                self._replace(resolved, path, text, findings)
        return resolved, findings

    def _replace(self, tree: Any, path: PathParts, text: str, findings: list[Finding]) -> None:
        for part in path[:-1]:
            tree = tree[part]
        try:
            tree[path[-1]] = REFERENCE.sub(lambda match: self._value(match[1], match[2]), text)
        except Unresolved as error:
            findings.append(
                Finding(
                    path=dotted(path),
                    code="UNRESOLVED_REFERENCE",
                    message=str(error),
                    suggestion="Nothing starts with an unresolved reference; make it known on this host.",
                )
            )

    def _value(self, kind: str, name: str) -> str:
        if kind == "env":
            return self._variable(name)
        if kind == "file":
            return self._file(name)
        raise Unresolved(f"There is no secret store, so ${{secret:{name}}} cannot be resolved.")

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
            raise Unresolved(f"${{file:{name}}} leads out of the directory of such files.")
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(_LARGEST_FILE + 1)
        except (OSError, UnicodeDecodeError):
            raise Unresolved(f"${{file:{name}}} cannot be read on this host.") from None
        if len(text) > _LARGEST_FILE:
            raise Unresolved(f"${{file:{name}}} is longer than {_LARGEST_FILE} characters.")
        return text.removesuffix("\n")
