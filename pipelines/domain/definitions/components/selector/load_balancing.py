"""Flume's LoadBalancingChannelSelector."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.base.values import ComponentName
from pipelines.domain.definitions.parts.component import SelectorSpec, field


class LoadBalancingSelector(SelectorSpec):
    """Spreads events over channels: each event goes to one of them.

    Which one follows from the event's place in its source, so that every channel and every replay agree on it.
    """

    title: ClassVar[str] = "Load balancing"
    type: Literal["load_balancing"] = field("Chooses this selector.", example="load_balancing")
    channels: list[ComponentName] | None = field(
        "The channels to spread over; without it, all channels of the definition.",
        default=None,
        example=["lake_a", "lake_b"],
        refers="channels",
        min_length=1,
        max_length=100,
    )
    policy: Literal["round_robin", "random"] = field(
        "`round_robin`: by the offset within the partition, so neighbours go to different channels. `random`: by a "
        "hash of topic, partition and offset, so no rhythm of the source meets that of the channels.",
        default="round_robin",
        example="random",
    )

    def targets(self, channels: list[str]) -> list[str]:
        """The listed channels, or all of them."""
        return list(channels) if self.channels is None else list(self.channels)

    def optional_targets(self) -> frozenset[str]:
        """None: each event has one channel, which must deliver it."""
        return frozenset()
