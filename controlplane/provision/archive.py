"""The class-data archive: what makes an agent's JVM start in half the time.

A dynamic archive (JEP 350) holds the classes of a real run, parsed and verified. It fits one JVM, one class path and
one set of flags; a digest of these and of the training is its file name; where none fits, agents start without it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from controlplane.devstack.kafka import running_kafka
from controlplane.provision.errors import SetupError
from controlplane.provision.jars import SPARK_KAFKA, jar_paths
from controlplane.provision.java import Java, find_java
from controlplane.provision.paths import PROJECT, cache_dir
from workers.agent import jvm

TRAINING_RECORDS = 1000
KEPT = 3  # archives, of 170 MB each
TIMEOUT = 300.0  # seconds for the training job


def archive_path() -> Path | None:
    """The archive that fits the Java, the jars and the flags of this moment; None where there is none."""
    try:
        path = _place(find_java())
    except SetupError:
        return None
    return path if path.is_file() else None


def ensure(java: Java) -> bool:
    """Build the archive when none fits; returns whether it was built. Raises SetupError when the training run fails."""
    target = _place(java)
    if target.is_file():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".training-", dir=target.parent) as work:
        fresh = Path(work) / target.name
        _train(fresh, Path(work))
        fresh.replace(target)
    _forget_old(target.parent)
    return True


def _forget_old(directory: Path) -> None:
    """Keep the newest archives only; other clones of the project may use the same cache."""
    archives = sorted(directory.glob("agent-*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in archives[KEPT:]:
        old.unlink(missing_ok=True)


def _place(java: Java) -> Path:
    files = (Path(entry) for entry in jvm.class_path(jar_paths(SPARK_KAFKA)).split(os.pathsep))
    training = Path(__file__).with_name("training_job.py").read_text()
    parts = [training, java.banner, str(java.executable), *jvm.FLAGS, *(_print(file) for file in files)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return cache_dir() / "archive" / f"agent-{key}.jsa"


def _print(file: Path) -> str:
    """What the JVM compares of a jar: path, size and time of change."""
    stat = file.stat()
    return f"{file}:{stat.st_size}:{stat.st_mtime_ns}"


def _train(archive: Path, work: Path) -> None:
    with running_kafka(work / "kafka") as servers:
        fill(servers, "training-input", ["training-output"])
        command = [sys.executable, "-m", "controlplane.provision.training_job", str(archive)]
        command += [servers, "training-input", "training-output", str(TRAINING_RECORDS), str(work)]
        output = _run(command)
    if not archive.is_file():
        raise SetupError(f"The training run left no class-data archive:\n{output[-2000:]}", "Run `make setup` again.")


def _run(command: list[str]) -> str:
    try:
        result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise SetupError(f"The training run did not end in {TIMEOUT:.0f} s.", "Run `make setup` again.") from error
    output = "\n".join(line for line in (result.stdout + result.stderr).splitlines() if "[cds]" not in line)
    if result.returncode != 0:
        raise SetupError(
            f"The training run of the class-data archive failed:\n{output[-3000:]}", "Run `make setup` again."
        )
    return output


def fill(servers: str, source: str, others: Iterable[str]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics([NewTopic(name, 2, 1) for name in (source, *others)]).values():
        created.result(30)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(TRAINING_RECORDS):
        producer.produce(source, value=f"record {number}", key=str(number), headers={"origin": b"training"})
    producer.flush(30)
