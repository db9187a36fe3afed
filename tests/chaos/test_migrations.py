"""A pipeline is changed in mid-stream: nothing is lost, nothing comes twice, and who cannot begin costs nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.devstack import topics
from pipelines.domain.ledger.journal import Resolved, read_entries
from pipelines.domain.runs.protocol import JOURNAL
from tests.chaos.extent import SEEDS, whole_only
from tests.chaos.installation import Installation
from tests.chaos.migrating import Trial, asked, intercepted, reported, stamped
from tests.chaos.stream import Stream, kill, streaming
from tests.figures import RecordProperty


def _driver(stream: Stream) -> int:
    driver = stream.identity.driver
    assert driver is not None
    return driver.pid


VICTIMS: dict[str, Callable[[Stream], int]] = {
    "jvm": lambda stream: stream.jvm(),
    "driver": _driver,
    "keeper": lambda stream: stream.identity.keeper.pid,
}
"""Of the agent on the new side."""


@pytest.fixture(scope="module")
def changing(installation: Installation) -> Iterator[Stream]:
    with streaming(installation, name="changing", rate=5000.0, batch=50_000) as flowing:
        yield flowing


def migrate(stream: Stream, definition: dict[str, Any], *, rollback_at: str | None = None) -> Trial:
    """Plan, approve and begin a migration, and wait for its end."""
    spec = {"definition": definition, "rules": {"window": 600 if rollback_at else 5}}
    trial = asked(stream.installation.api, stream.demo.name, "revision", spec).start()
    if rollback_at:
        trial.reaches(rollback_at).roll_back()
    trial.ends()
    return trial


@whole_only
def test_a_new_side_that_cannot_begin_leaves_the_old_one_alone(changing: Stream) -> None:
    before = changing.runs
    wrong = stamped(changing.demo, "1")
    wrong["sinks"]["clean"]["topic"] = "no-such-topic"
    made = migrate(changing, wrong).shown
    assert (made["stage"], [each["path"] for each in made["findings"]]) == ("ABORTED", ["sinks.clean"])
    assert [step["state"] for step in made["steps"][1:8]] == ["skipped"] * 7
    (active,) = [run for run in changing.runs if run["state"] == "LIVE"]
    assert active["number"] == before[0]["number"]
    changing.goes_on(changing.read)


def test_a_release_that_damages_records_takes_itself_back(installation: Installation) -> None:
    with streaming(installation, name="damaged") as stream:
        wrong = intercepted(stream.demo, type="morph_json", cast={"country": "integer"})
        # The first batch holds all that came while consumption was paused: no limit on rejects may end the run.
        wrong["errors"] = {"max_rate": 100_000}
        spec = {"definition": wrong, "rules": {"window": 3}}
        trial = asked(stream.installation.api, stream.demo.name, "revision", spec, "a wrong release").force()
        made, evidence = trial.ends(), trial.evidence
        assert (made["stage"], made["findings"][-1]["path"]) == ("ROLLED_BACK", "dead_letters")
        assert (evidence["gap"], evidence["overlap"], stream.pipeline["revision"]) == (0, 0, 1)
        trial.keep("revision-rolled-back-by-a-rule")
        stream.goes_on(stream.read)
        produced, sink = stream.finish()
        (channel,) = stream.ledger["channels"]
        assert channel["dead_lettered"] > 0
        assert (sink.missing, sink.foreign, sink.duplicates) == (channel["dead_lettered"], 0, 0)
        stream.balances(produced)


@whole_only
@pytest.mark.parametrize("seed", SEEDS)
def test_a_new_side_that_is_killed_in_a_batch_and_rolled_back_has_delivered_each_record_once(
    installation: Installation, seed: int, record_property: RecordProperty
) -> None:
    """The old side continues with the open batch of the new one, and leaves out what that has delivered of it."""
    dice = random.Random(f"rolled back {seed}")
    with streaming(installation, name=f"undone-{seed}", rate=10_000.0, batch=100_000) as stream:
        for whom, victim in VICTIMS.items():
            stream.flow()
            changed = stamped(stream.demo, f"{seed} {whom}")
            changed["delivery"]["trigger_interval_ms"] = 3000
            spec = {"definition": changed, "rules": {"window": 600, "crashes": 9, "lag_slack": 10_000_000}}
            trial = asked(installation.api, stream.demo.name, "revision", spec).start().reaches("VERIFYING")
            stream.goes_on(stream.read)
            assert stream.runs[0]["number"] == trial.shown["new_run"], trial.shown
            pid, before, deadline = victim(stream), delivered(stream), time.monotonic() + 60
            while delivered(stream) == before:
                assert time.monotonic() < deadline, "the new side delivers a batch"
            time.sleep(dice.uniform(0, 0.03))
            kill(pid)
            trial.roll_back()
            made = trial.ends()
            assert made["stage"] == "ROLLED_BACK", made
            stream.goes_on(stream.read)
            print(f"{whom}: {left_open(stream, trial)} records of an open batch were in the sink")
        produced, sink = stream.finish()
        ledger = stream.ledger
        for name, figure in (("missing", sink.missing), ("duplicates", sink.duplicates)):
            record_property(name, figure)
        record_property("announced", ledger["duplicates_max"])
        record_property("tries", len(VICTIMS))
        assert (sink.missing, sink.foreign, sink.duplicates, ledger["duplicates_max"]) == (0, 0, 0, 0)
        stream.balances(produced)


def delivered(stream: Stream) -> int:
    """Records in the sink's topic."""
    return sum(topics.end_offsets(stream.demo.servers, stream.demo.sink).values())


def left_open(stream: Stream, trial: Trial) -> int:
    """What the run that continued after a rollback found in the sink of the batch that the new side had begun."""
    new = trial.shown["new_run"]
    after = [Path(run["run_dir"]) / JOURNAL for run in stream.runs if run["number"] >= new]
    entries = [entry.payload() for path in after for entry in read_entries(path.read_bytes())[0]]
    return max((each.delivered_before for each in entries if isinstance(each, Resolved)), default=0)


@whole_only
def test_a_revision_is_changed_and_taken_back_under_load(changing: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    lines, owners = [], []
    for release, rollback_at, end in (("2", None, "COMMITTED"), ("3", "VERIFYING", "ROLLED_BACK")):
        trial = migrate(changing, stamped(changing.demo, release), rollback_at=rollback_at)
        made, evidence = trial.shown, trial.evidence
        assert made["stage"] == end, made
        assert (evidence["gap"], evidence["overlap"]) == (0, 0)
        changing.goes_on(changing.read)
        owners.append(made["new_revision"] if end == "COMMITTED" else made["old_revision"])
        assert changing.pipeline["revision"] == owners[0]
        lines.append(reported(evidence))
        trial.keep("revision-committed" if end == "COMMITTED" else "revision-rolled-back")
    assert owners[0] == owners[1]
    with capsys.disabled():
        print("", *lines, sep="\n")
    changing.delivered_once()
