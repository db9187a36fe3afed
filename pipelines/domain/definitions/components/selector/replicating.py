"""Flume's ReplicatingChannelSelector."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.base.values import ComponentName
from pipelines.domain.definitions.parts.component import SelectorSpec, field


class ReplicatingSelector(SelectorSpec):
    """Sends every event to every channel."""

    title: ClassVar[str] = "Replicating"
    type: Literal["replicating"] = field("Chooses this selector.", example="replicating")
    channels: list[ComponentName] | None = field(
        "The channels that get every event; without it, all channels of the definition.",
        default=None,
        example=["lake", "audit"],
        refers="channels",
    )
    optional: list[ComponentName] = field(
        "Those of them whose failures are counted and hold the others back in nothing.",
        default=[],
        example=["audit"],
        refers="channels",
    )

    def targets(self, channels: list[str]) -> list[str]:
        """The listed channels, or all of them."""
        return list(channels) if self.channels is None else list(self.channels)

    def optional_targets(self) -> frozenset[str]:
        """The channels listed as optional."""
        return frozenset(self.optional)
