"""A pass of the janitor over a real directory and the real tables."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from pathlib import Path

import pytest

from pipelines.models import Event, Pipeline, Run
from pipelines.services.base.audit import Actor
from pipelines.services.ledger import archive
from tests.factories import LedgerBatchFactory, PipelineFactory, RunFactory, now
from workers.adapters.host_storage import LocalHostStorage
from workers.simulated.host import SimulatedHost
from workers.supervisor.background.janitor import Janitor
from workers.supervisor.background.pruning import Limits

pytestmark = pytest.mark.django_db


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def janitor(state: Path) -> Janitor:
    host = SimulatedHost(wall=now())
    limits = Limits(runs=timedelta(days=30), run_bytes=10**9, checkpoints=timedelta(days=7))
    host_storage = LocalHostStorage(state, state.parent / "shm")
    return Janitor("alpha", host_storage, limits, host)


def ended(pipeline: Pipeline, number: int, days: float, state: Path, lineage: int = 1) -> Run:
    """A run that is over, with files."""
    run_dir, checkpoint = state / "runs" / pipeline.name / str(number), state / "checkpoints" / pipeline.name
    for directory in (run_dir / "stacks", run_dir / "tmp", checkpoint / str(lineage) / "shop.main"):
        directory.mkdir(parents=True, exist_ok=True)
    (run_dir / "journal.jsonl").write_bytes(b"x" * 10)
    (run_dir / "agent.log").write_text("log")
    return RunFactory.create(
        pipeline=pipeline,
        number=number,
        lineage=lineage,
        state="ENDED",
        ended_at=now() - timedelta(days=days),
        journal_offset=10,
        run_dir=str(run_dir),
    )


def left(state: Path, kind: str, pipeline: Pipeline) -> set[str]:
    return {path.name for path in (state / kind / pipeline.name).glob("*")}


def test_a_pass_removes_what_is_over_and_old_and_tells_of_it_once(state: Path) -> None:
    pipeline = PipelineFactory.create()
    ended(pipeline, 1, 90, state, lineage=1)
    ended(pipeline, 2, 80, state, lineage=2)
    ended(pipeline, 3, 40, state, lineage=2)
    assert janitor(state).prune() == 4
    assert left(state, "runs", pipeline) == {"3"}
    assert left(state, "checkpoints", pipeline) == {"2"}
    assert not (state / "runs" / pipeline.name / "3" / "tmp").exists()
    assert Event.objects.get(kind="host.pruned").data["paths"] == 4
    assert janitor(state).prune() == 0
    assert Event.objects.filter(kind="host.pruned").count() == 1


def test_a_lineage_with_an_open_batch_keeps_its_checkpoint(state: Path) -> None:
    pipeline = PipelineFactory.create()
    first = ended(pipeline, 1, 90, state, lineage=1)
    ended(pipeline, 2, 80, state, lineage=2)
    open_batch = LedgerBatchFactory.create(run=first, state="planned")
    janitor(state).prune()
    assert left(state, "checkpoints", pipeline) == {"1", "2"}
    open_batch.delete()
    janitor(state).prune()
    assert left(state, "checkpoints", pipeline) == {"2"}


def test_everything_of_a_purged_pipeline_goes_and_nothing_of_another_of_its_name(state: Path) -> None:
    pipeline = PipelineFactory.create(name="orders")
    ended(pipeline, 1, 0, state)
    data = state / "data" / "orders" / str(pipeline.id)
    shared = state.parent / "shm" / f"headgate-{os.getuid()}" / hashlib.sha256(str(data).encode()).hexdigest()[:16]
    for directory in (data / "ingest_buffer", shared):
        directory.mkdir(parents=True)
    pipeline.archived_at = now()
    pipeline.save()
    archive.purge(pipeline=pipeline, confirm="orders", actor=Actor("ana"))
    successor = PipelineFactory.create(name="orders")
    ended(successor, 2, 0, state, lineage=2)
    theirs = state / "data" / "orders" / str(successor.id)
    theirs.mkdir(parents=True)
    janitor(state).prune()
    assert not data.exists()
    assert not shared.exists()
    assert left(state, "runs", successor) == {"2"}
    assert left(state, "checkpoints", successor) == {"2"}
    assert theirs.exists()


def test_a_symbolic_link_is_neither_followed_nor_a_way_out(state: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "1"
    outside.mkdir(parents=True)
    pipeline = PipelineFactory.create()
    ended(pipeline, 1, 90, state)
    ended(pipeline, 2, 80, state)
    (state / "runs" / "stranger").symlink_to(outside.parent)
    (state / "runs" / pipeline.name / "1" / "link").symlink_to(outside)
    (outside / "file").write_text("theirs")
    janitor(state).prune()
    assert left(state, "runs", pipeline) == {"2"}, "the directory with the link is gone"
    assert (outside / "file").read_text() == "theirs"
    with pytest.raises(ValueError, match="not Headgate"):
        LocalHostStorage(state).remove(outside)
    with pytest.raises(ValueError, match="not Headgate"):
        LocalHostStorage(state).remove(state / "runs")
