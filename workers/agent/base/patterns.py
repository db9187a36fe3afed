"""Java is asked about a pattern before the first record: behind one that it refuses, records would wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.agent.base.findings import refuse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compile_in_java(spark: SparkSession, pattern: str, path: str) -> None:
    """Compile a regular expression. Raises Refused."""
    try:
        spark._jvm.java.util.regex.Pattern.compile(pattern)  # type: ignore[union-attr]
    except Exception as error:
        raise refuse(path, "BAD_REGEX", f"Java rejects the pattern: {error}") from error
