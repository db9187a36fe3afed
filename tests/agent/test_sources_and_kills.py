"""Sources that are no broker, side by side in one agent whose processes are killed while all of them deliver."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.base import states
from tests.agent.feeds import Command, Feed, Posted, Sequence, Spool, Tail
from tests.agent.harness import Pipeline, Run, alive, holders
from tests.agent.sources import MakeSourcePipeline, make_source_pipeline
from tests.waiting import wait_for

__all__ = ["make_source_pipeline"]


def fed_by(make: MakeSourcePipeline, feeds: list[Feed]) -> Pipeline:
    """A pipeline in which every source has a channel of its own."""
    selected = {feed.name: {"type": "replicating", "channels": [feed.name]} for feed in feeds}
    return make(
        {},
        sources={feed.name: {**feed.source(), "selector": selected[feed.name]} for feed in feeds},
        channels={feed.name: {"type": "direct"} for feed in feeds},
        sinks={
            feed.name: {"type": "file", "channel": feed.name, "path": str(feed.out), "format": "json"} for feed in feeds
        },
    )


@pytest.mark.parametrize(
    "kinds", [(Sequence, Tail), (Spool, Command, Posted)], ids=lambda kinds: " ".join(kind.name for kind in kinds)
)
def test_each_source_loses_and_doubles_nothing_although_driver_and_keeper_are_killed(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path, kinds: tuple[type[Feed], ...]
) -> None:
    feeds = [kind(tmp_path) for kind in kinds]
    pipeline = fed_by(make_source_pipeline, feeds)
    for feed in feeds:
        feed.begin()
    for which in ("driver", "keeper"):
        run = pipeline.start()
        for feed in feeds:
            feed.wait_flowing(run)
        _kill(run, which)
        for feed in feeds:
            feed.died()
        wait_for(lambda: not holders(run.token), "nothing to be left", 60)  # noqa: B023 - called at once

    run = pipeline.start()
    for feed in feeds:
        feed.wait_flowing(run)
        feed.end()
    run.wait_status(lambda s: all(query.lag == 0 for query in s.queries), "all of it", 240)
    for feed in feeds:
        wait_for(feed.arrived, f"everything of {feed.name}", 240)
    spools = [feed for feed in feeds if isinstance(feed, Spool)]
    for spool in spools:
        _takes_a_file_under_a_pause(run, spool)
    assert run.stop().exit_code == 0
    for spool in spools:
        _blocks_the_next_start_when_it_changes(pipeline, spool)
    pipeline.ingest()
    for feed in feeds:
        feed.check(pipeline)


def _kill(run: Run, which: str) -> None:
    """A driver is missed by its keeper, which ends the run; and the driver ends when its keeper is gone."""
    driver = run.pid("driver")
    run.kill(which)
    if which == "driver":
        run.wait_exit()
    else:
        wait_for(lambda: not alive(driver), "the driver to end without its keeper", 60)


def _takes_a_file_under_a_pause(run: Run, spool: Spool) -> None:
    run.obey(states.Command.PAUSE)
    spool.drop("b.txt", range(10, 20))
    run.wait_status(lambda s: any(q.source == spool.name and (q.lag or 0) > 0 for q in s.queries), "it to be taken")


def _blocks_the_next_start_when_it_changes(pipeline: Pipeline, spool: Spool) -> None:
    """A file that was taken and not delivered when the run was stopped, and is longer at the next start."""
    with (spool.directory / "b.txt").open("a") as file:
        file.write("one more\n")
    refused = pipeline.start_refused()
    refused.wait_exit()
    assert refused.status is not None
    assert [finding.code for finding in refused.status.findings] == ["FILE_CHANGED"]
