"""A checkpoint that somebody has edited: the gap is named to the record, and nothing is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.domain.ledger.journal import Planned
from pipelines.domain.runs.protocol import Exit
from tests.agent.harness import Run
from tests.agent.topics import Topics
from tests.chaos.data_plane import MakeDefined

FORWARD = 100


@contextmanager
def moved_forward(log: Path, topic: str, batch: int, to: int) -> Iterator[None]:
    """Write the offsets of `batch` as those of batch `to`, a hundred further on in partition 0; take it back."""
    files = [log / "offsets" / str(to), log / "commits" / str(to)]
    before = [path.read_bytes() if path.exists() else None for path in files]
    head, settings, text = (log / "offsets" / str(batch)).read_text().splitlines()
    ends = json.loads(text)
    ends[topic]["0"] += FORWARD
    files[0].write_text("\n".join([head, settings, json.dumps(ends)]))
    files[1].write_text((log / "commits" / str(batch)).read_text())
    yield
    for path, content in zip(files, before, strict=True):
        path.unlink() if content is None else path.write_bytes(content)


def test_a_checkpoint_that_was_edited_forward_is_a_gap_of_so_many_records_and_nothing_is_read(
    topics: Topics, make_defined: MakeDefined
) -> None:
    topics.produce(4000)
    pipeline = make_defined(
        topics.name,
        sources={"shop": topics.as_source()},
        channels={"lake": {"type": "direct"}},
        sinks={"lake": topics.as_sink()},
    )
    run = pipeline.start()
    run.wait_delivered(4000)
    assert run.stop().exit_code == 0
    log = pipeline.checkpoint("shop", "lake")
    batch = max(int(path.name) for path in (log / "commits").iterdir() if path.name.isdigit())
    topics.produce(4000)
    for further, code in ((0, "CHECKPOINT_DISAGREES"), (1, "LEDGER_BEHIND")):
        with moved_forward(log, topics.source, batch, batch + further):
            is_refused(pipeline.start_refused(), topics, code)
    assert topics.read().numbers.keys() == set(range(4000))


def is_refused(run: Run, topics: Topics, code: str) -> None:
    """It names the gap, and has planned nothing."""
    assert run.wait_exit().exit_code == Exit.PREFLIGHT_BLOCKED
    status = run.status
    assert status is not None
    (finding,) = status.findings
    assert finding.code == code
    assert f"{topics.source}/0: " in finding.message
    assert f"GAP {FORWARD}" in finding.message
    assert "GAP" not in finding.message.replace(f"GAP {FORWARD}", "")
    assert run.of_kind(Planned) == []
