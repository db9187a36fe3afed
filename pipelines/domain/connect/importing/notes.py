"""What is reported of settings: that one has no equal, or that the definition would do something else."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.base.findings import PathParts
from pipelines.domain.flume.importing.draft import is_secret
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

SOURCE, SINK = ("sources", "in"), ("sinks", "out")
OMITTED = "It was omitted."


def mislead(
    report: Report, about: Property | str, code: str, message: str, suggestion: str, path: PathParts = ()
) -> None:
    """An error: what is in the definition would do something else than the connector."""
    done = "The definition is not valid in this until you decide."
    report.note(code, message, done, about=about, suggestion=suggestion, path=path, severity="error")


def leave_all(section: Section, needless: Mapping[str, str], report: Report) -> None:
    """Every setting that is left, each with a finding; a secret with how to store it."""
    for key in list(section.properties):
        property_ = section.properties.pop(key)
        if is_secret(property_):
            report.note(
                "secret_not_copied",
                f"{key} holds a password or key.",
                "It was not copied.",
                about=property_,
                suggestion="Store it with headgate secrets set NAME, and refer to it where its component says so.",
            )
        else:
            why = next((reason for start, reason in needless.items() if key == start or _below(key, start)), "")
            report.note(
                "no_equivalent", f"{key} has no equivalent{': ' + why if why else ''}.", OMITTED, about=property_
            )


def _below(key: str, start: str) -> bool:
    return start.endswith(".") and key.startswith(start)


def take_text(section: Section, key: str, report: Report, path: PathParts | None = None, default: str = "") -> str:
    """The value of a setting, which leaves the section; mapped to a place where there is one."""
    property_ = section.take(key)
    if property_ is None:
        return default
    if path is None:
        report.used(property_)
    else:
        report.mapped(property_, path)
    return property_.value or default
