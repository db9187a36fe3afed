"""Flume's RegexExtractorInterceptor: the groups of the first match become headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.definitions.parts.time_patterns import has_zone
from pipelines.domain.ledger.ledger import Cause
from pipelines.domain.regex.java_regex import groups
from workers.agent.base.event import Event
from workers.agent.base.patterns import compile_in_java
from workers.agent.graph.component import InterceptorBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Builder(InterceptorBuilder):
    """Sets headers where there is a match."""

    @property
    def causes(self) -> frozenset[Cause]:
        """A time that is not written as it should be is a dead letter."""
        has_time = any(serializer.type == "millis" for serializer in self.spec.serializers)
        return frozenset({"dead_lettered"} if has_time else {})

    def initialise(self, spark: SparkSession) -> None:
        """Let Java compile the pattern."""
        compile_in_java(spark, self.spec.regex, f"{self.place.path}.regex")

    def apply(self, event: Event) -> Event:
        """Set one header for each group that has a serialiser."""
        text = event.text
        found = text.rlike(self.spec.regex)
        count = groups(self.spec.regex).count
        for number, serializer in enumerate(self.spec.serializers[:count], start=1):
            group = f.regexp_extract(text, self.spec.regex, number)
            # An empty group looks like no match; only then is the pattern searched for once more.
            value = f.when(group != "", group).otherwise(f.when(found, group))
            if serializer.type == "millis":
                event, value = self._as_millis(event, value, serializer)
            event = event.with_header_where(serializer.name, value)
        return event

    def _as_millis(self, event: Event, value: Column, serializer: Any) -> tuple[Event, Column]:
        time = f.try_to_timestamp(value, f.lit(serializer.pattern))
        if not has_zone(serializer.pattern) and serializer.timezone != "UTC":
            time = f.to_utc_timestamp(time, serializer.timezone)
        cause = f.concat(f.lit(f'The time of "{serializer.name}" is not written as {serializer.pattern}: '), value)
        failed = event.failed_where(value.isNotNull() & time.isNull(), self.place.path, cause)
        return failed, f.unix_millis(time).cast("string")
