"""A JVM that gets no more memory from the kernel: the run ends with its cause, and the next one loses nothing."""

from __future__ import annotations

import re
import resource
from pathlib import Path

from pipelines.domain.runs.protocol import Exit
from tests.agent.topics import Topics
from tests.chaos.data_plane import MakeDefined
from tests.figures import RecordProperty, report_arrival


def allow_no_more(pid: int) -> None:
    """Whatever the process has of memory that it can write to is all that it will ever get."""
    found = re.search(r"VmData:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    now = int(found[1]) * 1024
    resource.prlimit(pid, resource.RLIMIT_DATA, (now, now))


def test_an_agent_without_memory_ends_with_its_cause_and_loses_nothing(
    topics: Topics, make_defined: MakeDefined, record_property: RecordProperty
) -> None:
    pipeline = make_defined(
        topics.name,
        sources={"shop": topics.as_source()},
        channels={"lake": {"type": "direct"}},
        sinks={"lake": topics.as_sink()},
    )
    topics.produce(1000)
    run = pipeline.start()
    run.wait_delivered(1000, 180)
    allow_no_more(run.pid("jvm"))
    topics.produce(200_000, size=200)
    record = run.wait_exit(240)
    # The query may tell of its lack of memory before the JVM is over.
    assert record.exit_code in {Exit.JVM_LOST, Exit.QUERY_FAILED}
    reason = str(run.entries()[-1].data["reason"])
    assert re.search("The JVM (exited with code|was ended by)|memory|OutOfMemory", reason), reason
    assert re.search("OutOfMemory|insufficient memory|out of memory", run.log, re.IGNORECASE)

    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), 240)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    found = topics.read().numbers
    missing, duplicates = report_arrival(record_property, found, range(201_000), pipeline.possible_duplicates)
    assert (missing, duplicates) == (0, pipeline.possible_duplicates)
