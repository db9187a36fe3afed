"""A pipeline is changed in mid-stream: nothing is lost, nothing comes twice, and who cannot begin costs nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chaos.installation import Installation, wait_for
from tests.chaos.stream import Stream, streaming

ENDED = {"COMMITTED", "ROLLED_BACK", "ABORTED", "NEEDS_ATTENTION"}
ENDED_WITHIN = 240.0


@pytest.fixture(scope="module")
def changing(installation: Installation) -> Iterator[Stream]:
    with streaming(installation, name="changing", rate=5000.0, batch=50_000) as flowing:
        yield flowing


def migrate(stream: Stream, definition: dict[str, Any], *, rollback_at: str | None = None) -> dict[str, Any]:
    """Plan, approve and begin a migration, and wait for its end."""
    api = stream.installation.api
    spec = {"definition": definition, "rules": {"window": 600 if rollback_at else 5}}
    made = api.post(
        "/migrations", {"pipeline": stream.demo.name, "kind": "revision", "spec": spec, "reason": "a trial"}
    )
    assert made["stage"] == "PLANNED", made["findings"]
    address, named = f"/migrations/{made['id']}", {"hash": made["plan_hash"]}
    api.post(f"{address}/approve", named)
    api.post(f"{address}/advance", named)
    if rollback_at:
        wait_for(lambda: api.get(address)["stage"] in {rollback_at, *ENDED}, ENDED_WITHIN, rollback_at)
        api.post(f"{address}/rollback", {"reason": "it was only a trial"})
    wait_for(lambda: api.get(address)["stage"] in ENDED, ENDED_WITHIN, f"the migration ends: {api.get(address)}")
    return api.get(address)


def stamped(stream: Stream, release: str) -> dict[str, Any]:
    """The definition with one more interceptor."""
    found = copy.deepcopy(stream.demo.definition())
    found["sources"]["orders"]["interceptors"].append({"type": "static", "key": "release", "value": release})
    return found


def test_a_new_side_that_cannot_begin_leaves_the_old_one_alone(changing: Stream) -> None:
    before = changing.runs
    wrong = stamped(changing, "1")
    wrong["sinks"]["clean"]["topic"] = "no-such-topic"
    made = migrate(changing, wrong)
    assert (made["stage"], [each["path"] for each in made["findings"]]) == ("ABORTED", ["sinks.clean"])
    assert [step["state"] for step in made["steps"][1:8]] == ["skipped"] * 7
    (active,) = [run for run in changing.runs if run["state"] == "LIVE"]
    assert active["number"] == before[0]["number"]
    changing.goes_on(changing.read)


def test_a_revision_is_changed_and_taken_back_under_load(changing: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    api = changing.installation.api
    told, owners = [], []
    for release, rollback_at, end in (("2", None, "COMMITTED"), ("3", "VERIFYING", "ROLLED_BACK")):
        made = migrate(changing, stamped(changing, release), rollback_at=rollback_at)
        assert made["stage"] == end, made
        evidence = api.get(f"/migrations/{made['id']}/evidence")["content"]
        assert (evidence["gap"], evidence["overlap"]) == (0, 0)
        changing.goes_on(changing.read)
        owners.append(made["new_revision"] if end == "COMMITTED" else made["old_revision"])
        assert changing.pipeline["revision"] == owners[0]
        seconds = {step["step"]: step["seconds"] for step in evidence["steps"]}
        told.append(f"{end}: pause as the data saw it {made['pause_seconds']} s, steps {seconds}")
    assert owners[0] == owners[1]
    with capsys.disabled():
        print("", *told, sep="\n")
    produced, sink = changing.finish()
    assert (sink.missing, sink.foreign, sink.duplicates) == (0, 0, 0)
    books = changing.books
    assert (books["read"], books["gaps"], books["overlaps"], books["balanced"]) == (produced, 0, 0, True)
