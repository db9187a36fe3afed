"""What set-up builds where no start-up archive fits, as on every fresh machine."""

from __future__ import annotations

from pathlib import Path

from controlplane.provision.training import train
from pipelines.domain.runs.protocol import SparkSettings
from workers.agent.spark import jvm


def test_an_archive_is_trained_where_there_is_none(tmp_path: Path, spark_settings: SparkSettings) -> None:
    assert spark_settings.archive is not None
    archive = tmp_path / "agent.jsa"
    train(archive, jvm.jars_of(Path(spark_settings.archive)), tmp_path)
    assert archive.stat().st_size > 50_000_000
