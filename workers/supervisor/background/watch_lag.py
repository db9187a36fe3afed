"""The lag of a host's pipelines, look by look: from what their agents report, and for those at rest from the brokers.

The age of the oldest record that waits comes from where the log ended at earlier looks. Only where that does not reach
back far enough is the log asked for offsets by time, for all partitions of a cluster together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

import structlog

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import Phase
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.monitoring.alert_rules import Facts
from pipelines.domain.monitoring.lag import QUIET_SECONDS, STEPS, Appended, PartitionLag, most, total
from pipelines.models import LagPoint
from pipelines.selectors.access.reach import policy
from pipelines.selectors.access.secrets import user_of
from pipelines.selectors.monitoring import lag as reading
from pipelines.selectors.monitoring.lag import MonitoredPipeline
from pipelines.services.monitoring import lag as writing
from workers.ports import Away
from workers.supervisor.background.brokers import Brokers, ClusterAddress
from workers.supervisor.launch.references import References, kafka_client

OLDEST_SECONDS = 7 * 86_400.0
"""How far back the log is asked; what is older is at least so old."""
QUESTIONS = 15
"""Requests to one cluster in one look, at most."""
AT_REST_SECONDS = 60.0
"""How often the brokers are asked about pipelines that do not run."""
AWAY_SECONDS = 60.0
"""How long a cluster that did not answer is left alone."""

Log = tuple[UUID, str, str, int]
"""(pipeline, source, topic, partition)"""

log = structlog.get_logger(__name__)


@dataclass
class _Errand:
    """What one cluster is asked: the ends of `ends`, and the age of the positions of `ages` (log, position)."""

    cluster: ClusterAddress
    ends: dict[Log, TopicPartition] = field(default_factory=dict)
    ages: dict[Log, tuple[TopicPartition, int, Appended]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Answers:
    """What came of an errand: ends of logs, and (time, offset) pairs."""

    at: float
    ends: Mapping[Log, int]
    learned: Sequence[tuple[Log, float, int]]


@dataclass
class LagWatch:
    """Looks at all pipelines of a host. Everything that it remembers can be lost: it is then known less exactly for a
    while."""

    host: str
    brokers: Brokers
    references: References
    executor: Executor
    reach: Callable[[Collection[int]], ReachPolicy] = policy
    _logs: dict[Log, Appended] = field(default_factory=dict)
    _definitions: dict[int, Definition | None] = field(default_factory=dict)
    _resting: dict[UUID, list[PartitionLag]] = field(default_factory=dict)
    _rested_at: float = -AT_REST_SECONDS
    _under_way: dict[str, Future[_Answers]] = field(default_factory=dict)
    _away_until: dict[str, float] = field(default_factory=dict)
    _written: dict[UUID, tuple[float, list[PartitionLag]]] = field(default_factory=dict)

    def measure(self, wall: float) -> dict[UUID, Facts]:
        """One look at every pipeline; `wall`: seconds. Returns what their rules are judged by."""
        monitored = reading.monitored(self.host)
        self._collect(wall)
        silent = {each.id for each in monitored if each.observed and each.facts.phase is Phase.UNKNOWN}
        reporting = [each for each in monitored if each.observed and each.id not in silent]
        asked = self._without_report([each for each in monitored if each not in reporting], silent, wall)
        found = {each.id: self._of_status(each) for each in reporting}
        found |= {each: self._of_ledger(each, wall) for each in self._resting}
        self._forget({each.id for each in monitored})
        self._send(monitored, found, wall, asked)
        self._write(found, wall, silent)
        return {each.id: _with_lag(each, found.get(each.id, [])) for each in monitored}

    def _without_report(self, others: Sequence[MonitoredPipeline], silent: set[UUID], wall: float) -> set[UUID]:
        """Read the ledger's positions of pipelines whose agents do not report; returns those whose brokers are asked
        for log ends now: every time where an agent is silent, once in a while where there is none."""
        due = not 0 <= wall - self._rested_at < AT_REST_SECONDS
        if due:
            self._rested_at, self._resting = wall, self._ledger(others)
            return set(self._resting)
        present = {each.id for each in others}
        resting = {pipeline: parts for pipeline, parts in self._resting.items() if pipeline in present - silent}
        spoken = self._ledger([each for each in others if each.id in silent]) if silent else {}
        self._resting = resting | spoken
        return set(spoken)

    def _of_status(self, each: MonitoredPipeline) -> list[PartitionLag]:
        """What an agent says of itself, with the ages."""
        observed = each.observed or {}
        at = float(observed.get("at", 0.0))
        found = []
        for query in observed.get("queries", []):
            for position in query["positions"]:
                known = (each.id, query["source"], position["topic"], position["partition"])
                end = position.get("end_offset")
                if end is not None:
                    self._log(known).saw(at, end)
                found.append(self._lag(known, query["channel"], position["next_offset"], end, at))
        return found

    def _of_ledger(self, pipeline: UUID, wall: float) -> list[PartitionLag]:
        """What the ledger says of a pipeline that does not run, and how far its logs have gone on."""
        found = []
        for each in self._resting[pipeline]:
            known = (pipeline, each.source, each.topic, each.partition)
            points = self._log(known).points
            end = points[-1][2] if points and each.position is not None else None
            found.append(self._lag(known, each.channel, each.position or 0, end, wall))
        return found

    def _lag(self, known: Log, channel: str, position: int, end: int | None, at: float) -> PartitionLag:
        _, source, topic, partition = known
        records = None if end is None else max(0, end - position)
        seconds = None if end is None else _age(self._log(known), position, at)
        return PartitionLag(source, channel, topic, partition, position, end, records, _rounded(seconds))

    def _log(self, known: Log) -> Appended:
        return self._logs.setdefault(known, Appended())

    def _ledger(self, at_rest: Sequence[MonitoredPipeline]) -> dict[UUID, list[PartitionLag]]:
        found: dict[UUID, list[PartitionLag]] = defaultdict(list)
        ids = [each.id for each in at_rest]
        for pipeline, source, channel, topic, number, at in reading.ledger_positions(ids) if ids else ():
            found[pipeline].append(PartitionLag(source, channel, topic, number, at, None, None, None))
        return dict(found)

    def _forget(self, pipelines: set[UUID]) -> None:
        """Drop what is remembered of pipelines that are not of this host any more."""
        self._logs = {known: each for known, each in self._logs.items() if known[0] in pipelines}
        self._written = {pipeline: each for pipeline, each in self._written.items() if pipeline in pipelines}

    def _send(
        self,
        monitored: Sequence[MonitoredPipeline],
        found: Mapping[UUID, Sequence[PartitionLag]],
        wall: float,
        asked: set[UUID],
    ) -> None:
        """Ask every cluster at most once at a time, in the background; the next measurement has its answer. `asked`:
        pipelines whose log ends are wanted."""
        errands: dict[str, _Errand] = {}
        reach = cache(lambda team: self.reach([team]))
        wanted = [each for each in monitored if self._has_questions(each, found.get(each.id, ()), wall, asked)]
        for each, definition in self._defined(wanted):
            self._add(errands, each, definition, found.get(each.id, ()), wall, reach, ends=each.id in asked)
        for name, errand in errands.items():
            if name not in self._under_way and wall >= self._away_until.get(name, wall):
                self._under_way[name] = self.executor.submit(_asked, self.brokers, errand, wall)

    def _has_questions(
        self, each: MonitoredPipeline, found: Iterable[PartitionLag], wall: float, asked: set[UUID]
    ) -> bool:
        if each.id in asked:
            return True
        return any(self._question(each.id, part, wall) for part in found)

    def _question(self, pipeline: UUID, part: PartitionLag, wall: float) -> bool:
        if not part.records or part.position is None:
            return False
        known = self._log((pipeline, part.source, part.topic, part.partition))
        return known.question(part.position, wall, OLDEST_SECONDS) is not None

    def _defined(self, wanted: Sequence[MonitoredPipeline]) -> list[tuple[MonitoredPipeline, Definition]]:
        revisions = {each.revision for each in wanted if each.revision is not None}
        self._definitions = {key: each for key, each in self._definitions.items() if key in revisions}
        missing = [revision for revision in revisions if revision not in self._definitions]
        for revision, data in (reading.definitions(missing) if missing else {}).items():
            self._definitions[revision] = _definition(data)
        known = [(each, self._definitions.get(each.revision or 0)) for each in wanted]
        return [(each, definition) for each, definition in known if definition is not None]

    def _add(
        self,
        errands: dict[str, _Errand],
        each: MonitoredPipeline,
        definition: Definition,
        found: Iterable[PartitionLag],
        wall: float,
        reach: Callable[[int], ReachPolicy],
        *,
        ends: bool,
    ) -> None:
        for part in found:
            cluster = self._cluster(each.facts, definition, part.source, reach)
            if cluster is None:
                continue
            name = f"{cluster.servers} {sorted(cluster.options.items())} {each.facts.team}"
            errand = errands.setdefault(name, _Errand(cluster))
            known, key = (each.id, part.source, part.topic, part.partition), TopicPartition(part.topic, part.partition)
            if ends:
                errand.ends[known] = key
            if self._question(each.id, part, wall) and part.position is not None:
                errand.ages[known] = (key, part.position, deepcopy(self._log(known)))

    def _cluster(
        self, facts: Facts, definition: Definition, source: str, reach: Callable[[int], ReachPolicy]
    ) -> ClusterAddress | None:
        """How the cluster of a source is reached; None where it has none, or a reference cannot be resolved here."""
        spec: Any = definition.sources.get(source)
        if spec is None or spec.type != "kafka":
            return None
        plain = {"servers": spec.bootstrap_servers, "options": dict(spec.options)}
        user = user_of(facts.pipeline, [facts.team], facts.labels, definition.labels)
        resolved = self.references.resolve(plain, kafka_client(user, "source/kafka"))
        if resolved.findings:
            return None
        values = substituted(plain, resolved.values)
        return ClusterAddress(values["servers"], values["options"], reach(facts.team))

    def _collect(self, wall: float) -> None:
        """Hear what the clusters said that were asked before."""
        for name, future in list(self._under_way.items()):
            if not future.done():
                continue
            del self._under_way[name]
            try:
                answers = future.result()
            except Away as away:
                self._away_until[name] = wall + AWAY_SECONDS
                log.info("lag_unknown", cause=str(away))
            else:
                self._learn(answers)

    def _learn(self, answers: _Answers) -> None:
        for known, end in answers.ends.items():
            self._log(known).saw(answers.at, end)
        for known, at, offset in answers.learned:
            self._log(known).learn(at, offset)

    def _write(self, found: Mapping[UUID, list[PartitionLag]], wall: float, silent: set[UUID]) -> None:
        """One point a minute; where nothing waits and nothing moves, the one before it holds for a while. Of a `silent`
        agent's pipeline every measurement counts: it is all that is known."""
        due = {
            pipeline: parts
            for pipeline, parts in found.items()
            if parts and (pipeline in silent or self._due(pipeline, parts, wall))
        }
        at = datetime.fromtimestamp(wall, UTC)
        writing.record(
            [
                LagPoint(pipeline_id=pipeline, at=at, step=STEPS[0], **writing.measures(parts))
                for pipeline, parts in due.items()
            ]
        )
        self._written |= {pipeline: (wall, parts) for pipeline, parts in due.items()}

    def _due(self, pipeline: UUID, parts: list[PartitionLag], wall: float) -> bool:
        at, before = self._written.get(pipeline, (0.0, []))
        quiet = before == parts and not total(part.records for part in parts)
        return not 0 <= wall - at < (QUIET_SECONDS if quiet else STEPS[0])


def _asked(brokers: Brokers, errand: _Errand, at: float) -> _Answers:
    """Carry an errand out: one request for ends, and a bounded number for times. Raises Away."""
    ranges = brokers.ranges(errand.cluster, set(errand.ends.values())) if errand.ends else {}
    learned: list[tuple[Log, float, int]] = []
    for _ in range(QUESTIONS):
        asked = {
            known: (key, time)
            for known, (key, position, history) in errand.ages.items()
            if (time := history.question(position, at, OLDEST_SECONDS)) is not None
        }
        if not asked:
            break
        learned += _answered(brokers, errand, asked)
    return _Answers(at, {known: ranges[key][1] for known, key in errand.ends.items() if key in ranges}, learned)


def _answered(
    brokers: Brokers, errand: _Errand, asked: Mapping[Log, tuple[TopicPartition, float]]
) -> list[tuple[Log, float, int]]:
    """One request. Two pipelines that read the same partition are answered by one time; the other one asks again."""
    times = dict(asked.values())
    offsets = brokers.offsets_at(errand.cluster, times)
    found = [(known, times[key], offsets[key]) for known, (key, _) in asked.items() if key in offsets]
    for known, (key, _) in asked.items():
        if key not in offsets:  # every record is older
            end = errand.ages[known][2].points[-1][2]
            found.append((known, times[key], end))
    for known, time, offset in found:
        errand.ages[known][2].learn(time, offset)
    return found


def _definition(data: Any) -> Definition | None:
    try:
        return Definition.model_validate(data)
    except ValueError:
        return None


def _with_lag(each: MonitoredPipeline, parts: Sequence[PartitionLag]) -> Facts:
    """That events wait for a fuller batch, for as long as they are meant to, is no lag that a rule is about."""
    queries = each.observed.get("queries", []) if each.observed else []
    meant = {(query["source"], query["channel"]): query.get("batch_interval", 0.0) for query in queries}
    late = [
        None if part.seconds is None else max(0.0, part.seconds - meant.get((part.source, part.channel), 0.0))
        for part in parts
    ]
    return replace(each.facts, lag_records=total(part.records for part in parts), lag_seconds=most(late))


def _age(log: Appended, position: int, at: float) -> float | None:
    """The age of the record at a position; of one that is older than can be found out, the least that it is."""
    age = log.age(position, at)
    if age is None and log.question(position, at, OLDEST_SECONDS) is None:
        return log.at_least(position, at)
    return age


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
