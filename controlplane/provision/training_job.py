"""An agent that runs once at set-up so that its JVM can archive the classes it has loaded.

`python -m controlplane.provision.training_job ARCHIVE JARS BOOTSTRAP_SERVERS INPUT OUTPUT RECORDS DIRECTORY`: a real
agent moves the RECORDS of the topic INPUT to the topic OUTPUT and to JSON files below DIRECTORY, then stops; its JVM,
which has Spark from JARS, writes ARCHIVE as it ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from controlplane.install.tools.java import find_java
from controlplane.provision.module import class_path
from pipelines.domain.access.reach import AllowedNetwork, AllowedRoot, ReachPolicy
from pipelines.domain.base.states import Command
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Done
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import (
    CONTROL,
    JOURNAL,
    Control,
    Launch,
    QueryHead,
    SparkSettings,
    boot_id,
    boottime,
)
from workers.agent.driver import Driver
from workers.agent.spark import jvm

MOVE_TIMEOUT = 400.0  # seconds until every record must have been moved
ARCHIVE_TIMEOUT = 120.0  # seconds that the JVM has to write the archive while it ends
HEAP = "512m"


class RecordingJvm(jvm.Jvm):
    """A JVM that gets the time to write its archive."""

    def stop(self, timeout: float, workers: float | None = None, *, idle: bool = False) -> None:
        super().stop(max(timeout, ARCHIVE_TIMEOUT), workers)


def main(archive: str, jars: str, servers: str, source: str, sink: str, records: str, directory: str) -> int:
    run_dir = protocol.run_dir(Path(directory), "training", 1)
    run_dir.mkdir(parents=True)
    definition = definition_of(servers, source, sink, directory)
    spark = SparkSettings(
        classpath=[str(path) for path in class_path()], java_home=str(find_java().executable.parent.parent)
    )
    command = jvm.recording_command(
        spark.classpath, java_home=spark.java_home, heap=HEAP, archive=archive, jars=Path(jars)
    )
    process = RecordingJvm(command, run_dir / "tmp")
    order(run_dir, 1, Command.RUN)
    wanted = int(records) * len(definition.queries())
    threading.Thread(target=_stop_when_moved, args=(run_dir, wanted), daemon=True).start()
    return Driver(run_dir, launch_of(definition, spark, directory), definition, process).run()


def definition_of(servers: str, source: str, sink: str, directory: str) -> Definition:
    """Everything that most pipelines use, so that its classes are in the archive."""
    return Definition.model_validate(
        {
            "api_version": "headgate/v1",
            "name": "training",
            "sources": {
                "in": {
                    "type": "kafka",
                    "bootstrap_servers": servers,
                    "topics": [source],
                    "group_id": "headgate.training",
                    "start_from": "earliest",
                    "interceptors": [
                        {"type": "timestamp"},
                        {"type": "static", "key": "datacenter", "value": "here"},
                        {"type": "regex_filter", "regex": "^record"},
                    ],
                }
            },
            "channels": {"topic": {"type": "direct"}, "files": {"type": "direct"}},
            "sinks": {
                "topic": {
                    "type": "kafka",
                    "channel": "topic",
                    "bootstrap_servers": servers,
                    "topic": sink,
                    "compression": "lz4",
                },
                "files": {"type": "file", "channel": "files", "path": f"{directory}/files", "roll": {"interval": 0}},
            },
            "delivery": {"max_events_per_batch": 500},
        }
    )


def launch_of(definition: Definition, spark: SparkSettings, directory: str) -> Launch:
    return Launch(
        pipeline="training",
        pipeline_id="training",
        run=1,
        epoch=1,
        token="training",  # noqa: S106 - names a run, opens nothing
        host="localhost",
        revision=1,
        revision_digest=definition.digest(),
        definition=definition.plain(),
        lineage=1,
        checkpoint_root=str(protocol.checkpoint_root(Path(directory), "training", 1)),
        heads=[QueryHead(source=source, channel=channel) for source, channel in definition.queries()],
        spark=spark,
        reach=ReachPolicy(
            roots=(AllowedRoot(path=os.path.realpath(directory)), AllowedRoot(path=directory)),
            networks=(AllowedNetwork(target="127.0.0.0/8"),),
        ),
    )


def order(run_dir: Path, number: int, command: Command) -> None:
    Control(seq=number, command=command, boot_id=boot_id(), issued_at=boottime()).store(run_dir / CONTROL)


def _stop_when_moved(run_dir: Path, wanted: int) -> None:
    """Stop the agent when all was moved; end the whole process with 1 when it was not in time."""
    deadline = time.monotonic() + MOVE_TIMEOUT
    while moved(run_dir) < wanted:
        if time.monotonic() > deadline:
            print(f"not all records were moved in {MOVE_TIMEOUT:.0f} s", flush=True)
            os._exit(1)
        time.sleep(0.2)
    order(run_dir, 2, Command.DRAIN_AND_STOP)


def moved(run_dir: Path) -> int:
    """Records that the agent's journal says are done, over all channels."""
    file = run_dir / JOURNAL
    if not file.exists():
        return 0
    payloads = (entry.payload() for entry in journal.read_entries(file.read_bytes())[0])
    return sum(payload.counts.read for payload in payloads if isinstance(payload, Done))


if __name__ == "__main__":
    code = 1
    try:
        code = main(*sys.argv[1:])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
