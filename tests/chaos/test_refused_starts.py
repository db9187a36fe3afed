"""What ledger and checkpoint disagree about is for a person to decide: nothing is read until then."""

from __future__ import annotations

import shutil

import pytest

from tests.chaos.stream import MOVING_WITHIN, Stream

NEW = 1000


def test_a_lost_checkpoint_is_refused_and_taken_again_when_it_is_back(stream: Stream) -> None:
    stream.act("stop", drain=True)
    read, runs = stream.read, len(stream.runs)
    checkpoints = stream.installation.state / "checkpoints" / stream.demo.name
    shutil.move(checkpoints, checkpoints.with_suffix(".away"))

    with pytest.raises(RuntimeError, match="checkpoint"):
        stream.act("start")

    pipeline = stream.pipeline
    status = stream.installation.api.get(f"/pipelines/{stream.demo.name}/status")
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert (pipeline["phase"], pipeline["desired_state"]) == ("BLOCKED", "RUNNING")
    assert {finding["code"] for finding in status["findings"]} == {"CHECKPOINT_LOST"}
    assert conditions["PositionsSafe"] == "False"
    assert (stream.read, len(stream.runs), stream.runs[0]["outcome"]) == (read, runs + 1, "BLOCKED")

    shutil.rmtree(checkpoints, ignore_errors=True)
    shutil.move(checkpoints.with_suffix(".away"), checkpoints)
    stream.act("start")
    stream.feed(NEW)
    stream.delivered_once()
    assert stream.read >= read + NEW


def test_a_definition_with_an_unresolved_reference_starts_nothing(stream: Stream) -> None:
    api, name = stream.installation.api, "secretive"
    definition = stream.demo.definition() | {"name": name}
    source = definition["sources"]["orders"]
    source |= {"group_id": name, "options": {"security.protocol": "SASL_SSL", "sasl.password": "${secret:broker}"}}
    api.post("/pipelines", {"definition": definition})
    with pytest.raises(RuntimeError, match="secret"):
        api.act(name, "start", timeout=MOVING_WITHIN)
    assert api.get(f"/pipelines/{name}")["phase"] == "BLOCKED"
    assert api.get(f"/pipelines/{name}/runs")["results"] == []
    # Who looks at this installation next finds nothing that requires action.
    api.act(name, "stop", timeout=MOVING_WITHIN)
