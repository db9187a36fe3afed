"""The files of Flume that are imported in tests; beside each lie what it must give and what must be told about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.flume.importing.importer import Imported, import_flume

HERE = Path(__file__).parent
AGENTS = {"10_two_agents": "Edge_Agent"}


@dataclass(frozen=True)
class FlumeFile:
    """One file: `definition` and `findings` are the files with what is expected."""

    name: str

    @property
    def text(self) -> str:
        """The properties."""
        return (HERE / f"{self.name}.properties").read_text()

    @property
    def definition(self) -> Path:
        """The definition in YAML."""
        return HERE / f"{self.name}.yaml"

    @property
    def findings(self) -> Path:
        """A line for each finding: severity, code, property."""
        return HERE / f"{self.name}.findings"

    def imported(self) -> Imported:
        """What the importer makes of it."""
        return import_flume(self.text, AGENTS.get(self.name))

    def __str__(self) -> str:
        return self.name


FILES = [FlumeFile(path.stem) for path in sorted(HERE.glob("*.properties"))]


def reported(imported: Imported) -> str:
    """The findings, as in the file of expected ones."""
    return "".join(f"{found.severity} {found.code} {found.key}\n" for found in imported.findings)
