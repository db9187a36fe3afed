"""The JVM of an agent."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.domain.runs.protocol import SparkSettings


def test_what_it_unpacks_goes_with_the_files_of_its_run(session: SparkSession) -> None:
    java = session.sparkContext._jvm.java  # type: ignore[union-attr]
    own = Path(java.lang.System.getProperty("java.io.tmpdir"))
    assert own == Path(java.lang.System.getenv("SPARK_LOCAL_DIRS"))
    unpacked = Path(java.io.File.createTempFile("lib", ".so").getPath())
    assert unpacked.parent == own
    assert own != Path(os.environ.get("TMPDIR", "/tmp"))


def test_its_class_data_is_that_of_all_agents_of_the_host(session: SparkSession, spark_settings: SparkSettings) -> None:
    java = session.sparkContext._jvm.java  # type: ignore[union-attr]
    maps = Path(f"/proc/{java.lang.ProcessHandle.current().pid()}/smaps").read_text()
    assert spark_settings.archive is not None
    mapped = [part for part in maps.split("VmFlags:") if part.rpartition("\nSize:")[0].endswith(spark_settings.archive)]
    size, own = (sum(_kib(part, field) for part in mapped) for field in ("Size", "Private_Dirty"))
    assert size > 50_000, "the archive is used"
    assert own < size / 2, "relocated, four fifths of it are the own pages of each JVM"


def _kib(part: str, field: str) -> int:
    return int(part.split(f"\n{field}:")[1].split()[0])


def test_permissions_of_its_files_are_set_without_a_process(session: SparkSession, tmp_path: Path) -> None:
    hadoop = session.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    path = hadoop.Path(str(tmp_path / "checkpoint"))
    files = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    before = _children(session)
    files.create(path, True).close()
    assert oct((tmp_path / "checkpoint").stat().st_mode)[-3:] == "644"
    for mode in ("640", "600", "755"):
        files.setPermission(path, hadoop.permission.FsPermission(mode))
        assert oct((tmp_path / "checkpoint").stat().st_mode)[-3:] == mode
    assert _children(session) == before


def _children(session: SparkSession) -> int:
    """Page faults of the processes that the JVM has waited for: each of them has some."""
    java = session.sparkContext._jvm.java  # type: ignore[union-attr]
    stat = Path(f"/proc/{java.lang.ProcessHandle.current().pid()}/stat").read_text().rpartition(")")[2].split()
    return int(stat[8])
