"""What an import tells: what became of each property, and what a person should know or decide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pipelines.domain.base.findings import Finding, PathParts, dotted
from pipelines.domain.imports.properties import Property


class ImportFinding(Finding):
    """A finding about a file that is imported. `key` is its property, `line` the line of the file, `path` the place in
    the definition, where there is one; `done` says what the import did about it."""

    key: str = ""
    done: str = ""


class ImportRefused(ValueError):
    """The file gives no definition at all; `findings` say why."""

    def __init__(self, findings: list[ImportFinding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = findings


@dataclass
class Report:
    """Collects findings, and for each place of the definition the property that it comes from."""

    findings: list[ImportFinding] = field(default_factory=list)
    places: dict[str, Property] = field(default_factory=dict)
    mapped_lines: set[int] = field(default_factory=set)

    def mapped(self, source: Property, path: PathParts) -> None:
        """A property has become the value at a place."""
        self.places[dotted(path)] = source
        self.mapped_lines.add(source.line)

    def used(self, source: Property) -> None:
        """A property has been read, and is no value of the definition itself."""
        self.mapped_lines.add(source.line)

    def note(
        self,
        code: str,
        message: str,
        done: str,
        *,
        about: Property | str = "",
        path: PathParts = (),
        suggestion: str = "",
        severity: Literal["error", "warning"] = "warning",
    ) -> None:
        """Add a finding about a property, or about a name in the file."""
        key, line = (about.key, about.line) if isinstance(about, Property) else (about, None)
        finding = ImportFinding(
            path=dotted(path),
            code=code,
            message=message,
            suggestion=suggestion,
            severity=severity,
            line=line,
            key=key,
            done=done,
        )
        self.findings.append(finding)

    def has(self, code: str) -> bool:
        """Whether there is a finding of this code."""
        return any(finding.code == code for finding in self.findings)

    def located(self, finding: Finding) -> ImportFinding:
        """A finding about the definition, with the property that the place comes from."""
        place = self._nearest(finding.path)
        facts = finding.model_dump(exclude={"line", "column"})
        line, key = (place.line, place.key) if place else (None, "")
        done = "It stays, and the definition is refused until it is changed." if finding.is_error else "It stays so."
        return ImportFinding(**facts, line=line, key=key, done=done)

    def _nearest(self, path: str) -> Property | None:
        if f"{path}.type" in self.places:
            return self.places[f"{path}.type"]
        candidates = [known for known in self.places if path == known or path.startswith((f"{known}.", f"{known}["))]
        return self.places[max(candidates, key=len)] if candidates else None


def in_order(findings: Iterable[ImportFinding], properties: Iterable[Property] = ()) -> list[ImportFinding]:
    """Errors first and what merely has no equivalent last, then by the place in the file; each once."""
    lines = _lines(properties)
    return sorted(
        dict.fromkeys(findings),
        key=lambda finding: (_rank(finding), _line(finding, lines), finding.code, finding.key, finding.path),
    )


def _rank(finding: ImportFinding) -> int:
    return 0 if finding.is_error else 2 if finding.code == "no_equivalent" else 1


def _lines(properties: Iterable[Property]) -> dict[str, int]:
    """The first line of each property and of everything above it: `a.sinks.k.type` is a line of `a.sinks.k`, too."""
    lines: dict[str, int] = {}
    for property_ in properties:
        words = property_.key.split(".")
        for count in range(1, len(words) + 1):
            key = ".".join(words[:count])
            lines[key] = min(lines.get(key, property_.line), property_.line)
    return lines


def _line(finding: ImportFinding, lines: dict[str, int]) -> int:
    """The line of a finding; that of its component where the property is not written."""
    if finding.line is not None:
        return finding.line
    key = finding.key
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 0)
