"""Names of topics: which ones are read, and what a router makes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass
class Topics:
    """The topics of a connector in their order, and by each the name that transformations give it. `pattern`: a regular
    expression in their place."""

    names: list[str] = field(default_factory=list)
    pattern: str = ""
    routed: dict[str, str] = field(default_factory=dict)

    @property
    def only(self) -> str | None:
        """What the one topic is called in the end; None where there are several, or a pattern."""
        return self.target(self.names[0]) if len(self.names) == 1 and not self.pattern else None

    def target(self, name: str) -> str:
        """What a topic is called in the end."""
        return self.routed.get(name, name)

    def route(self, regex: str, replacement: str) -> None:
        """As RegexRouter does: where the whole name matches. ValueError where Python reads the pattern differently."""
        pattern = re.compile(regex)
        template = re.sub(r"\$(\d)", r"\\g<\1>", replacement.replace("\\", "\\\\"))
        for name in self.names:
            if found := pattern.fullmatch(self.target(name)):
                self.routed[name] = found.expand(template)


def listed_topics(text: str) -> Topics:
    """A list with commas between, or the pattern that MirrorMaker takes such a list for."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if all(re.fullmatch(r"[A-Za-z0-9._-]+", part) for part in parts):
        return Topics(names=parts)
    return Topics(pattern="|".join(parts))
