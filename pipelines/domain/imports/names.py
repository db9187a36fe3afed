"""Names of other products as names of a definition."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LONGEST = 63


def component_name(name: str) -> str:
    """A name of a source, channel, sink or group: lower-case letters, digits, - and _."""
    return _fitted(re.sub(r"[^a-z0-9_-]", "_", name.lower()).lstrip("_-"))


def pipeline_name(name: str) -> str:
    """A name of a pipeline: lower-case letters, digits and hyphens."""
    return _fitted(re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-"))


def _fitted(name: str) -> str:
    return name[:LONGEST] or "unnamed"


@dataclass
class Names:
    """New names for one kind of component, each given once."""

    taken: dict[str, str] = field(default_factory=dict)

    def give(self, name: str) -> str:
        """The new name of a component; a number is added where another one has it already."""
        if name not in self.taken:
            self.taken[name] = self._free(component_name(name))
        return self.taken[name]

    def _free(self, wanted: str) -> str:
        used = set(self.taken.values())
        numbered = (f"{wanted[: LONGEST - 5]}_{number}" for number in range(2, len(used) + 3))
        return wanted if wanted not in used else next(name for name in numbered if name not in used)
