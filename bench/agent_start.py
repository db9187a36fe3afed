"""How long an agent takes from spawn to its first acknowledged batch, with and without the start-up archive.

`python -m bench.agent_start [RUNS]` on an otherwise idle machine, after `make setup`. The same broker serves all runs;
the first run of each kind warms the disk cache and is left out. Compare the two kinds of one run of this script alone.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from controlplane.devstack.kafka import running_kafka
from controlplane.provision.archive import TRAINING_RECORDS, archive_path, fill
from controlplane.provision.jars import SPARK_KAFKA, jar_paths
from controlplane.provision.java import find_java
from controlplane.provision.training_job import definition_of, launch_of, moved, order
from pipelines.domain.protocol import EXIT, LAUNCH, SparkSettings
from pipelines.domain.states import Command

TIMEOUT = 120.0  # seconds for one run


def main(runs: int) -> None:
    archive = archive_path()
    if archive is None:
        sys.exit("There is no start-up archive. Run `make setup`.")
    with tempfile.TemporaryDirectory() as work, running_kafka(Path(work, "kafka")) as servers:
        fill(servers, "bench-input", ["bench-output"])
        for name, used in (("without archive", None), ("with archive", str(archive))):
            seconds = [first_batch(servers, used, Path(work, f"{name}-{n}")) for n in range(runs + 1)][1:]
            print(f"{name:<16} median {statistics.median(seconds):5.2f} s   all {[round(s, 2) for s in seconds]}")


def first_batch(servers: str, archive: str | None, directory: Path) -> float:
    """Seconds from the keeper's spawn to the first batch in the journal. The agent is stopped again."""
    run_dir = directory / "run"
    run_dir.mkdir(parents=True)
    home = str(find_java().executable.parent.parent)
    spark = SparkSettings(classpath=[str(p) for p in jar_paths(SPARK_KAFKA)], archive=archive, java_home=home)
    definition = definition_of(servers, "bench-input", "bench-output", str(directory))
    launch_of(definition, spark, str(directory)).store(run_dir / LAUNCH)
    order(run_dir, 1, Command.RUN)
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "workers.keeper", str(run_dir)], check=True, timeout=TIMEOUT)
    await_(lambda: moved(run_dir) > 0)
    seconds = time.monotonic() - started
    await_(lambda: moved(run_dir) >= TRAINING_RECORDS * len(definition.queries()))
    order(run_dir, 2, Command.DRAIN_AND_STOP)
    await_((run_dir / EXIT).exists)
    return seconds


def await_(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"a run did not come about in {TIMEOUT:.0f} s")
        time.sleep(0.02)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
