"""The sink or source in the making: where it stands, which topics it is about, and what is reported of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.domain.base.findings import PathParts
from pipelines.domain.connect.importing import notes
from pipelines.domain.connect.importing.topics import Topics
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report


@dataclass
class Part:
    """`headers`: those of the source that the part needs. `name`: the connector's, for names of secrets."""

    name: str
    path: PathParts
    topics: Topics
    report: Report
    headers: set[str] = field(default_factory=set)

    def note(self, code: str, message: str, done: str, *, about: Property | str, suggestion: str = "") -> None:
        """A warning about the part."""
        self.report.note(code, message, done, about=about, path=self.path, suggestion=suggestion)

    def mislead(self, code: str, message: str, suggestion: str, *, about: Property | None = None) -> None:
        """An error about the part."""
        notes.mislead(self.report, about or "", code, message, suggestion, self.path)
