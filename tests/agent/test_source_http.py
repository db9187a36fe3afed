"""Events that are posted: every one that was answered with 200 arrives."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from controlplane.install.services.ports import free_port, is_free
from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import Done, SinkFailed
from pipelines.domain.runs.protocol import IngestBufferStatus
from tests.agent.sources import MakeSourcePipeline, bodies, delivered, make_source_pipeline
from tests.counts import is_balanced
from tests.waiting import wait_for

__all__ = ["make_source_pipeline"]


class Sender(threading.Thread):
    """Posts up to a thousand numbered events a second in small requests until told to end, and keeps the numbers that
    were answered with 200."""

    def __init__(self, url: str, token: str | None = None) -> None:
        super().__init__(daemon=True)
        self.accepted: set[str] = set()
        self.refused: list[tuple[int, str]] = []
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._done = threading.Event()

    def run(self) -> None:
        number = 0
        with httpx.Client(timeout=20, headers=self._headers) as client:
            while not self._done.wait(0.025):
                numbers = [str(n) for n in range(number, number + 25)]
                number += 25
                events = [{"headers": {"n": n}, "body": n} for n in numbers]
                try:
                    answer = client.post(self._url, json=events)
                except httpx.HTTPError:
                    continue
                if answer.status_code == 200:
                    self.accepted.update(numbers)
                else:
                    self.refused.append((answer.status_code, answer.text))

    def end(self) -> set[str]:
        """The numbers that were accepted."""
        self._done.set()
        self.join(30)
        return self.accepted


def test_every_accepted_event_arrives_although_the_agent_is_killed(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    port = free_port()
    source = {"type": "http", "port": port, "path": "/events", "ingest_buffer": "file"}
    pipeline = make_source_pipeline(source)
    run = pipeline.start()
    sender = Sender(f"http://127.0.0.1:{port}/events")
    sender.start()
    run.wait_delivered(2000)
    run.kill("driver")
    run.wait_exit()
    before = len(sender.accepted)
    run = pipeline.start()
    wait_for(lambda: len(sender.accepted) > before + 2000, "events after the kill", 180)
    run.wait_delivered(500)
    accepted = sender.end()
    out = tmp_path / "out"
    wait_for(lambda: accepted <= bodies(out).keys(), "every accepted event", 180)
    assert run.stop().exit_code == 0
    assert max(bodies(out).values()) == 1
    sample: dict[str, Any] = delivered(out)[0]
    assert sample["headers"]["n"] == sample["body"]
    assert json.loads(json.dumps(sample))


def test_a_full_log_behind_a_sink_that_fails_is_answered_with_503_and_names_the_sink(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    port = free_port()
    source = {
        "type": "http",
        "port": port,
        "ingest_buffer": "file",
        "capacity": 200,
        "transaction_capacity": 50,
        "keep_alive": "200ms",
    }
    (tmp_path / "out").mkdir()
    pipeline = make_source_pipeline(source)
    run = pipeline.start()
    sender = Sender(f"http://127.0.0.1:{port}/")
    sender.start()
    run.wait_delivered(50, 180)
    blocked = tmp_path / "out"
    blocked.rename(tmp_path / "away")
    blocked.write_text("no directory any more")
    wait_for(lambda: [text for code, text in sender.refused if code == 503 and "sinks.lake" in text], "a 503", 120)

    def counted(ingest_buffer: IngestBufferStatus) -> bool:
        """Answers are counted a moment after they are given."""
        given = ingest_buffer.answers
        return bool(given.get("503")) and 200 <= ingest_buffer.taken <= given.get("200", 0) * 25

    status = run.wait_status(
        lambda s: (
            bool(s.ingest_buffers) and counted(s.ingest_buffers[0]) and "sinks.lake" in s.ingest_buffers[0].held_up_by
        ),
        "the counts",
    )
    (ingest_buffer,) = status.ingest_buffers
    assert (ingest_buffer.source, ingest_buffer.capacity, ingest_buffer.failure) == ("src", 200, "")

    run.order(Command.DRAIN_AND_STOP)
    wait_for(lambda: is_free(port), "the port to be closed while the batch is still held")
    assert run.exit is None
    accepted = sender.end()
    blocked.unlink()
    (tmp_path / "away").rename(blocked)
    assert run.wait_exit(120).exit_code == 0
    run = pipeline.start()
    wait_for(lambda: accepted <= bodies(blocked).keys(), "every accepted event", 180)
    assert run.stop().exit_code == 0


def test_an_optional_channel_whose_sink_fails_is_overrun_counted_and_holds_nobody(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    port = free_port()
    source = {
        "type": "http",
        "port": port,
        "ingest_buffer": "file",
        "byte_capacity": "64MiB",
        "keep_alive": "200ms",
        "selector": {"type": "replicating", "channels": ["lake", "audit"], "optional": ["audit"]},
    }
    audit, away = tmp_path / "audit", tmp_path / "away"
    pipeline = make_source_pipeline(
        source,
        channels={"lake": {"type": "direct"}, "audit": {"type": "direct"}},
        sinks={
            "lake": {"type": "null", "channel": "lake"},
            "audit": {"type": "file", "channel": "audit", "path": str(audit), "roll": {"interval": 0}},
        },
    )
    run = pipeline.start()

    def of(channel: str) -> Any:
        return next(q for q in run.status.queries if q.channel == channel) if run.status else None

    def post(first: int, count: int) -> None:
        events = [{"body": f"{n:<10000}"} for n in range(first, first + count)]
        url = f"http://127.0.0.1:{port}/"
        wait_for(lambda: httpx.post(url, json=events, timeout=30).status_code == 200, "the log to take them", 60)

    run.wait_status(lambda s: s.phase == "RUNNING", "running", 90)
    wait_for(lambda: not is_free(port), "the port to answer", 60)
    post(0, 10)
    wait_for(lambda: of("audit").delivered == 10, "the first events", 60)
    audit.rename(away)
    audit.write_text("no directory any more")
    for number in range(20):
        post(10 + number * 500, 500)
    wait_for(lambda: of("lake").delivered == 10_010, "the required channel to go on")
    wait_for(lambda: [each for each in run.of_kind(SinkFailed) if each.sink == "audit"], "the optional sink to fail")
    audit.unlink()
    away.rename(audit)
    wait_for(lambda: of("audit").lag == 0, "the optional channel to catch up")
    assert run.stop().exit_code == 0
    done = [entry.counts for entry in run.of_kind(Done) if entry.channel == "audit"]
    assert all(is_balanced(count) for count in done)
    assert sum(count.read for count in done) == 10_010
    assert sum(count.dropped_optional for count in done) + len(delivered(audit)) == 10_010


@pytest.mark.parametrize("channel", ["direct", "memory"])
def test_a_channel_that_is_sometimes_optional_drops_what_may_be_lost_and_waits_for_what_must_arrive(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path, channel: str
) -> None:
    port = free_port()
    selector = {
        "type": "multiplexing",
        "header": "kind",
        "mapping": {"must": ["lake", "audit"]},
        "default": ["lake"],
        "optional": {"may": ["audit"]},
    }
    audit, away = tmp_path / "audit", tmp_path / "away"
    pipeline = make_source_pipeline(
        {"type": "http", "port": port, "ingest_buffer": "file", "selector": selector},
        channels={"lake": {"type": channel}, "audit": {"type": channel}},
        sinks={
            "lake": {"type": "null", "channel": "lake"},
            "audit": {"type": "file", "channel": "audit", "path": str(audit), "roll": {"interval": 0}},
        },
    )
    run = pipeline.start()

    def of(name: str) -> Any:
        return next(q for q in run.status.queries if q.channel == name) if run.status else None

    def dropped() -> int:
        return sum(entry.counts.dropped_optional for entry in run.of_kind(Done) if entry.channel == "audit")

    def post(kind: str, *bodies: str) -> None:
        events = [{"headers": {"kind": kind}, "body": body} for body in bodies]
        wait_for(lambda: httpx.post(f"http://127.0.0.1:{port}/", json=events, timeout=30).status_code == 200, "200", 60)

    run.wait_status(lambda s: s.phase == "RUNNING", "running", 90)
    wait_for(lambda: not is_free(port), "the port to answer", 60)
    post("may", "first")
    wait_for(lambda: of("audit").delivered == 1, "the first event", 60)
    audit.rename(away)
    audit.write_text("no directory any more")
    post("may", "lost", "lost, too")
    post("other", "of the lake alone")
    wait_for(lambda: dropped() == 2, "what may be lost to be dropped", 120)
    wait_for(lambda: of("audit").lag == 0, "the channel to go on", 60)
    post("must", "needed")
    wait_for(lambda: of("audit").holding, "what must arrive to be held", 60)
    post("may", "behind it")
    audit.unlink()
    away.rename(audit)
    wait_for(lambda: of("audit").lag == 0 and not of("audit").holding, "everything to arrive", 120)
    assert run.stop().exit_code == 0
    assert bodies(audit).keys() >= {"first", "needed"}
    assert bodies(audit).keys() <= {"first", "needed", "behind it"}
    done = [entry.counts for entry in run.of_kind(Done) if entry.channel == "audit"]
    assert all(is_balanced(count) for count in done)
    assert sum(count.delivered + count.dropped_optional for count in done) == 5
