"""Flume's MultiplexingChannelSelector."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import ComponentName, HeaderName
from pipelines.domain.definitions.parts.component import SelectorSpec, field

Value = Annotated[str, Field(min_length=1, max_length=1024)]
Channels = Annotated[list[ComponentName], Field(min_length=1, max_length=100)]


class MultiplexingSelector(SelectorSpec):
    """Sends an event to the channels that belong to the value of one of its headers.

    Values are compared with case. An event that has no such header, a blank one, or a value that `mapping` does not
    know goes to `default`; where that is empty and no optional channel takes it either, it is unrouted: counted, and
    a dead letter. A channel can be required for one value and optional for another: it is held for a batch in which it
    is required for any event, and drops a batch in which it is optional for all of them.
    """

    title: ClassVar[str] = "Multiplexing"
    type: Literal["multiplexing"] = field("Chooses this selector.", example="multiplexing")
    header: HeaderName = field("The header whose value decides.", default="flume.selector.header", example="country")
    mapping: dict[Value, Channels] = field(
        "Channels by value.",
        default={},
        example={"CZ": ["lake"], "US": ["lake", "audit"]},
        refers="channels",
        max_length=10_000,
    )
    default: list[ComponentName] = field(
        "The channels of all other events.", default=[], example=["lake"], refers="channels"
    )
    optional: dict[Value, Channels] = field(
        "Further channels by value, whose failures are counted and hold the others back in nothing.",
        default={},
        example={"US": ["audit"]},
        refers="channels",
        max_length=10_000,
    )

    def targets(self, channels: list[str]) -> list[str]:
        """Every channel that is mentioned."""
        return sorted(self._required() | {name for names in self.optional.values() for name in names})

    def optional_targets(self) -> frozenset[str]:
        """The channels that are optional for every value that they have."""
        return frozenset(name for names in self.optional.values() for name in names) - self._required()

    def sometimes_optional(self) -> frozenset[str]:
        """The channels that are required for one value and optional for another."""
        by_value = ((self.required_for(value), names) for value, names in self.optional.items())
        optional = {name for required, names in by_value for name in names if name not in required}
        return self._required() & optional

    def required_for(self, value: str) -> list[str]:
        """The required channels of a value that is not blank."""
        return self.mapping.get(value, self.default)

    def _required(self) -> frozenset[str]:
        return frozenset([*self.default, *(name for names in self.mapping.values() for name in names)])
