"""The channel of a shared read: its batch is held by the query until every channel has delivered it."""

from __future__ import annotations

from workers.agent.graph.component import ChannelBuilder


class Builder(ChannelBuilder):
    """Nothing to reach and nothing to initialise."""
