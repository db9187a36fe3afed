"""What a definition asks of the person who publishes or starts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import Kind

_SECTIONS: dict[str, Kind] = {"sources": "source", "channels": "channel", "sinks": "sink"}


def required_role(definition: dict[str, Any]) -> Role:
    """The lowest role that may publish and start it."""
    return max([Role.OPERATOR, *(role for _, role in _needs(definition))])


def beyond(role: Role, definition: dict[str, Any]) -> list[str]:
    """Paths of the components that this role may not run, each with the role that it needs; none where all are its."""
    return [f"{part} needs the role {needed.word}" for part, needed in _needs(definition) if role < needed]


def _needs(definition: dict[str, Any]) -> Iterator[tuple[str, Role]]:
    for section, kind in _SECTIONS.items():
        for name, part in definition.get(section, {}).items():
            yield f"{section}.{name} ({part['type']})", registry.get(kind, part["type"]).required_role
