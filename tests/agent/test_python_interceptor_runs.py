"""Python interceptors in real agents: what is bad is found before the first record, what fails later blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.ledger.journal import Done
from pipelines.domain.runs.protocol import Exit
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline
from tests.agent.topics import Topics

MISBEHAVES = "tests.agent.interceptors:Misbehaves"
NOTES = "tests.agent.interceptors:Notes"
PATH = "sources.shop.interceptors[0]"


def with_interceptor(make_pipeline: MakePipeline, name: str, **keys: Any) -> Pipeline:
    pipeline = make_pipeline(source={"interceptors": [{"type": "python", "class": name, **keys}]})
    pipeline.interceptors = [name]
    return pipeline


def with_bad_ones(make_pipeline: MakePipeline, topics: Topics, where: str, *doing: str) -> Pipeline:
    """A source for each way to be bad, all of one topic."""
    pipeline = with_interceptor(make_pipeline, MISBEHAVES)
    pipeline.definition["sources"] = {
        does: {
            **topics.as_source(),
            "group_id": f"headgate.{topics.name}.{does}",
            "interceptors": [
                {
                    "type": "python",
                    "class": MISBEHAVES,
                    "config": {"does": does, "where": where},
                    "init_timeout": "4s" if does == "hang" else "60s",
                }
            ],
        }
        for does in doing
    }
    topics.produce(10)
    return pipeline


@pytest.mark.parametrize(
    ("where", "doing"),
    [("driver", ("raise", "exit", "kill", "hang")), ("executor", ("raise", "exit", "kill", "system_exit"))],
    ids=["driver", "executor"],
)
def test_a_bad_initialize_ends_the_run_before_anything_is_read(
    topics: Topics, make_pipeline: MakePipeline, where: str, doing: tuple[str, ...]
) -> None:
    """Each of them is named."""
    pipeline = with_bad_ones(make_pipeline, topics, where, *doing)
    run = pipeline.start_refused() if where == "driver" else pipeline.start()
    record = run.wait_exit(240)
    assert (record.exit_code, record.killed_by) == (Exit.INIT_FAILED, None)
    assert run.status is not None
    assert {finding.path for finding in run.status.findings} == {f"sources.{each}.interceptors[0]" for each in doing}
    assert topics.read().numbers == {}
    assert not run.of_kind(Done)


def test_an_initialisation_that_comes_late_blocks_and_nothing_is_done(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    """It kills its process; one that raises or exits fails the batch in the same way, as the session's tests show."""
    topics.produce(10)
    run = with_interceptor(make_pipeline, MISBEHAVES, config={"lazily": "kill"}, on_error="drop").start()
    assert run.wait_exit(240).exit_code == Exit.PREFLIGHT_BLOCKED
    assert run.status is not None
    assert [(finding.path, finding.code) for finding in run.status.findings] == [(PATH, "INTERCEPTOR_FAILED")]
    assert not run.of_kind(Done)


def test_what_was_initialised_is_closed_when_the_run_ends(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    topics.produce(100)
    run = with_interceptor(make_pipeline, NOTES, config={"file": str(notes)}).start()
    run.wait_delivered(100, 120)
    assert run.stop().exit_code == 0
    lines = [line.split() for line in notes.read_text().splitlines()]
    opened = sorted(pid for word, pid in lines if word == "initialize")
    assert opened == sorted(pid for word, pid in lines if word == "close")
    assert len(opened) == len(set(opened))
