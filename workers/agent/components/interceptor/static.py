"""Flume's StaticInterceptor: one header with the same value on every event."""

from __future__ import annotations

from pyspark.sql import functions as f

from workers.agent.base.event import Event
from workers.agent.graph.component import InterceptorBuilder


class Builder(InterceptorBuilder):
    """Sets one header."""

    def apply(self, event: Event) -> Event:
        """Add the header."""
        return event.with_header(self.spec.key, f.lit(self.spec.value), preserve_existing=self.spec.preserve_existing)
