"""The channel without a store: an independent cursor over the source, which is a query of its own."""

from __future__ import annotations

from workers.agent.graph.component import ChannelBuilder


class Builder(ChannelBuilder):
    """Nothing to reach and nothing to initialise."""
