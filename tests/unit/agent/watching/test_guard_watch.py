"""The guard of a run that goes on, and commits that are missing only for a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from pipelines.domain.base.positions import PartitionPosition, SourceIdentity, TopicPartition
from pipelines.domain.ledger.journal import Identified, Noticed, read_entries
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.findings import Blocked
from workers.agent.delivery.gate import Gate
from workers.agent.graph.component import Place, SourceBuilder
from workers.agent.kafka import admin
from workers.agent.kafka.admin import TIMEOUT, Commit, KafkaCluster
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange, Mirrored
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.watching.guard_watch import GuardWatch, SourceGuard, before_batch
from workers.agent.watching.mirror import Mirror

KEY = TopicPartition("t", 0)
KNOWN = SourceIdentity(source="shop", cluster_id="c", topics={"t": "one"})


class Stub(SourceBuilder):
    """A source as a test wants it to be seen."""

    def __init__(self) -> None:
        super().__init__(None, Place("p", 1, "sources.shop"))
        self.seen, self.log = KNOWN, LogRange(0, 300)
        self.group: dict[TopicPartition, Mirrored] | None = {KEY: Mirrored(100, True)}
        self.soon: dict[TopicPartition, float] = {}
        self.away = 0

    def identity(self) -> SourceIdentity:
        if self.away:
            self.away -= 1
            raise ConnectionError("away")
        return self.seen

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return dict(self.identity().topics)

    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        return {KEY: self.log}

    def mirrored(self, partitions: list[TopicPartition], *, surely: bool) -> dict[TopicPartition, Mirrored] | None:
        return self.group

    def expiring(self, positions: list[PartitionPosition]) -> dict[TopicPartition, float]:
        return self.soon

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        return {KEY: self.log.end}

    def acknowledge(self, positions: list[PartitionPosition]) -> None:
        self.group = {position.key: Mirrored(position.offset, True) for position in positions}

    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        raise NotImplementedError

    def stream(self, spark: Any, starts: Offsets, limits: BatchLimits) -> Any:
        raise NotImplementedError


class Query:
    """As much of a query as the guard looks at."""

    def __init__(self) -> None:
        self.at, self.settled = 100, True

    def channel_positions(self) -> list[Offsets]:
        return [{KEY: self.at}]


class Shown:
    """A mirror that has written 100."""

    def __init__(self) -> None:
        self.written, self.rounds, self.forgotten = {KEY: 100}, 1, 0

    def forget(self, since: int) -> None:
        self.forgotten += 1


class LedgerTotals:
    """As much of a channel's books as the mirror looks at."""

    def __init__(self) -> None:
        self.positions, self.lag, self.channel = {KEY: 100}, 0, "lake"


class Stage:
    """One guarded source."""

    def __init__(self, path: Path) -> None:
        self.source, self.query, self.mirror, self._path = Stub(), Query(), Shown(), path
        queries: list[Any] = [self.query]
        mirror: Any = self.mirror
        self.guard = SourceGuard(self.source, queries, mirror, Journal(path, epoch=1), KNOWN)

    def entries(self) -> list[Any]:
        return [entry.payload() for entry in read_entries(self._path.read_bytes())[0]]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "journal.jsonl")


def test_a_topic_that_is_made_again_in_the_middle_of_a_look_is_told_as_that(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked first says what was before."""

    def overtaken(answer: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            before = answer()
            stage.source.seen = KNOWN.model_copy(update={"topics": {"t": "two"}})
            stage.source.log = LogRange(0, 80)
            return before

        return call

    for name in ("identity", "log_ranges"):
        monkeypatch.setattr(stage.source, name, overtaken(getattr(stage.source, name)))
    (finding,) = stage.guard.check()
    assert finding.code == "TOPIC_RECREATED"
    assert "holds 80 records" in finding.message


def test_what_agrees_is_left_alone(stage: Stage) -> None:
    assert stage.guard.check() == []
    stage.guard.check_positions()
    stage.guard.same_topics()
    assert {each.code for each in stage.entries() if each.over} == {"GROUP_LOST", "GROUP_MOVED", "EXPIRING"}
    assert (len(stage.entries()), stage.mirror.forgotten) == (3, 0), "what a run before has noticed is over"


@pytest.mark.parametrize(
    ("log", "settled", "code"),
    [
        (LogRange(130, 300), True, "BELOW_LOG_START"),
        (LogRange(130, 300), False, None),
        (LogRange(0, 60), True, "BEYOND_LOG_END"),
        (LogRange(0, 60), False, "BEYOND_LOG_END"),
    ],
    ids=["trimmed", "trimmed under a batch in hand", "cut off", "cut off under a batch in hand"],
)
def test_a_log_that_left_the_position_behind_is_found_while_it_runs(
    stage: Stage, log: LogRange, settled: bool, code: str | None
) -> None:
    stage.source.log, stage.query.settled = log, settled
    assert [finding.code for finding in stage.guard.check()] == ([code] if code else [])


def test_a_topic_made_again_blocks_the_batch_that_would_read_it(stage: Stage) -> None:
    stage.source.seen = KNOWN.model_copy(update={"topics": {"t": "two"}})
    with pytest.raises(Blocked, match="created again"):
        before_batch(stage.guard, Gate(1))()


def test_a_topic_that_a_pattern_met_since_is_learnt_and_written_down(stage: Stage) -> None:
    stage.source.seen = KNOWN.model_copy(update={"topics": {"t": "one", "u": "x"}})
    assert stage.guard.check() == []
    assert [each.topics for each in stage.entries() if isinstance(each, Identified)] == [{"t": "one", "u": "x"}]
    stage.source.seen = KNOWN.model_copy(update={"topics": {"t": "one", "u": "y"}})
    assert stage.guard.check() == [], "nothing of it was read yet"


def test_a_source_that_is_away_holds_the_batch_until_it_answers(stage: Stage) -> None:
    stage.source.away = 1
    before_batch(stage.guard, Gate(1))()
    assert stage.source.away == 0
    gate = Gate(1)
    gate.stop(cancel=False)
    stage.source.away = 1
    before_batch(stage.guard, gate)()
    assert stage.source.away == 1, "a stopped gate is not waited for"


def test_a_resume_waits_for_a_source_that_is_away_only_while_it_is_wanted(stage: Stage) -> None:
    watch = GuardWatch([stage.guard], Gate(1), 60)
    stage.source.away, stage.source.log = 1, LogRange(130, 300)
    assert [finding.code for finding in watch.check_patiently(lambda: True)] == ["BELOW_LOG_START"]
    assert watch.check_patiently(lambda: False) == []


@pytest.mark.parametrize(
    ("group", "code"), [({}, "GROUP_LOST"), ({KEY: Mirrored(7, False)}, "GROUP_MOVED"), (None, None)]
)
def test_a_mirror_that_is_lost_or_moved_is_told_once_and_written_again(
    stage: Stage, group: dict[TopicPartition, Mirrored] | None, code: str | None
) -> None:
    stage.source.group = group
    stage.guard.check_positions()
    stage.guard.check_positions()
    reported = [each.code for each in stage.entries() if isinstance(each, Noticed) and not each.over]
    assert (reported, stage.mirror.forgotten > 0) == ([code] if code else [], code is not None)
    stage.source.group = {KEY: Mirrored(100, True)}
    stage.guard.check_positions()
    assert [each.over for each in stage.entries() if each.code == code] == ([False, True] if code else [])


def test_what_somebody_else_has_committed_is_told_before_the_mirror_writes_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mirror writes what was lost while the guard looks at it once more: what the guard has seen is over then."""
    source, query, ledger = Stub(), Query(), LedgerTotals()
    mirror = Mirror(source, [ledger])  # type: ignore[list-item]
    journal = Journal(tmp_path / "journal.jsonl", epoch=1)
    watched = SourceGuard(source, [query], mirror, journal, KNOWN)  # type: ignore[list-item]
    mirror.commit()
    source.group = {}
    watched.check_positions()

    def overtaken(*_: Any, **__: Any) -> dict[TopicPartition, Mirrored]:
        mirror.commit()
        return {}

    with monkeypatch.context() as patched:
        patched.setattr(source, "mirrored", overtaken)
        watched.check_positions()
    assert source.group == {KEY: Mirrored(100, True)}

    source.group = {KEY: Mirrored(7, False)}
    mirror.commit()
    assert source.group == {KEY: Mirrored(7, False)}, "nobody was told of it yet"
    watched.check_positions()
    entries = [entry.payload() for entry in read_entries((tmp_path / "journal.jsonl").read_bytes())[0]]
    assert "GROUP_MOVED" in {each.code for each in entries if isinstance(each, Noticed) and not each.over}
    mirror.commit()
    assert source.group == {KEY: Mirrored(100, True)}


def test_records_that_will_expire_unread_are_told_with_the_time(stage: Stage) -> None:
    stage.source.soon = {KEY: 450.0}
    stage.guard.check_positions()
    (notice,) = [each for each in stage.entries() if not each.over]
    assert (notice.code, "450 s" in notice.message) == ("EXPIRING", True)


class Moving(KafkaCluster):
    """A cluster whose coordinator moves: whoever asks first gets no commit."""

    def __init__(self, answers: list[dict[TopicPartition, Commit]], errors: list[int] | None = None) -> None:
        super().__init__({}, None)
        self.answers, self.errors, self.coordinators = answers, errors or [], 0
        self.written: list[tuple[str, int, int]] = []

    def _commits(self, group: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Commit]:
        if self.errors:
            raise KafkaException(KafkaError(self.errors.pop(0)))
        return self.answers.pop(0)

    def _commit(self, group: str, offsets: list[ClientPartition], timeout: float) -> None:
        assert 0 < timeout <= TIMEOUT
        if self.errors:
            raise KafkaException(KafkaError(self.errors.pop(0)))
        self.written += [(each.topic, each.partition, each.offset) for each in offsets]

    def _another(self) -> KafkaCluster:
        return self

    def find_coordinator(self, group: str) -> None:
        self.coordinators += 1


def test_a_missing_commit_is_believed_only_after_the_coordinator_was_found_and_asked_again() -> None:
    moving = Moving([{}, {KEY: Commit(100)}])
    assert moving.surely_committed("g", [KEY]) == {KEY: Commit(100)}
    assert moving.coordinators == 1
    gone = Moving([{}, {}])
    assert gone.surely_committed("g", [KEY]) == {}
    assert gone.answers == []


def test_a_coordinator_that_is_not_ready_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.agent.kafka.admin._RETRY", 0.0)
    loading = KafkaError.COORDINATOR_LOAD_IN_PROGRESS
    assert Moving([{KEY: Commit(5)}], [loading, loading]).commits("g", [KEY]) == {KEY: Commit(5)}
    with pytest.raises(KafkaException):
        Moving([], [KafkaError.GROUP_AUTHORIZATION_FAILED]).commits("g", [KEY])


def test_a_commit_waits_for_a_coordinator_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.agent.kafka.admin._RETRY", 0.0)
    moving = Moving([], [KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE])
    moving.commit("g", [PartitionPosition(topic="t", partition=0, offset=5)])
    assert moving.written == [("t", 0, 5)]
    with pytest.raises(KafkaException):
        Moving([], [KafkaError.GROUP_AUTHORIZATION_FAILED]).commit("g", [])


class Asked:
    """A consumer that counts; `away`: nobody answers."""

    made: list[Asked] = []

    def __init__(self, _: Any) -> None:
        self.closed = 0
        self.away = False
        self.made.append(self)

    def committed(self, wanted: list[Any], timeout: float) -> list[Any]:
        if self.away:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return wanted

    def close(self) -> None:
        self.closed += 1


def test_a_client_that_is_ready_answers_one_question_and_one_that_lost_its_broker_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admin, "Consumer", Asked)
    Asked.made = []
    cluster = KafkaCluster({}, None)
    for _ in range(3):
        cluster.get_ready_to_ask("g", KEY)
    assert ([at.topic for at in cluster.answers_of("g", [KEY])], len(Asked.made), Asked.made[0].closed) == (
        [KEY.topic],
        1,
        1,
    )
    cluster.answers_of("g", [KEY])
    assert [each.closed for each in Asked.made] == [1, 1]
    cluster.get_ready_to_ask("g", KEY)
    Asked.made[-1].away = True
    cluster.get_ready_to_ask("g", KEY)
    assert [each.closed for each in Asked.made] == [1, 1, 1]
    cluster.answers_of("g", [KEY])
    assert len(Asked.made) == 4
