"""What a definition asks of the person who publishes or starts it."""

from __future__ import annotations

from typing import Any

from pipelines.domain import registry
from pipelines.domain.component import Kind
from pipelines.domain.roles import Role

_SECTIONS: dict[str, Kind] = {"sources": "source", "channels": "channel", "sinks": "sink"}


def beyond(role: Role, definition: dict[str, Any]) -> list[str]:
    """Paths of the components that this role may not run, each with the role that it needs; none where all are its."""
    found = []
    for section, kind in _SECTIONS.items():
        for name, part in definition.get(section, {}).items():
            needed = registry.get(kind, part["type"]).required_role
            if role < needed:
                found.append(f"{section}.{name} ({part['type']}) needs the role {needed.word}")
    return found
