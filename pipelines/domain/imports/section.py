"""The properties of one component of a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.domain.imports.properties import Property


@dataclass
class Section:
    """The properties of one component, by the key below its name. What is taken out has been dealt with."""

    name: str
    prefix: str
    properties: dict[str, Property] = field(default_factory=dict)

    def get(self, key: str) -> str | None:
        """The value of a property that stays here."""
        found = self.properties.get(key)
        return found.value if found else None

    def take(self, key: str) -> Property | None:
        """A property, which leaves the section."""
        return self.properties.pop(key, None)

    def below(self, prefix: str) -> Section:
        """The properties that begin with `prefix`, taken out, without it."""
        keys = [key for key in self.properties if key.startswith(prefix)]
        taken = {key.removeprefix(prefix): self.properties.pop(key) for key in keys}
        return Section(self.name, f"{self.prefix}{prefix}", taken)

    def number(self, *keys: str, default: int) -> int:
        """The first of these properties that is a number above zero, or the default, as Flume takes it."""
        found = (self.get(key) for key in keys)
        return next((int(value) for value in found if value and value.isdecimal() and int(value)), default)
