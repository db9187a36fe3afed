"""A record that kills its interceptor: written down by the run that follows a crash, and led past by quarantine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.domain.ledger.journal import DeadLetters, Done
from pipelines.domain.ledger.ledger import total
from pipelines.domain.runs.crashes import Quarantined
from pipelines.domain.runs.protocol import LAUNCH, Launch
from tests.agent.harness import Pipeline, Run
from tests.agent.poison import POISON
from tests.agent.sources import MakeSourcePipeline, bodies, make_source_pipeline
from tests.counts import is_balanced, not_once
from tests.waiting import wait_for
from workers.adapters.rundirs import LocalRunDirs

__all__ = ["make_source_pipeline"]

DIES = "tests.agent.poison:Dies"
RECORDS = 3000


def started(pipeline: Pipeline, **more: Any) -> Run:
    """The next run, with something more in its launch."""
    run = pipeline.prepare()
    launch = Launch.load(run.dir / LAUNCH)
    assert launch is not None
    launch.model_copy(update=more).store(run.dir / LAUNCH)
    return run.start()


def test_the_record_that_kills_an_interceptor_is_found_and_becomes_a_dead_letter_while_all_others_arrive(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    interceptors = [{"type": "python", "class": DIES}]
    source = {"type": "sequence", "rate": 50_000, "limit": RECORDS, "body": "n{n}", "interceptors": interceptors}
    pipeline = make_source_pipeline(source)
    pipeline.interceptors = [DIES]

    run = started(pipeline, trace=True)
    traced = LocalRunDirs(tmp_path / "state").traced
    wait_for(lambda: traced(run.dir), f"the record is written down: {run.log[-2000:]}", 120)
    if run.exit is None:
        run.stop()
    (record,) = set(traced(run.dir))

    poison = Quarantined(
        source="src",
        channel="lake",
        topic=record.topic,
        partition=record.partition,
        start=record.offset,
        end=record.offset + 1,
        cause="It kills the interceptor.",
    )
    run = started(pipeline, quarantined=[poison])
    wait_for(lambda: sum(done.counts.read for done in run.of_kind(Done)) >= RECORDS, "all records", 120)
    assert run.stop().exit_code == 0
    (dead_letter,) = [dead_letter for entry in run.of_kind(DeadLetters) for dead_letter in entry.dead_letters]
    assert (dead_letter.component, dead_letter.cause, dead_letter.offset) == ("quarantine", poison.cause, record.offset)
    done = [each.counts for each in run.of_kind(Done)]
    assert all(map(is_balanced, done))
    assert total(done).parts == {"quarantine": {"dead_lettered": 1}}
    expected = (f"n{n}" for n in range(RECORDS) if n != POISON)
    assert not not_once(bodies(tmp_path / "out"), expected)
