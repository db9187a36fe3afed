"""Flume's SearchAndReplaceInterceptor: Java's `Matcher.replaceAll` on the decoded body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as f

from workers.agent.base.event import Event
from workers.agent.base.findings import refuse
from workers.agent.base.patterns import compile_in_java
from workers.agent.graph.component import InterceptorBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UTF8 = "UTF-8"


class Builder(InterceptorBuilder):
    """Replaces the body where it has a match."""

    def initialise(self, spark: SparkSession) -> None:
        """Ask Java for the pattern and the character set."""
        compile_in_java(spark, self.spec.search_pattern, f"{self.place.path}.search_pattern")
        if not spark._jvm.java.nio.charset.Charset.isSupported(self.spec.charset):  # type: ignore[union-attr]
            message = f"The Java of this host does not know the character set {self.spec.charset}."
            raise refuse(f"{self.place.path}.charset", "UNKNOWN_CHARSET", message, "Install a full Java runtime.")

    def through(self, frame: DataFrame, event: Event) -> tuple[DataFrame, Event]:
        """The new body is a column of its own: what follows looks at it more than once."""
        column = f"body after {self.place.path}"
        return frame.withColumn(column, self._replaced(event.body)), event.with_body(f.col(f"`{column}`"))

    def _replaced(self, body: Column) -> Column:
        text = self._decoded(body)
        replaced = f.regexp_replace(text, f.lit(self.spec.search_pattern), f.lit(self.spec.replace_string))
        return f.when(text.rlike(self.spec.search_pattern), self._encoded(replaced)).otherwise(body)

    def _decoded(self, body: Column) -> Column:
        return body.cast("string") if self.spec.charset == _UTF8 else f.decode(body, self.spec.charset)

    def _encoded(self, text: Column) -> Column:
        return text.cast("binary") if self.spec.charset == _UTF8 else f.encode(text, self.spec.charset)
