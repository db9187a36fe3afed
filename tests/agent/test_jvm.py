"""The JVM of an agent."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession


def test_what_it_unpacks_goes_with_the_files_of_its_run(session: SparkSession) -> None:
    java = session.sparkContext._jvm.java  # type: ignore[union-attr]
    own = Path(java.lang.System.getProperty("java.io.tmpdir"))
    assert own == Path(java.lang.System.getenv("SPARK_LOCAL_DIRS"))
    unpacked = Path(java.io.File.createTempFile("lib", ".so").getPath())
    assert unpacked.parent == own
    assert own != Path(os.environ.get("TMPDIR", "/tmp"))
