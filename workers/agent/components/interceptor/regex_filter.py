"""Flume's RegexFilteringInterceptor: Java's `Matcher.find` on the body decoded as UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.domain.ledger.ledger import Cause
from workers.agent.base.event import Event
from workers.agent.base.patterns import compile_in_java
from workers.agent.graph.component import InterceptorBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Builder(InterceptorBuilder):
    """Keeps the events that match, or those that do not."""

    @property
    def causes(self) -> frozenset[Cause]:
        """It filters."""
        return frozenset({"filtered"})

    def initialise(self, spark: SparkSession) -> None:
        """Let Java compile the pattern."""
        compile_in_java(spark, self.spec.regex, f"{self.place.path}.regex")

    def apply(self, event: Event) -> Event:
        """Add the condition."""
        matches = event.text.rlike(self.spec.regex)
        return event.keep_where(~matches if self.spec.exclude_events else matches, self.place.number)
