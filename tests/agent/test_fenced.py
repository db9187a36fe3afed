"""An agent whose supervisor is silent: it stops itself at the gate when its lease ends."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain.base.states import Command
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control, Exit
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Topics
from tests.counts import not_once
from tests.waiting import wait_for

LEASE = 3.0


def renew(run_dir: Path, **fields: float) -> None:
    """What a supervisor writes with every tick."""
    now = protocol.boottime()
    order = Control(seq=1, command=Command.RUN, boot_id=protocol.boot_id(), issued_at=now, owner=2)
    ends = {"lease_until": now + LEASE, "fence_at": now + LEASE + 300.0} | fields
    order.model_copy(update=ends).store(run_dir / protocol.CONTROL)


def test_an_agent_goes_on_while_its_lease_is_renewed_and_stops_between_two_batches_when_it_ends(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    count = 30_000
    topics.produce(count, size=100)
    pipeline = make_pipeline(max_events_per_batch=500)
    run = pipeline.prepare()
    renew(run.dir)
    run.start()

    def delivered() -> bool:
        renew(run.dir)
        assert run.exit is None, run.log[-3000:]
        return run.status is not None and sum(query.delivered for query in run.status.queries) >= 2_000

    wait_for(delivered, "records under a lease", 180)
    record = run.wait_exit(60)
    assert (record.exit_code, record.killed_by) == (Exit.FENCED, None)
    assert run.entries()[-1].data["reason"] == "the supervisor's lease has ended"
    pipeline.ingest()
    done = sum(batch.counts.delivered for batch in pipeline.ledger["shop", "lake"].done)
    assert 2_000 <= done < count, "it ended between two batches, with records left"
    assert topics.numbers().total() == done

    pipeline.definition["delivery"]["max_events_per_batch"] = 20_000
    following = pipeline.start()
    following.wait_read(topics.ends(topics.source), 180)
    following.stop()
    pipeline.ingest()
    found = topics.numbers()
    assert not_once(found, range(count)) == {}
    assert pipeline.possible_duplicates == 0
