"""Flume's RemoveHeaderInterceptor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.domain.regex.safety import whole
from workers.agent.base.event import Event
from workers.agent.base.patterns import compile_in_java
from workers.agent.graph.component import InterceptorBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Builder(InterceptorBuilder):
    """Removes headers by name and by pattern."""

    def initialise(self, spark: SparkSession) -> None:
        """Let Java compile the pattern."""
        if self.spec.matching is not None:
            compile_in_java(spark, self.spec.matching, f"{self.place.path}.matching")

    def apply(self, event: Event) -> Event:
        """Remove them."""
        names = [*self.spec.from_list, *([self.spec.with_name] if self.spec.with_name else [])]
        left = event.without_headers(names) if names else event
        return left if self.spec.matching is None else left.without_headers_matching(whole(self.spec.matching))
