"""What the guard offers for each finding, to the record, against a real broker; no Spark is needed to look.

400 records were read of four partitions; then something happens to the log, the group or the ledger.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from pipelines.domain.base.positions import PartitionPosition, PartitionRange, TopicPartition
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.journal import Done
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.positions.choices import choices
from pipelines.domain.positions.plan import Goal, InspectionRequest, InspectionResult
from pipelines.domain.runs.protocol import LAUNCH, Launch
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Ledger, Pipeline
from tests.agent.topics import Topics
from workers.agent.graph import compile as compiler
from workers.agent.startup import survey

READ = 100
"""Records of each partition that were read."""
HOUR = 3600.0


@dataclass
class Stage:
    """A pipeline that has moved 400 records in one batch, as ledger, checkpoint and group tell."""

    topics: Topics
    pipeline: Pipeline

    def __post_init__(self) -> None:
        self.topics.produce(4 * READ)
        self.ledger.positions = {TopicPartition(self.topics.source, number): READ for number in range(4)}
        ranges = [PartitionRange(topic=self.topics.source, partition=n, start=0, end=READ) for n in range(4)]
        counts = Counts(read=4 * READ, delivered=4 * READ)
        self.ledger.done = [Done(source="shop", channel="lake", batch=0, ranges=ranges, counts=counts, sink="lake")]
        self.finish_batch(dict.fromkeys(range(4), READ))
        self.commit(READ, ours=True)
        answer = self.inspection()
        assert (answer.findings, answer.survey is not None) == ([], True)
        assert answer.survey is not None
        self.pipeline.identities = {each.source: each for each in answer.survey.identities}

    @property
    def ledger(self) -> Ledger:
        return self.pipeline.ledger["shop", "lake"]

    def finish_batch(self, ends: Mapping[int, int]) -> None:
        """Write the checkpoint's entries of batch 0 as Spark does."""
        texts = {
            "sources/0/0": ("0v1", {"0": 0, "1": 0, "2": 0, "3": 0}),
            "offsets/0": ('v1\n{"batchTimestampMs":1}', ends),
        }
        log = self.pipeline.checkpoint("shop", "lake")
        for file, (head, offsets) in texts.items():
            (log / file).parent.mkdir(parents=True, exist_ok=True)
            (log / file).write_text(f"{head}\n{json.dumps({self.topics.source: offsets})}")
        (log / "commits").mkdir(exist_ok=True)
        (log / "commits/0").write_text("v1\n{}")

    def commit(self, offset: int, *, ours: bool) -> None:
        """Commit to the group, as this pipeline's mirror or as somebody else."""
        self.topics.commit_everywhere(offset, "headgate 1" if ours else "")

    def inspection(self, *, live: bool = False) -> InspectionResult:
        """What the guard sees before a start; `live`: while a run goes on."""
        launch = Launch.load(self.pipeline.prepare().dir / LAUNCH)
        assert launch is not None
        definition = Definition.model_validate(launch.definition)
        return survey.answer(launch, definition, InspectionRequest(launch=launch.model_dump(mode="json"), live=live))


@pytest.fixture
def stage(topics: Topics, make_pipeline: MakePipeline) -> Stage:
    return Stage(topics, make_pipeline())


def made_again(stage: Stage) -> None:
    """With fewer records than were read."""
    stage.topics.make_again(stage.topics.source)
    stage.topics.produce(4 * 20)


def ledger_lost(stage: Stage) -> None:
    """While the group is ahead of the checkpoint."""
    stage.topics.produce(4 * READ)
    stage.ledger.positions, stage.ledger.done = {}, []
    stage.commit(130, ours=True)


def group_ahead(stage: Stage) -> None:
    """Somebody else has committed to it."""
    stage.topics.produce(4 * READ)
    stage.commit(130, ours=False)


def beyond_the_end(stage: Stage) -> None:
    """Of one partition, in the ledger and the checkpoint alike."""
    stage.ledger.positions[TopicPartition(stage.topics.source, 0)] = 160
    stage.finish_batch({0: 160, 1: READ, 2: READ, 3: READ})


def below_the_start(stage: Stage) -> None:
    """Retention has passed one position, and comes near another one."""
    stage.topics.produce(4 * READ)
    stage.topics.trim(partition=2, before=130)
    stage.topics.trim(partition=3, before=READ)


@pytest.mark.parametrize(
    ("happens", "code", "words", "offered"),
    [
        (
            made_again,
            "TOPIC_RECREATED",
            "holds 80 records, none of which was read",
            {Goal.EARLIEST: (0, 0), Goal.LATEST: (80, 0)},
        ),
        (
            ledger_lost,
            "LEDGER_LOST",
            "the ledger has no position",
            {Goal.CHECKPOINT: (0, 120), Goal.GROUP: (120, 0), Goal.EARLIEST: (0, 520), Goal.LATEST: (400, 0)},
        ),
        (
            group_ahead,
            "LEDGER_BEHIND",
            "130 was committed to the group by another client; the ledger continues at 100, 30 records before",
            {
                Goal.LEDGER: (0, 120),
                Goal.CHECKPOINT: (0, 120),
                Goal.GROUP: (120, 0),
                Goal.EARLIEST: (0, 520),
                Goal.LATEST: (400, 0),
            },
        ),
        (
            beyond_the_end,
            "BEYOND_LOG_END",
            "160 is beyond the log's end 100 by 60 records",
            {
                Goal.LEDGER: (0, 0),
                Goal.CHECKPOINT: (0, 0),
                Goal.GROUP: (0, 0),
                Goal.EARLIEST: (0, 400),
                Goal.LATEST: (0, 0),
            },
        ),
        (
            below_the_start,
            "BELOW_LOG_START",
            "30 records can no longer be read",
            {Goal.LEDGER: (30, 0), Goal.CHECKPOINT: (30, 0), Goal.EARLIEST: (30, 200), Goal.LATEST: (400, 0)},
        ),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_each_choice_says_what_it_skips_and_replays_and_is_agreed_with_once_it_is_made(
    stage: Stage, happens: Callable[[Stage], None], code: str, words: str, offered: dict[Goal, tuple[int, int]]
) -> None:
    happens(stage)
    answer = stage.inspection()
    assert answer.survey is not None
    assert {finding["code"] for finding in answer.findings} == {code}
    assert any(words in finding["message"] for finding in answer.findings), answer.findings
    made = choices(answer.survey)
    assert {goal: (plan.skip, plan.replay) for goal, plan in made.items()} == offered

    for plan in made.values():
        stage.pipeline.decide(answer.survey, plan)
        agreed = stage.inspection()
        assert agreed.findings == []
        assert agreed.survey is not None
        assert {row.key: row.ledger for row in agreed.survey.rows} == stage.ledger.positions


def test_commits_that_are_ahead_of_the_ledger_are_no_finding_while_a_run_goes_on(stage: Stage) -> None:
    stage.topics.produce(4 * READ)
    stage.commit(130, ours=True)
    answer = stage.inspection(live=True)
    assert answer.survey is not None
    assert {(row.ledger, row.group, *row.codes) for row in answer.survey.rows} == {(READ, 130)}
    assert (answer.findings, stage.inspection().findings != []) == ([], True)


def test_a_position_that_retention_comes_near_is_told_with_the_time_that_is_left(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.configure(topics.source, {"retention.ms": str(round(HOUR * 1000))})
    for age in (0.95 * HOUR, 0.9 * HOUR, 0.5 * HOUR):
        topics.produce(4, timestamp=round((time.time() - age) * 1000))
    launch = Launch.load(make_pipeline().prepare().dir / LAUNCH)
    assert launch is not None
    source = compiler.of_run(launch, Definition.model_validate(launch.definition)).sources["shop"]
    positions = [PartitionPosition(topic=topics.source, partition=n, offset=n) for n in range(4)]
    assert source.expiring(positions) == {
        TopicPartition(topics.source, 0): HOUR / 16,
        TopicPartition(topics.source, 1): HOUR / 8,
    }
    topics.configure(topics.source, {"cleanup.policy": "compact"})
    assert source.expiring(positions) == {}
