"""What is killed, and what the pipeline is like while it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Process = Literal["keeper", "driver", "jvm"]


@dataclass(frozen=True)
class Victim:
    """Processes of one agent that are killed together, in this order. `name` is its name in the report, `title` that of
    its column. `lifecycle`: what the definition has besides; `agents`: how many must be ready before a kill, where
    that asks for more than one.
    """

    name: str
    title: str
    processes: Sequence[Process]
    lifecycle: Mapping[str, Any] = field(default_factory=dict)
    agents: int = 1


VICTIMS = (
    Victim("agent", "agent: keeper, driver and JVM", ("keeper", "driver", "jvm")),
    Victim("keeper", "keeper", ("keeper",)),
    Victim("driver", "driver", ("driver",)),
    Victim("jvm", "JVM", ("jvm",)),
    Victim("standby", "agent, with a warm standby", ("keeper", "driver", "jvm"), {"standby": "warm"}, agents=2),
)
"""A further row of the report is a further entry here."""


def by_definition(victims: Sequence[Victim] = VICTIMS) -> list[list[Victim]]:
    """Victims that can share a pipeline, together, in their order."""
    found: dict[str, list[Victim]] = {}
    for victim in victims:
        found.setdefault(json.dumps(dict(victim.lifecycle), sort_keys=True), []).append(victim)
    return list(found.values())
