"""Options that choose alerts, for receivers and silences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer


@dataclass(frozen=True)
class Chosen:
    """Which alerts are meant."""

    pipeline: Annotated[
        list[str] | None, typer.Option("--pipeline", help="Only alerts of this pipeline. Repeatable.")
    ] = None
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="Only pipelines with this label: NAME:VALUE, or NAME. Repeatable."),
    ] = None
    rule: Annotated[list[str] | None, typer.Option("--rule", help="Only alerts of this rule. Repeatable.")] = None
    severity: Annotated[
        list[str] | None, typer.Option("--severity", help="Only critical, warning or info. Repeatable.")
    ] = None

    def body(self) -> dict[str, Any]:
        """As the API takes them; only what is given."""
        given = {
            "pipelines": self.pipeline,
            "labels": self.label,
            "rules": self.rule,
            "severities": self.severity,
        }
        return {name: value for name, value in given.items() if value}


def words(matchers: dict[str, list[str]]) -> str:
    """Matchers in one line."""
    return "; ".join(f"{name}: {', '.join(given)}" for name, given in matchers.items() if given) or "all alerts"
