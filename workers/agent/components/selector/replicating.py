"""Flume's ReplicatingChannelSelector: every event goes to every channel, so each channel's query takes all of them."""

from __future__ import annotations

from workers.agent.graph.component import SelectorBuilder


class Builder(SelectorBuilder):
    """Nothing to select within one channel's query."""
