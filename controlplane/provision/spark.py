"""What this host gives to an agent's JVM."""

from __future__ import annotations

from controlplane.install.tools.java import find_java
from controlplane.provision.archive import archive_path
from controlplane.provision.module import class_path
from pipelines.domain.runs.protocol import SparkSettings


def spark_settings() -> SparkSettings:
    """Jars, Java and class-data archive. Raises SetupError with the command that helps."""
    jars = [str(path) for path in class_path()]
    java_home = str(find_java().executable.parent.parent)
    archive = archive_path()
    return SparkSettings(classpath=jars, archive=str(archive) if archive else None, java_home=java_home)
