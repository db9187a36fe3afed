"""The channel without a store."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import ChannelSpec, field


class DirectChannel(ChannelSpec):
    """Reads a rereadable source at its own positions. Other channels cannot hold it back."""

    title: ClassVar[str] = "Direct"
    type: Literal["direct"] = field("Chooses this channel.", example="direct")
