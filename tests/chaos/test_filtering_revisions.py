"""A revision that filters every record: the plan, the acknowledgement and the verification each stop it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.devstack.client import Refused
from tests.chaos.installation import Installation
from tests.chaos.migrating import Trial, asked, intercepted
from tests.chaos.stream import Stream, streaming
from tests.figures import RecordProperty


@pytest.fixture(scope="module")
def filtered(installation: Installation) -> Iterator[Stream]:
    with streaming(installation, name="filtered") as stream:
        yield stream


def planned(stream: Stream) -> Trial:
    """A revision that differs in one filter, which takes every record; all would be committed automatically."""
    everything = intercepted(stream.demo, type="regex_filter", regex=".", exclude_events=True)
    spec = {"definition": everything, "rules": {"then": "commit"}}
    return asked(stream.installation.api, stream.demo.name, "revision", spec, "a better filter")


def cancel(trial: Trial) -> None:
    trial.api.post(f"{trial.address}/abort", {"reason": ""})


def test_the_plan_predicts_that_nothing_is_delivered(filtered: Stream) -> None:
    trial = planned(filtered)
    plan = trial.shown["plan"]
    (prediction,) = plan["predictions"]
    before, after = prediction["before"], prediction["after"]
    assert (prediction["reason"], prediction["source"], plan["skip"]) == ("", "orders", 0)
    assert prediction["records"] >= before["delivered"] >= 1000
    assert (after["delivered"], after["channels"], after["size"]) == (0, {"clean": 0}, 0)
    assert sum(after["filtered"].values()) == after["events"] - after["dead_letters"]
    assert plan["to_acknowledge"] == before["delivered"]
    cancel(trial)


def test_it_does_not_start_before_the_number_is_acknowledged(filtered: Stream) -> None:
    trial = planned(filtered).approve()
    for number in ({}, {"acknowledge": 1}):
        with pytest.raises(Refused, match="not be delivered any more"):
            trial.advance(**number)
    assert (trial.stage, filtered.pipeline["revision"]) == ("APPROVED", 1)
    cancel(trial)
    filtered.goes_on(filtered.read)


def test_forced_through_it_is_rolled_back_by_its_outcome_and_no_record_is_lost(
    filtered: Stream, record_property: RecordProperty
) -> None:
    trial = planned(filtered).force()
    made = trial.ends()
    assert (made["stage"], filtered.pipeline["revision"]) == ("ROLLED_BACK", 1), made
    assert "delivering" in {each["path"] for each in made["findings"]}
    evidence = trial.evidence
    (observed,) = [step for step in evidence["steps"] if step["step"] == "observe"]
    assert observed["seconds"] <= evidence["plan"]["rules"]["window"] + 5
    assert evidence["acknowledged"]["number"] == evidence["plan"]["to_acknowledge"]
    (share,) = [row for row in evidence["outcome"] if row["figure"] == "delivered_share"]
    assert (share["predicted"], share["found"]) == (0, 0)
    assert share["present"] > 0.5
    reread = evidence["snapshot"]["reread"]
    assert reread > 0
    filtered.goes_on(filtered.read)
    produced, sink = filtered.finish(reread)
    ledger: dict[str, Any] = filtered.ledger
    record_property("missing", sink.missing)
    record_property("duplicates", sink.duplicates)
    record_property("announced", ledger["duplicates_max"])
    record_property("tries", 1)
    assert (sink.missing, sink.foreign, sink.duplicates) == (0, 0, 0)
    assert (ledger["read"], ledger["gaps"], ledger["overlaps"], ledger["balanced"]) == (produced + reread, 0, 0, True)
