"""The channel without a store."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import ChannelSpec, field


class DirectChannel(ChannelSpec):
    """A position of its own in a source that can be read again; other channels cannot hold it back."""

    title: ClassVar[str] = "Direct"
    type: Literal["direct"] = field("Chooses this channel.", example="direct")
