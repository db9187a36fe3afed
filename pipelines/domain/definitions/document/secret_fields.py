"""Where a definition may refer to a secret: the keys whose components declare it, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic.fields import FieldInfo

from pipelines.domain.base.findings import PathParts
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.client_options import SECRET_CAPABLE_OPTIONS
from pipelines.domain.definitions.parts.component import ComponentSpec, Kind, Spec

_SECTIONS: dict[str | int, Kind] = {"sources": "source", "channels": "channel", "sinks": "sink"}
_LETTERS = ("errors", "dead_letter")


@dataclass(frozen=True)
class Place:
    """A component of a definition: where it stands, its kind, and the value of its `type`."""

    path: PathParts
    kind: Kind
    type: str

    @property
    def component(self) -> str:
        """The component as bindings name it, such as `sink/http`."""
        return f"{self.kind}/{self.type}"


def place_of(path: PathParts, data: Any) -> Place | None:
    """The component that a path leads into, by its position alone: whatever components and keys are called."""
    if path[:2] == _LETTERS:
        return _place(path[:2], "dead_letter", data)
    if len(path) < 2 or path[0] not in _SECTIONS:
        return None
    if path[0] == "sources" and path[2:3] == ("interceptors",):
        return _place(path[:4], "interceptor", data) if len(path) > 3 else None
    if path[0] == "sources" and path[2:3] == ("selector",):
        return None
    return _place(path[:2], _SECTIONS[path[0]], data)


def _place(path: PathParts, kind: Kind, data: Any) -> Place | None:
    for part in path:
        try:
            data = data[part]
        except (LookupError, TypeError):
            return None
    found = data.get("type") if isinstance(data, dict) else None
    return Place(path, kind, found) if isinstance(found, str) and found in registry.types(kind) else None


def takes_secret(path: PathParts, data: Any) -> bool:
    """Whether the text at a path may refer to a secret."""
    place = place_of(path, data)
    if place is None:
        return False
    return _declared(registry.get(place.kind, place.type), path[len(place.path) :])


def secret_keys(spec: type[ComponentSpec]) -> list[str]:
    """The keys of a component that may hold secrets, those of parts of it with a dot between."""
    return sorted(_keys(spec))


def _keys(spec: type[Spec]) -> Iterator[str]:
    for name, info in spec.model_fields.items():
        if _is_declared(info):
            yield name
        yield from (f"{name}.{key}" for part in _parts(info.annotation) for key in _keys(part))


def _declared(spec: type[Spec], path: PathParts) -> bool:
    if not path or not isinstance(path[0], str) or path[0] not in spec.model_fields:
        return False
    name, info = path[0], spec.model_fields[path[0]]
    if _is_declared(info):
        return name != "options" or (len(path) == 2 and path[1] in SECRET_CAPABLE_OPTIONS)
    return any(_declared(part, path[1:]) for part in _parts(info.annotation))


def _is_declared(info: FieldInfo) -> bool:
    extra = info.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("secret"))


def _parts(annotation: Any) -> Iterator[type[Spec]]:
    """The parts that a key may hold; components have places of their own."""
    if isinstance(annotation, type) and issubclass(annotation, Spec) and not issubclass(annotation, ComponentSpec):
        yield annotation
    for each in get_args(annotation):
        yield from _parts(each)
