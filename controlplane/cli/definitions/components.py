"""The reference of components in the terminal, from the specifications of this program; it needs no server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Format, Session

if TYPE_CHECKING:
    from pipelines.domain.definitions.parts.component import ComponentSpec

app = Group("Show the component types of definitions and their keys. Needs no server.")


@app.verb("list")
def list_components(
    session: Session,
    kind: Annotated[str | None, typer.Option("--kind", help="Only this kind, such as sink.")] = None,
) -> None:
    """List component types."""
    from controlplane.cli.base import output
    from pipelines.domain.definitions.parts import registry

    found = [spec for spec in registry.all() if kind in (None, spec.kind, f"{spec.kind}s")]
    if session.printed([_document(spec) for spec in found]):
        return
    rows = [(spec.kind, spec.type_name(), spec.title, _first_sentence(spec)) for spec in found]
    output.table(("kind", "type", "title", "description"), rows, empty=f"No components of kind {kind}.")


@app.verb()
def show(
    session: Session,
    words: Annotated[
        list[str],
        typer.Argument(metavar="[KIND] TYPE", help="A component type, such as kafka; sink kafka names one kind."),
    ],
) -> None:
    """Show the keys of a component type."""
    found = _found(words)
    if not session.printed([_document(spec) for spec in found]):
        for spec in found:
            _print(spec)


@app.verb()
def schema(session: Session) -> None:
    """Print the JSON Schema of a whole definition, for editors that complete and check YAML."""
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.json_schema import definition_schema

    if not session.printed(definition_schema()):
        output.write_document(definition_schema(), Format.JSON)


def _found(words: list[str]) -> list[type[ComponentSpec]]:
    from pipelines.domain.base.findings import did_you_mean
    from pipelines.domain.definitions.parts import registry

    everything = registry.all()
    wanted = "_".join(words).lower()
    found = [spec for spec in everything if wanted in (spec.type_name(), f"{spec.kind}_{spec.type_name()}")]
    if not found:
        known = sorted({spec.type_name() for spec in everything})
        hint = did_you_mean(wanted, known, otherwise="`headgate components list` lists all of them.")
        raise CommandError(f"There is no component of type {' '.join(words)}", hint=hint, code="not_found")
    return found


def _document(spec: type[ComponentSpec]) -> dict[str, Any]:
    return {
        "kind": spec.kind,
        "type": spec.type_name(),
        "title": spec.title,
        "description": _description(spec),
        "schema": spec.model_json_schema(),
    }


def _print(spec: type[ComponentSpec]) -> None:
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.guarantees import of_sink
    from pipelines.domain.definitions.document.reference import keys
    from pipelines.domain.definitions.parts.component import SinkSpec

    output.print_line(f"{spec.kind} {spec.type_name()}: {spec.title}", style="bold")
    output.print_line(_description(spec))
    if issubclass(spec, SinkSpec):
        output.print_line(f"Guarantee: {of_sink(spec)}")
    rows = [
        (
            key.name,
            key.type,
            "required" if key.required else json.dumps(key.default),
            key.unit,
            json.dumps(key.example),
            key.description,
        )
        for key in keys(spec)
    ]
    output.table(("key", "type", "default", "unit", "example", "description"), rows, empty="No keys.")
    if functions := spec.model_json_schema().get("functions"):
        signatures = [(each["signature"], each["description"]) for each in functions]
        output.table(("function", "description"), signatures, empty="No functions.")


def _description(spec: type[ComponentSpec]) -> str:
    return " ".join((spec.__doc__ or "").split())


def _first_sentence(spec: type[ComponentSpec]) -> str:
    sentence, stop, _ = _description(spec).partition(". ")
    return sentence + stop.strip()
