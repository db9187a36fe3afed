"""What is posted while a sink hangs: a required one fills the log, which says so; an optional one holds nobody."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from controlplane.install.services.ports import free_port
from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import Done
from tests.agent.harness import Run
from tests.agent.sources import bodies
from tests.chaos.data_plane import MakeDefined
from tests.chaos.extent import some
from tests.counts import is_balanced
from tests.fakes.http_servers import Asked, Reply, serving
from tests.waiting import wait_for


class Hanging:
    """What a server answers: nothing, while it hangs."""

    def __init__(self) -> None:
        self.going = threading.Event()
        self.going.set()
        self.got: set[str] = set()

    def reply(self, asked: Asked) -> Reply:
        """Wait, and take the events."""
        self.going.wait(300)
        self.got.update(item["body"] for item in json.loads(asked.body))
        return Reply()


def post(client: httpx.Client, port: int, start: int, count: int = 50) -> httpx.Response:
    """Send numbered events."""
    return client.post(f"http://127.0.0.1:{port}/", json=[{"body": str(n)} for n in range(start, start + count)])


def started(run: Run, client: httpx.Client, port: int) -> None:
    """Wait until the source listens and the first events are delivered everywhere."""

    def answered() -> bool:
        try:
            return post(client, port, 0).status_code == 200
        except httpx.HTTPError:
            return False

    wait_for(answered, "the source to listen", 180)
    run.wait_status(lambda s: bool(s.queries) and all(query.delivered >= 50 for query in s.queries), "both")


def test_a_required_sink_that_hangs_ends_in_503_which_names_it(make_defined: MakeDefined, tmp_path: Path) -> None:
    port, hanging = free_port(), Hanging()
    with serving(hanging.reply) as server, httpx.Client(timeout=30) as client:
        source = {
            "type": "http",
            "port": port,
            "ingest_buffer": "memory",
            "capacity": 500,
            "transaction_capacity": 50,
            "keep_alive": "200ms",
        }
        pipeline = make_defined(
            "ingest",
            sources={"web": source},
            channels={"lake": {"type": "direct"}},
            sinks={"collector": {"type": "http", "url": server.url, "channel": "lake", "read_timeout": "5m"}},
        )
        run = pipeline.start()
        started(run, client, port)
        hanging.going.clear()
        accepted: set[str] = {str(number) for number in range(50)}
        sent = 50

        def refused() -> str | None:
            nonlocal sent
            answer = post(client, port, sent)
            if answer.status_code == 200:
                accepted.update(str(number) for number in range(sent, sent + 50))
                sent += 50
                return None
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) >= 1
            return answer.text if "sinks.collector" in answer.text else None

        text = wait_for(refused, "a refusal that names the sink", 60)
        assert "a write has been running for" in text
        hanging.going.set()
        wait_for(lambda: accepted <= hanging.got, "everything that was accepted", 90)
        assert run.stop().exit_code == 0


@pytest.mark.parametrize("channel", some(["direct", "memory"], 2))
def test_an_optional_sink_that_hangs_does_not_hold_the_others(
    make_defined: MakeDefined, tmp_path: Path, channel: str
) -> None:
    port, hanging = free_port(), Hanging()
    with serving(hanging.reply) as server, httpx.Client(timeout=30) as client:
        source: dict[str, Any] = {
            "type": "http",
            "port": port,
            "ingest_buffer": "file",
            "capacity": 500,
            "transaction_capacity": 100,
            "selector": {"type": "replicating", "optional": ["audit"]},
        }
        pipeline = make_defined(
            "ingest",
            sources={"web": source},
            channels={"lake": {"type": channel}, "audit": {"type": channel}},
            sinks={
                "lake": {"type": "file", "channel": "lake", "path": str(tmp_path / "out"), "roll": {"interval": 0}},
                "collector": {"type": "http", "url": server.url, "channel": "audit", "read_timeout": "5m"},
            },
        )
        run = pipeline.start()
        started(run, client, port)
        hanging.going.clear()
        for start in range(50, 2050, 50):
            wait_for(lambda start=start: post(client, port, start).status_code == 200, "room in the log", 60)  # type: ignore[misc]
        wait_for(lambda: bodies(tmp_path / "out").keys() == {str(n) for n in range(2050)}, "the required channel", 60)
        assert len(hanging.got) < 2050
        seq = run.order(Command.STOP, kill_in=60)
        run.wait_status(lambda s: s.command_seq == seq, "the stop, before another batch begins")
        hanging.going.set()
        assert run.wait_exit().exit_code == 0
    assert all(is_balanced(done.counts) for done in run.of_kind(Done))
    assert any(done.counts.dropped_optional for done in run.of_kind(Done)) is (channel == "memory")
    assert sum(done.counts.read for done in run.of_kind(Done) if done.channel == "lake") >= 2050
