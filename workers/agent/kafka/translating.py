"""`python -m workers.agent.kafka.translating`: what positions on one Kafka cluster become on another.

The question is one JSON object on standard input, the answer one on standard output. Both clusters are only read. No
Spark is needed for it: while positions are translated, data waits. Bounded by its look-ups; whoever asks has a deadline
of his own.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.causes import explain
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.components.sink.kafka import KafkaSink
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.positions import translation
from pipelines.domain.positions.cluster_move import By, ClusterMove, PartitionTranslation, Seen, SinkEnd, Translation
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult
from pipelines.domain.positions.translation import Behind, Copy, Found, Impossible, Outcome, Stand
from pipelines.domain.runs.protocol import AgentFinding, Launch
from workers.agent.base import masking
from workers.agent.base.findings import Refused, refuse
from workers.agent.kafka.admin import NOT_COORDINATED, KafkaCluster
from workers.agent.kafka.advertised import BrokersRefused
from workers.agent.kafka.two_clusters import Move, Side
from workers.agent.positions import guard
from workers.agent.positions.checkpoint import Offsets

TAIL = 32
"""Records before a position that are compared."""
NEAR = 100
"""Offsets before a position in which they are looked for; further away, where there are none: `FAR`."""
FAR = 10_000
MOST_OF_ONE_TIME = 10_000
"""Records of one time that are compared one by one."""


def answer(launch: Launch, definition: Definition, move: ClusterMove) -> InspectionResult:
    """What becomes of every partition of the component that moves. Raises Refused where nobody can look."""
    if move.sink:
        return InspectionResult(survey=None, translation=Translation(ends=_sink_ends(move, launch.reach)))
    both = _both(launch, definition, move)
    _require_the_known_log(both)
    rows = [row for channel, stands in both.stands.items() for row in _channel(both, channel, stands)]
    known = both.same_log or bool(move.cut)
    rows = rows if known else _not_behind_the_group(both, move, rows)
    return InspectionResult(survey=None, translation=Translation(rows=rows))


def _both(launch: Launch, definition: Definition, move: ClusterMove) -> Move:
    old, new = definition.source_spec(move.source), KafkaSource.model_validate(move.to)
    if not isinstance(old, KafkaSource):
        raise refuse(f"sources.{move.source}", "NOT_KAFKA", "The source does not read Kafka.", "Name another source.")
    heads = [head for head in launch.heads if head.source == move.source]
    topics = sorted({at.topic for head in heads for at in head.positions} | set(old.topics))
    path = f"sources.{move.source}"
    sides = Side(path, move.source, KafkaCluster.of(old.bootstrap_servers, old.options, launch.reach), topics)
    there = Side(
        path,
        move.source,
        KafkaCluster.of(new.bootstrap_servers, new.options, launch.reach),
        sorted(move.renamed(each) for each in topics),
    )
    known = next((each for each in launch.identities if each.source == move.source), None)
    cuts = {(each.channel, TopicPartition(each.topic, each.partition)): each.pair for each in move.cut}
    stands = {head.channel: {at.key: at.offset for at in head.positions} for head in heads}
    return Move(move, sides, there, stands, known, cuts)


def _require_the_known_log(both: Move) -> None:
    """Raises Refused where the old log is not the one that the ledger's positions are offsets of."""
    read = {topic for stands in both.stands.values() for topic, _ in stands}
    found = guard.another_log(both.old.path, both.known, both.old.identity, read, both.old.log)
    if found:
        raise Refused(*found)


def _channel(both: Move, channel: str, stands: Offsets) -> list[PartitionTranslation]:
    """The rows of one channel. A partition that was added and not read yet stands at its beginning."""
    at = {key: stands.get(key, 0) for key in sorted({*both.old.log, *stands})}
    outcomes: dict[TopicPartition, Outcome] = {
        key: outcome for key in at if (outcome := _unlike(both, key, at[key], bool(stands)))
    }
    rest = {key: offset for key, offset in at.items() if key not in outcomes}
    by = By.SAME_LOG if both.same_log else both.by
    if by is By.SAME_LOG:
        outcomes |= {key: Found(offset, exact=True, evidence={"same_as": offset}) for key, offset in rest.items()}
    elif by is By.TIMESTAMP:
        outcomes |= _by_timestamp(both, rest)
    elif by is By.GIVEN:
        outcomes |= _by_given(both, rest)
    else:
        outcomes |= _by_mapping(both, channel, rest)
    return [_row(both, channel, key, at[key], by, outcomes[key]) for key in at]


def _unlike(both: Move, key: TopicPartition, position: int, has_read: bool) -> Impossible | None:
    """Why a partition has no counterpart."""
    topic = both.there(key).topic
    here = sum(1 for each in both.old.log if each.topic == key.topic)
    there = sum(1 for each in both.new.log if each.topic == topic)
    if not has_read:
        words = "Nothing has been read of the partition, so there is no position to translate."
        return Impossible("NEVER_READ", words, "Wait until it is read, or stop the pipeline and change it.")
    if key not in both.old.log:
        return Impossible("PARTITION_REMOVED", f"The partition no longer exists; the ledger's position is {position}.")
    if here != there:
        words = f"{key.topic} has {here} partitions, and {topic} on the new cluster {there}."
        advice = "Give the topic as many partitions there; or stop the pipeline, change it, and choose its positions."
        return Impossible("PARTITIONS_DIFFER", words, advice)
    log = both.old.log[key]
    if position > log.end:
        return Impossible("BEYOND_LOG_END", f"The position {position} is beyond the end {log.end} of the old log.")
    return None


def _stands(both: Move, positions: Offsets) -> dict[TopicPartition, Stand]:
    """Records around each position on the old cluster."""
    around = both.old.records({key: (at - NEAR, at + NEAR) for key, at in positions.items()})
    empty = [key for key, at in positions.items() if at and not any(each.offset < at for each in around.get(key, []))]
    further = both.old.records({key: (positions[key] - FAR, positions[key]) for key in empty}) if empty else {}
    return {key: _stand(both, key, at, [*further.get(key, []), *around.get(key, [])]) for key, at in positions.items()}


def _stand(both: Move, key: TopicPartition, at: int, records: Sequence[Seen]) -> Stand:
    log = both.old.log[key]
    before = {each.offset: each for each in records if each.offset < at}
    ahead = [each for each in records if each.offset >= at]
    return Stand(at, log.start, log.end, [before[offset] for offset in sorted(before)][-TAIL:], ahead)


def _copies(both: Move, ranges: Mapping[TopicPartition, tuple[int, int]]) -> dict[TopicPartition, Copy]:
    """The logs of partitions on the new cluster, by their key on the old one, with records of these ranges."""
    found = both.new.records({both.there(key): at for key, at in ranges.items()})
    return {
        key: Copy(both.new.log[there].start, both.new.log[there].end, found.get(there, []))
        for key in ranges
        if (there := both.there(key)) in both.new.log
    }


def _by_mapping(both: Move, channel: str, positions: Offsets) -> dict[TopicPartition, Outcome]:
    stands = _stands(both, positions)
    known = {key: both.pairs_of(channel, key) for key in positions}
    expected = {key: translation.expected(known[key], at) or 0 for key, at in positions.items()}
    copies = _copies(both, {key: (at - 2 * NEAR, at + NEAR) for key, at in expected.items()})
    return {key: translation.by_mapping(stands[key], copies[key], known[key]) for key in positions}


def _by_timestamp(both: Move, positions: Offsets) -> dict[TopicPartition, Outcome]:
    stands = _stands(both, positions)
    times = {key: stand.tail[-1].timestamp for key, stand in stands.items() if stand.tail}
    old_first = both.old.cluster.at_each(times)
    new_first = _at_there(both, times)
    same = both.old.records(
        {key: (first, min(positions[key], first + MOST_OF_ONE_TIME + 1)) for key, first in old_first.items()}
    )
    ranges = {key: (new_first[key], new_first[key] + len(same.get(key, [])) + NEAR) for key in new_first}
    copies = _copies(both, {key: ranges.get(key, (0, 0)) for key in positions})
    return {
        key: translation.by_timestamp(
            stands[key], copies[key], same=same.get(key, []), first=new_first.get(key), most=MOST_OF_ONE_TIME
        )
        for key in positions
    }


def _at_there(both: Move, times: Mapping[TopicPartition, int]) -> Offsets:
    """By the key on the old cluster, the first offset on the new one that is not older."""
    found = both.new.cluster.at_each({both.there(key): time for key, time in times.items()})
    return {key: found[there] for key in times if (there := both.there(key)) in found}


def _by_given(both: Move, positions: Offsets) -> dict[TopicPartition, Outcome]:
    stands = _stands(both, positions)
    times = {key: stand.tail[-1].timestamp for key, stand in stands.items() if stand.tail}
    first = _at_there(both, times)
    copies = _copies(both, {key: (first.get(key, 0) - NEAR, first.get(key, 0) + NEAR) for key in positions})
    given = both.move.positions.offsets if both.move.positions else {}
    return {
        key: translation.by_given(stands[key], copies[key], given.get(both.there(key).topic, {}).get(key.partition))
        for key in positions
    }


def _row(both: Move, channel: str, key: TopicPartition, at: int, by: By, outcome: Outcome) -> PartitionTranslation:
    topic, identity = both.there(key).topic, both.new.identity
    place: dict[str, Any] = {
        "source": both.move.source,
        "channel": channel,
        "old_topic": key.topic,
        "topic": topic,
        "partition": key.partition,
        "stopped_at": at,
        "by": by,
        "cluster_id": identity.cluster_id,
        "topic_id": identity.topics.get(topic, ""),
        "evidence": outcome.evidence,
    }
    if isinstance(outcome, Behind):
        return PartitionTranslation(**place, behind=max(1, outcome.records))
    if isinstance(outcome, Impossible):
        return PartitionTranslation(
            **place, code=outcome.code, reason=outcome.reason, suggestion=outcome.suggestion, skip=None, replay=None
        )
    return PartitionTranslation(**place, new=outcome.new, exact=outcome.exact, skip=outcome.skip, replay=outcome.replay)


def _not_behind_the_group(
    both: Move, move: ClusterMove, rows: list[PartitionTranslation]
) -> list[PartitionTranslation]:
    """A group that is ahead of a position would keep the new side from starting. On the way back the group is that of
    the old side, which stood where the cut was made."""
    group = str(KafkaSource.model_validate(move.to).group_id)
    furthest: Offsets = {}
    for row in rows:
        if row.new is not None:
            key = TopicPartition(row.topic, row.partition)
            furthest[key] = max(row.new, furthest.get(key, 0))
    try:
        commits = both.new.cluster.commits(group, sorted(furthest))
    except KafkaException as error:
        if error.args[0].code() in {KafkaError.GROUP_AUTHORIZATION_FAILED, *NOT_COORDINATED}:
            return rows
        raise
    ahead = {key: commits[key].offset for key, at in furthest.items() if key in commits and commits[key].offset > at}
    return [_behind(row, group, ahead.get(TopicPartition(row.topic, row.partition))) for row in rows]


def _behind(row: PartitionTranslation, group: str, committed: int | None) -> PartitionTranslation:
    if committed is None:
        return row
    words = (
        f"The group {group} has committed {committed} on the new cluster; the source would continue at {row.new}, "
        "before that."
    )
    return row.model_copy(
        update={
            "code": "GROUP_AHEAD",
            "reason": words,
            "new": None,
            "skip": None,
            "replay": None,
            "suggestion": "Give the source another group_id there (to.group_id), or delete the group's offsets.",
        }
    )


def _sink_ends(move: ClusterMove, reach: ReachPolicy) -> list[SinkEnd]:
    """Where the topics that the sink may write to begin and end. Raises Refused."""
    path, spec = f"sinks.{move.sink}", KafkaSink.model_validate(move.to)
    topics = sorted({spec.topic, *spec.allowed_topics})
    cluster = KafkaCluster.of(spec.bootstrap_servers, spec.options, reach)
    partitions = cluster.partitions(topics, path, "WRITE")
    starts, ends = cluster.earliest(partitions), cluster.latest(partitions)
    cluster_id, ids = cluster.cluster_id(), cluster.topic_ids(topics)
    return [
        SinkEnd(
            sink=move.sink,
            topic=key.topic,
            partition=key.partition,
            start=starts[key],
            end=ends[key],
            cluster_id=cluster_id,
            topic_id=ids.get(key.topic, ""),
        )
        for key in partitions
        if key in starts and key in ends
    ]


def inspected(question: InspectionRequest) -> InspectionResult:
    """The answer, or why nobody could look."""
    launch = Launch.model_validate(question.launch)
    definition = Definition.model_validate(substituted(launch.definition, question.values))
    if question.move is None:
        raise ValueError("the question has no move")
    move = question.move.model_copy(update={"to": substituted(question.move.to, question.values)})
    try:
        return answer(launch, definition, move)
    except Refused as refused:
        return _without(refused.findings)
    except BrokersRefused as error:
        return _without(error.findings(_path(move)))
    except KafkaException as error:
        words = f"A cluster did not answer. {explain(error)}"
        return _without(
            [AgentFinding(path=_path(move), code="KAFKA_ERROR", message=words, suggestion="Check both addresses.")]
        )


def _path(move: ClusterMove) -> str:
    return f"sources.{move.source}" if move.source else f"sinks.{move.sink}"


def _without(findings: Sequence[AgentFinding]) -> InspectionResult:
    return InspectionResult(survey=None, findings=[each.model_dump(mode="json") for each in findings])


def main() -> None:
    """Read the question, write the answer."""
    question = InspectionRequest.model_validate_json(sys.stdin.buffer.read())
    masking.hide(question.masked)
    found = inspected(question)
    sys.stdout.write(InspectionResult.model_validate(masking.prose(found.model_dump(mode="json"))).model_dump_json())
    sys.stdout.flush()


if __name__ == "__main__":
    code = 1
    try:
        main()
        code = 0
    except BaseException:
        sys.stderr.write(traceback.format_exc(limit=5))
    sys.stderr.flush()
    os._exit(code)  # a client that waits for a broker must not keep the process
