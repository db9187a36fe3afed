"""The catalogue of components: one file `components/<kind>/<type>.py` each, found by its name.

A new component needs no list to be edited: a module that defines one subclass of ComponentSpec for its kind is enough.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from pipelines.domain.definitions import components
from pipelines.domain.definitions.parts.component import ComponentSpec, Kind

KINDS: tuple[Kind, ...] = get_args(Kind)

TAG_MARK = "\0"
"""Begins the tag that pydantic puts into an error's location for a chosen component; no key of a definition has it."""


class UnknownComponentError(LookupError):
    """There is no component of this kind and type."""


@cache
def types(kind: Kind) -> dict[str, type[ComponentSpec]]:
    """The components of a kind by type."""
    found = pkgutil.iter_modules([f"{place}/{kind}" for place in components.__path__])
    names = sorted(module.name for module in found)
    specs = [_spec_in(importlib.import_module(f"{components.__name__}.{kind}.{name}"), kind) for name in names]
    return {spec.type_name(): spec for spec in specs}


def _spec_in(module: Any, kind: Kind) -> type[ComponentSpec]:
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ComponentSpec) and value.__module__ == module.__name__
    ]
    if len(own) != 1 or own[0].kind != kind:
        raise ImportError(f"{module.__name__} must define exactly one {kind}, it defines {[c.__name__ for c in own]}")
    return own[0]


def get(kind: Kind, type_name: str) -> type[ComponentSpec]:
    """The specification of a component; UnknownComponentError where there is none."""
    try:
        return types(kind)[type_name]
    except KeyError:
        raise UnknownComponentError(f"no {kind} of type {type_name!r}") from None


def all() -> list[type[ComponentSpec]]:  # noqa: A001 - `registry.all()` reads well
    """Every component, by kind in the order of the graph, then by type."""
    return [spec for kind in KINDS for spec in types(kind).values()]


def json_schema(kind: Kind, type_name: str) -> dict[str, Any]:
    """The JSON Schema of a component's keys, from which forms are drawn."""
    return get(kind, type_name).model_json_schema()


@dataclass(frozen=True)
class OneOf:
    """Annotation for a field that holds any component of a kind, chosen by its `type`."""

    kind: Kind

    def tag(self, value: Any) -> str | None:
        """The tag of a mapping or an instance, as it appears in an error's location."""
        type_name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
        return f"{TAG_MARK}{self.kind}:{type_name}" if isinstance(type_name, str) else None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        choices = {
            f"{TAG_MARK}{self.kind}:{name}": handler.generate_schema(spec) for name, spec in types(self.kind).items()
        }
        return core_schema.tagged_union_schema(choices=choices, discriminator=self.tag)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(schema) | {"title": self.kind.capitalize()}


def tagged_spec(tag: str) -> type[ComponentSpec]:
    """The specification that a tag in an error's location stands for."""
    kind, _, type_name = tag.removeprefix(TAG_MARK).partition(":")
    return types(kind)[type_name]
