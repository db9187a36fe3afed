"""The jars of an agent's JVM."""

from __future__ import annotations

from pathlib import Path

from workers.agent.spark import jvm

LOCAL = ["hadoop-client-api-3.5.0", "hive-storage-api-2.8.1", "spark-core_2.13-4.2.0", "spark-sql_2.13-4.2.0"]
OF_CLUSTERS = ["hive-exec-2.3.10-core", "kubernetes-client-7.6.1", "spark-yarn_2.13-4.2.0"]


def names(jars: Path, *, local: bool) -> list[str]:
    return [path.stem for path in jvm.class_path(["module.jar"], jars, local=local)]


def test_a_local_session_has_no_jars_of_clusters_and_a_cluster_has_them_last(tmp_path: Path) -> None:
    """The JVM takes an archive whose class path begins its own."""
    for name in sorted([*LOCAL, *OF_CLUSTERS]):
        (tmp_path / f"{name}.jar").touch()
    assert names(tmp_path, local=True) == ["module", *LOCAL]
    assert names(tmp_path, local=False) == ["module", *LOCAL, *OF_CLUSTERS]


def test_each_beginning_leaves_out_a_jar_of_this_pyspark() -> None:
    """A name that changes with Spark is not left out any more, unnoticed."""
    jars = jvm.own_jars()
    own = [path.name for path in jars.glob("*.jar")]
    assert [start for start in jvm.OF_CLUSTERS if not any(name.startswith(start) for name in own)] == []
    left_out = len(own) - len(jvm.class_path([], jars))
    assert left_out > len(own) / 4
