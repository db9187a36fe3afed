"""Maintainers: resolve the roots of every jar set again and write `jars.lock.json`.

`python -m controlplane.provision lock-jars` after a version in `ROOTS` was changed; review the difference before it is
committed, since the checksums are taken from what was downloaded.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.install.tools import ivy
from controlplane.install.tools.jars import KAFKA_BROKER, LOCK_FILE, SPARK_KAFKA, sha256
from controlplane.install.tools.java import Java

# The connector's own metadata names a token provider that was never published, and the rest of what it needs ships with
# PySpark: its set is listed jar by jar.
ROOTS: dict[str, tuple[bool, list[str]]] = {
    SPARK_KAFKA: (
        False,
        [
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.commons:commons-pool2:2.13.1",
        ],
    ),
    KAFKA_BROKER: (
        True,
        ["org.apache.kafka:kafka_2.13:4.3.0", "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3"],
    ),
}


def write_lock(java: Java, lock_file: Path = LOCK_FILE, sets: Mapping[str, tuple[bool, list[str]]] = ROOTS) -> None:
    lock = {name: _resolve(java, transitive, roots) for name, (transitive, roots) in sets.items()}
    lock_file.write_text(json.dumps(lock, indent=1) + "\n")


def _resolve(java: Java, transitive: bool, roots: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        target = Path(work) / "jars"
        ivy.retrieve(java, roots, target, work=Path(work), transitive=transitive)
        jars = sorted(target.glob("*/*/*.jar"))
        return {"roots": roots, "jars": [{"coordinates": _coordinates(jar), "sha256": sha256(jar)} for jar in jars]}


def _coordinates(jar: Path) -> str:
    return f"{jar.parts[-3]}:{jar.parts[-2]}:{jar.stem}"
