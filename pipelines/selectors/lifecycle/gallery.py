"""Templates: definitions to start from, read once from `pipelines/gallery`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from pydantic import Field, RootModel

from pipelines.domain.definitions.document.text import load
from pipelines.foundation.errors import NotFound
from pipelines.selectors.base.schemas import Schema

_FILL_IN = "Fill in: "


class TemplateSchema(Schema):
    """A definition to start from: what it is for, what has to be filled in, and the types of its parts in the order in
    which events pass them."""

    name: str
    title: str
    description: str
    fill_in: list[str] = Field(description="Keys whose values are examples.")
    sources: list[str]
    interceptors: list[str]
    channels: list[str]
    sinks: list[str]
    definition_yaml: str


class TemplatesSchema(RootModel[list[TemplateSchema]]):
    """Every template."""


@cache
def templates() -> list[TemplateSchema]:
    """Every template, by name."""
    files = [each for each in resources.files("pipelines.gallery").iterdir() if each.name.endswith(".yaml")]
    return [_template(each.name.removesuffix(".yaml"), each.read_text()) for each in sorted(files, key=str)]


def get_template(name: str) -> TemplateSchema:
    """One template; raises NotFound."""
    found = next((each for each in templates() if each.name == name), None)
    if found is None:
        raise NotFound(f"There is no template {name!r}.", code="template_not_found", hint="GET /api/v1/templates.")
    return found


def _template(name: str, text: str) -> TemplateSchema:
    """The title is the first comment, the last one begins with what has to be filled in."""
    title, *words, fill_in = [line[2:] for line in text.split("\napi_version:")[0].splitlines()]
    data: Mapping[str, Any] = load(text).data
    sources = data["sources"].values()
    return TemplateSchema(
        name=name,
        title=title,
        description=" ".join(words),
        fill_in=fill_in.removeprefix(_FILL_IN).split(", "),
        sources=_types(data["sources"]),
        interceptors=[each["type"] for source in sources for each in source.get("interceptors", [])],
        channels=_types(data["channels"]),
        sinks=_types(data["sinks"]),
        definition_yaml=text,
    )


def _types(parts: Mapping[str, Mapping[str, str]]) -> list[str]:
    return [each["type"] for each in parts.values()]
