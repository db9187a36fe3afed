"""Python interceptors in real agents: what is bad is found before the first record, what fails later blocks."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.journal import Done
from pipelines.domain.protocol import Exit
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


@pytest.mark.parametrize(
    ("does", "where"),
    [*product(["raise", "exit", "kill"], ["driver", "executor"]), ("system_exit", "executor"), ("hang", "driver")],
)
def test_a_bad_initialize_ends_the_run_before_anything_is_read(
    topics: Topics, make_pipeline: MakePipeline, does: str, where: str
) -> None:
    topics.produce(10)
    config, patience = {"does": does, "where": where}, "4s" if does == "hang" else "60s"
    run = with_interceptor(make_pipeline, MISBEHAVES, config=config, init_timeout=patience).start()
    record = run.wait_exit(240)
    assert record.exit_code == Exit.INIT_FAILED
    assert record.killed_by is None
    assert run.status is not None
    assert {finding.path for finding in run.status.findings} == {PATH}
    assert topics.read().numbers == {}
    assert not run.of_kind(Done)


@pytest.mark.parametrize("lazily", ["raise", "exit", "kill"])
def test_an_initialisation_that_comes_late_blocks_and_nothing_is_done(
    topics: Topics, make_pipeline: MakePipeline, lazily: str
) -> None:
    topics.produce(10)
    run = with_interceptor(make_pipeline, MISBEHAVES, config={"lazily": lazily}, on_error="drop").start()
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
