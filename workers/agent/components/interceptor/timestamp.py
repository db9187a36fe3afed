"""Flume's TimestampInterceptor: the time of processing, in milliseconds since 1970.

All events of a batch have the time at which it was planned, in real-time mode that at which it began.
"""

from __future__ import annotations

from pyspark.sql import functions as f

from workers.agent.base.event import Event
from workers.agent.graph.component import InterceptorBuilder


class Builder(InterceptorBuilder):
    """Sets one header."""

    def apply(self, event: Event) -> Event:
        """Add the header."""
        now = f.unix_millis(f.current_timestamp()).cast("string")
        return event.with_header(self.spec.header_name, now, preserve_existing=self.spec.preserve_existing)
