"""The reference of components in the terminal, from the specifications of this program; no server is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import AsJson

if TYPE_CHECKING:
    from pipelines.domain.definitions.parts.component import ComponentSpec


def components(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TYPE]", help="A type with its keys; with its kind before it, only that one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the types of components, or the keys of one: `kafka`, `sink kafka` or `sink_kafka`. Needs no server."""
    from controlplane.cli.base import output

    ctx.obj.as_json = as_json
    found = _found(words or [])
    if as_json:
        output.write_json([_document(spec) for spec in found])
    elif not words:
        rows = [(spec.kind, spec.type_name(), spec.title, _first_sentence(spec)) for spec in found]
        output.table(("kind", "type", "title", "what it does"), rows, empty="No components.")
    else:
        for spec in found:
            _show(spec)


def _found(words: list[str]) -> list[type[ComponentSpec]]:
    from pipelines.domain.base.findings import did_you_mean
    from pipelines.domain.definitions.parts import registry

    everything = registry.all()
    wanted = "_".join(words).lower()
    found = [spec for spec in everything if wanted in ("", spec.type_name(), f"{spec.kind}_{spec.type_name()}")]
    found = found or [spec for spec in everything if wanted in (spec.kind, f"{spec.kind}s")]
    if not found:
        known = sorted({spec.type_name() for spec in everything})
        hint = did_you_mean(wanted, known, otherwise="headgate components lists all of them.")
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


def _show(spec: type[ComponentSpec]) -> None:
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.reference import keys

    output.say(f"{spec.kind} {spec.type_name()}: {spec.title}", style="bold")
    output.say(_description(spec))
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
    output.table(("key", "type", "default", "unit", "example", "what it does"), rows, empty="No keys.")


def _description(spec: type[ComponentSpec]) -> str:
    return " ".join((spec.__doc__ or "").split())


def _first_sentence(spec: type[ComponentSpec]) -> str:
    sentence, stop, _ = _description(spec).partition(". ")
    return sentence + stop.strip()
