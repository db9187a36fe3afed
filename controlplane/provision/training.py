"""The training run of the class-data archive: a broker, some records, and an agent that moves them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from controlplane.install.services.kafka import running_kafka
from controlplane.install.tools.errors import SetupError

RECORDS = 1000
TIMEOUT = 600.0  # seconds for the training job


def train(archive: Path, jars: Path, work: Path) -> None:
    """Write the archive of an agent that has Spark from `jars`. Raises SetupError."""
    with running_kafka(work / "kafka") as servers:
        fill(servers, "training-input", ["training-output"])
        command = [sys.executable, "-m", "controlplane.provision.training_job", str(archive), str(jars)]
        command += [servers, "training-input", "training-output", str(RECORDS), str(work)]
        output = _run(command)
    if not archive.is_file():
        raise SetupError(f"The training run left no class-data archive:\n{output[-2000:]}", "Run it again.")


def _run(command: list[str]) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise SetupError(f"The training run did not end in {TIMEOUT:.0f} s.", "Run it again.") from error
    output = "\n".join(line for line in (result.stdout + result.stderr).splitlines() if "[cds]" not in line)
    if result.returncode != 0:
        raise SetupError(f"The training run of the class-data archive failed:\n{output[-3000:]}", "Run it again.")
    return output


def fill(servers: str, source: str, others: Iterable[str]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics([NewTopic(name, 2, 1) for name in (source, *others)]).values():
        created.result(30)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(RECORDS):
        producer.produce(source, value=f"record {number}", key=str(number), headers={"origin": b"training"})
    producer.flush(30)
