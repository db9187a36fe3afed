"""Sinks that hang: a write is cancelled at its deadline, the next sink takes the batch, neighbours do not notice.

Rates are compared in the whole suite alone, where no other tests share the machine.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from pathlib import Path

import psutil

from controlplane.install.services.child import running
from controlplane.install.services.kafka import bootstrap_servers, kafka_service
from controlplane.install.services.ports import free_port
from pipelines.domain.ledger.journal import Done, SinkFailed
from tests.agent.harness import PATIENCE, Run, holders
from tests.agent.test_channels import numbers_in
from tests.agent.topics import Pacer, Topics
from tests.chaos import data_plane
from tests.chaos.data_plane import MakeDefined, frozen
from tests.chaos.extent import WHOLE, whole_only
from tests.counts import not_once
from tests.fakes.http_servers import Asked, Reply, serving
from tests.waiting import wait_for

RATE = 1000
DEADLINE = 25 if WHOLE else 15
FAILOVER = {"type": "failover", "priorities": {"first": 10, "second": 5}, "max_penalty_ms": 600_000}


def delivered(run: Run, channel: str) -> int:
    """Records of finished batches."""
    return sum(done.counts.delivered for done in run.of_kind(Done) if done.channel == channel)


def writers_to(run: Run, port: int) -> set[int]:
    """Processes of the run that are connected to a port."""
    found = set()
    for pid in holders(run.token):
        try:
            connections = psutil.Process(pid).net_connections("tcp")
        except psutil.NoSuchProcess:
            continue
        if any(each.raddr and each.raddr.port == port for each in connections):
            found.add(pid)
    return found


@whole_only
def test_a_hung_writer_is_killed_at_the_deadline_while_its_neighbour_keeps_its_rate(
    topics: Topics, make_defined: MakeDefined, tmp_path: Path
) -> None:
    hang, hangs, over = threading.Event(), threading.Event(), threading.Event()

    def reply(_: Asked) -> Reply:
        if hang.is_set():
            hangs.set()
            over.wait(300)
        return Reply()

    pacer = Pacer(topics, RATE)
    with serving(reply) as server:
        port = int(server.url.rpartition(":")[2])
        first = {"type": "http", "url": server.url, "write_deadline": f"{DEADLINE}s", "read_timeout": "5m"}
        pipeline = make_defined(
            topics.name,
            sources={"shop": topics.as_source()},
            channels={"lake": {"type": "direct"}, "audit": {"type": "direct"}},
            sinks={
                "first": {**first, "channel": "lake"},
                "second": {
                    "type": "file",
                    "path": str(tmp_path / "second"),
                    "channel": "lake",
                    "roll": {"interval": 0},
                },
                "audit": topics.as_sink() | {"channel": "audit"},
            },
            sink_groups={"both": {"sinks": ["first", "second"], "processor": FAILOVER}},
        )
        pacer.start()
        run = pipeline.start()
        wait_for(lambda: delivered(run, "lake") > RATE and delivered(run, "audit") > RATE, "both channels", PATIENCE)
        run.wait_status(lambda s: all((query.lag or 0) < RATE for query in s.queries), "the pace", PATIENCE)

        hang.set()
        assert hangs.wait(60)
        hung = writers_to(run, port)
        assert hung
        produced, before = topics.produced, delivered(run, "audit")
        for pid in hung:
            os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: delivered(run, "audit") > before + RATE, "the neighbour to go on", DEADLINE)
        assert run.of_kind(SinkFailed) == []
        failed = wait_for(lambda: run.of_kind(SinkFailed), "the deadline", DEADLINE + 60)
        if WHOLE:
            read, expected = delivered(run, "audit") - before, topics.produced - produced
            assert expected > RATE * DEADLINE / 2
            assert read > 0.9 * expected
        assert (failed[0].sink, failed[0].cause) == (
            "first",
            f"the write did not end within {DEADLINE} s and was canceled",
        )

        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in hung), "the hung writers to be gone")
        taken = wait_for(lambda: [d for d in run.of_kind(Done) if d.sink == "second"], "the second sink")[0]
        assert taken.batch == failed[0].batch
        assert taken.duplicates_max >= taken.counts.delivered > 0
        over.set()
        count = pacer.end()
        run.wait_read(topics.ends(topics.source))
        assert run.stop().exit_code == 0
        pipeline.ingest()
        first_has = Counter(int(item["body"][:10]) for asked in server.seen for item in data_plane.events(asked))
    lake = first_has + numbers_in(tmp_path / "second")
    assert set(lake) == set(range(count))
    assert lake.total() - len(lake) <= pipeline.possible_duplicates
    assert not not_once(topics.read().numbers, range(count))


_SILENT = "The Kafka broker did not answer in time"
"""A broker that is frozen before the write is found out when its ends are asked for: it was given nothing."""


def test_a_broker_that_hangs_is_given_up_at_the_deadline_and_what_it_got_was_announced(
    topics: Topics, make_defined: MakeDefined, tmp_path: Path
) -> None:
    port = free_port()
    with running(kafka_service(data_dir=tmp_path / "first", port=port), tmp_path / "first.log") as child:
        away = Topics(bootstrap_servers(port))
        pipeline = make_defined(
            topics.name,
            sources={"shop": topics.as_source()},
            channels={"lake": {"type": "direct"}},
            sinks={
                "first": away.as_sink() | {"write_deadline": "10s", "write_timeout": "90s"},
                "second": {
                    "type": "file",
                    "path": str(tmp_path / "second"),
                    "channel": "lake",
                    "roll": {"interval": 0},
                },
            },
            sink_groups={"both": {"sinks": ["first", "second"], "processor": FAILOVER}},
        )
        topics.produce(1000)
        run = pipeline.start()
        run.wait_delivered(1000)
        with frozen(child.process.pid):
            topics.produce(1000)
            run.wait_delivered(2000, 120)
        failed = run.of_kind(SinkFailed)
        given = {each.batch for each in failed if each.cause == "the write did not end within 10 s and was canceled"}
        assert {each.sink for each in failed} == {"first"}
        assert [each.cause for each in failed if each.batch not in given and _SILENT not in each.cause] == []
        late = [each for each in run.of_kind(Done) if each.batch in {one.batch for one in failed}]
        assert late
        assert {each.sink for each in late} == {"second"}
        bounds = [each.counts.delivered if each.batch in given else 0 for each in late]
        assert [each.duplicates_max for each in late] == bounds
        topics.produce(1000)
        run.wait_delivered(3000)
        assert run.stop().exit_code == 0
        pipeline.ingest()
        found = away.read().numbers + numbers_in(tmp_path / "second")
    assert set(found) == set(range(3000))
    assert found.total() - len(found) <= pipeline.possible_duplicates
