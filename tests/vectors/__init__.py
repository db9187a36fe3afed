"""Facts about how Flume behaves, and the ones that Headgate does not follow, each with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Vector:
    """One fact: what is configured, what is done, what comes of it. `notes` may say where ours must differ."""

    id: str
    component: str
    source_test: str
    config: Any
    input_events: Any
    expected_events_or_error: Any
    notes: str

    def __str__(self) -> str:
        return self.id


@cache
def vectors() -> list[Vector]:
    """All of them."""
    return [Vector(**each) for each in json.loads((_HERE / "flume_behaviour.json").read_text())]


@cache
def exemptions() -> dict[str, str]:
    """The reasons for which vectors are not followed, by id."""
    return dict(json.loads((_HERE / "exemptions.json").read_text()))


def applicable(component: str) -> list[Vector]:
    """The vectors of a component, or of a family of components, that are not exempted."""
    family = (component, f"{component}.")
    own = [each for each in vectors() if each.component == family[0] or each.component.startswith(family[1])]
    return [each for each in own if each.id not in exemptions()]
