"""A position that asks for a decision, from REST and command line: seen to the record, decided, and gone on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.cli.base.errors import ExitCode
from controlplane.devstack import topics
from controlplane.devstack.ledger import read_back
from tests import command_line
from tests.chaos.extent import whole_only
from tests.chaos.installation import Installation, wait_for
from tests.chaos.stream import GONE_ON, Stream, streaming

FORWARD = 100
LONG = 300.0
"""Seconds that a start may take on a machine with other things to do."""


def headgate(installation: Installation, *arguments: str) -> tuple[int, str]:
    """The command line of the installation."""
    return command_line.headgate(installation.url, installation.token, *arguments)


def move_forward(log: Path) -> None:
    """The newest finished batch of a checkpoint ends a hundred records further on."""
    newest = max((log / "commits").iterdir(), key=lambda path: int(path.name) if path.name.isdigit() else -1)
    plan = log / "offsets" / newest.name
    *head, text = plan.read_text().splitlines()
    ends: dict[str, dict[str, int]] = json.loads(text)
    next(iter(ends.values()))["0"] += FORWARD
    plan.write_text("\n".join([*head, json.dumps(ends)]))


def test_a_gap_is_shown_in_the_status_and_a_reviewed_decision_leads_on(stream: Stream) -> None:
    installation, name = stream.installation, stream.demo.name
    stream.act("stop", drain=True)
    read, lineage = stream.read, stream.runs[0]["lineage"]
    (log,) = (installation.state / "checkpoints" / name / str(lineage)).iterdir()
    move_forward(log)

    with pytest.raises(RuntimeError, match=f"GAP {FORWARD}"):
        stream.act("start")
    status = installation.api.get(f"/pipelines/{name}/status")
    assert status["phase"] == "BLOCKED"
    assert f"GAP {FORWARD}" in status["findings"][0]["message"]
    assert {each["to"]: (each["skip"], each["replay"]) for each in status["choices"]}["checkpoint"] == (FORWARD, 0)
    assert f"GAP {FORWARD}" in headgate(installation, "status", name)[1]
    shown = json.loads(headgate(installation, "positions", "show", name, "-o", "json")[1])
    assert shown["fresh"]
    apart = [row for row in shown["partitions"] if row["checkpoint"] != row["ledger"]]
    assert [(row["checkpoint"] - row["ledger"], row["verdict"]) for row in apart] == [(FORWARD, "CHECKPOINT_DISAGREES")]

    planned = plan(installation, name, "ledger")
    assert (planned["skip"], planned["replay"]) == (0, 0)
    other = plan(installation, name, "timestamp=-1d")
    assert other["replay"] == sum(row["ledger"] for row in shown["partitions"])
    assert headgate(installation, "positions", "apply", name, planned["hash"])[0] == ExitCode.OK
    code, words = headgate(installation, "positions", "apply", name, other["hash"])
    assert (code, "plan_stale" in words or "has changed since this plan was made" in words) == (ExitCode.REFUSED, True)

    installation.api.act(name, "start", timeout=LONG)
    wait_for(lambda: stream.read > read + GONE_ON, LONG, f"reading goes on after {read}")
    assert stream.runs[0]["lineage"] == stream.runs[0]["number"]
    assert stream.ledger["gaps"] == stream.ledger["overlaps"] == 0
    actions = [row["action"] for row in installation.api.get("/audit")["results"]]
    assert actions.count("positions.apply") == 1
    wait_for(lambda: stream.pipeline["phase"] == "RUNNING", LONG, "it runs")


@whole_only
def test_a_decision_to_go_back_reads_all_again_with_the_next_start(installation: Installation) -> None:
    """The group and the sink still tell of what was read before; that was known when it was decided."""
    with streaming(installation, "again") as stream:
        name = stream.demo.name
        stream.producer.stop()
        produced = stream.produced
        wait_for(lambda: stream.read == produced, LONG, "the last record is read")
        stream.act("stop", drain=True)
        planned = plan(installation, name, "earliest")
        assert (planned["skip"], planned["replay"]) == (0, produced)
        assert headgate(installation, "positions", "apply", name, planned["hash"])[0] == ExitCode.OK

        installation.api.act(name, "start", timeout=LONG)
        wait_for(lambda: stream.read == 2 * produced, LONG, "all was read again")
        stream.act("stop", drain=True)
        ledger = stream.ledger
        assert (ledger["gaps"], ledger["overlaps"], ledger["balanced"]) == (0, 0, True)
        sink = read_back(topics.read_all(stream.demo.servers, stream.demo.sink), produced)
        assert (sink.missing, sink.foreign, sink.duplicates) == (0, 0, sink.records // 2)


def plan(installation: Installation, name: str, to: str) -> Any:
    code, said = headgate(installation, "positions", "plan", name, "--to", to, "-o", "json")
    assert code == ExitCode.OK, said
    return json.loads(said)
