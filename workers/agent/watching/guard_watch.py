"""The guard of a run that has begun: before each batch, at every resume, and once in a while in between.

Only sources whose log has an identity are looked at; others watch over themselves while they read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from pipelines.domain.base.positions import SourceIdentity, TopicPartition
from pipelines.domain.ledger.journal import Identified, Noticed
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import Blocked
from workers.agent.base.log import say
from workers.agent.delivery.delivery import cause_of
from workers.agent.delivery.gate import Gate, Position
from workers.agent.delivery.real_time import Query
from workers.agent.graph.component import Builder, SourceBuilder
from workers.agent.positions import guard
from workers.agent.positions.checkpoint import Offsets, positions
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.watching.mirror import Mirror, slowest

_RETRY = 0.5


class SourceGuard:
    """Compares the positions of one source with its log and its group.

    `known`: the log that they are offsets of. `told`: what the start has noticed. What a run before has noticed may be
    over, so the first look says so of everything that is not so.
    """

    def __init__(
        self,
        source: SourceBuilder,
        queries: Sequence[Query],
        mirror: Mirror,
        journal: Journal,
        known: SourceIdentity,
        reported: Sequence[Noticed] = (),
    ) -> None:
        self._source = source
        self._queries = queries
        self._mirror = mirror
        self._journal = journal
        self._known = known
        self._standing = {notice.code: notice for notice in reported}
        self._perhaps_standing = set(guard.NOTICES)
        self._lock = threading.Lock()

    def check(self) -> list[AgentFinding]:
        """Everything that speaks against reading on. Raises any exception where the source is away.

        Positions are taken before the log is looked at and again after it, since both move meanwhile: what is beyond
        the end was so before, and what is below the start is so after. Whose log it is is asked after the log, so that
        one that is replaced in between is not taken for the old one, cut off.
        """
        with self._lock:
            before = self._channel_positions()
            log, seen = self._source.log_ranges(), self._source.identity()
            resting = all(query.settled for query in self._queries)
            after = self._channel_positions()
            path = self._source.place.path
            read = {topic for position in before for topic, _ in position}
            if not guard.same_log(self._known, seen, read):
                return guard.another_log(path, self._known, seen, read, self._source.log_ranges())
            self._learn(seen)
            lowest = slowest(after) if resting else {}
            below = self._source.outside(positions(lowest), log)
            beyond = self._source.outside(positions(_highest(before)), log)
            return [
                *(found for found in beyond if found.code != "BELOW_LOG_START"),
                *(found for found in below if found.code == "BELOW_LOG_START"),
            ]

    def check_positions(self) -> None:
        """Journal what somebody should know and what is over, and let the mirror be written again where it has to be.

        Raises any exception where the source is away.
        """
        with self._lock:
            rounds = self._mirror.rounds
            noticed = {each.code: each for each in self._noticed()}
            for code, notice in noticed.items():
                if code not in self._standing:
                    self._journal.append(notice)
            for code in sorted(self._perhaps_standing - noticed.keys()):
                name = self._source.place.source
                self._journal.append(Noticed(source=name, code=code, message="Resolved.", over=True))
            self._standing, self._perhaps_standing = noticed, set(noticed)
            if noticed.keys() & {"GROUP_LOST", "GROUP_MOVED"}:
                self._mirror.forget(rounds)

    def same_topics(self) -> None:
        """Raises Blocked where a topic is not the one any more that its positions are offsets of."""
        ids = self._source.topic_ids(self._known.topics)
        if all(ids.get(topic, known) == known for topic, known in self._known.topics.items()):
            return
        for finding in self.check():
            raise Blocked(finding)

    def _learn(self, seen: SourceIdentity | None) -> None:
        """Topics that a pattern has met since are known from now on."""
        if seen is not None and seen.topics.keys() - self._known.topics.keys():
            self._known = seen.model_copy(update={"topics": {**seen.topics, **self._known.topics}})
            self._journal.append(Identified(**self._known.model_dump()))

    def _noticed(self) -> Iterator[Noticed]:
        name, written = self._source.place.source, self._mirror.written
        mirror = self._source.mirrored(sorted(written), surely=True)
        if mirror is not None:
            yield from guard.notices(name, written, mirror)
        behind = self._behind()
        if behind:
            yield from guard.expiring(name, behind, self._source.expiring(positions(behind)))

    def _behind(self) -> Offsets:
        """Positions of partitions that have something to be read."""
        at = slowest(self._channel_positions())
        ends = self._source.ends(sorted(at))
        return {key: offset for key, offset in at.items() if offset < ends.get(key, 0)}

    def _channel_positions(self) -> list[Offsets]:
        return [position for query in self._queries for position in query.channel_positions()]


def _highest(channel_positions: list[Offsets]) -> Offsets:
    keys: set[TopicPartition] = set().union(*channel_positions)
    return {key: max(position.get(key, 0) for position in channel_positions) for key in keys}


class GuardWatch:
    """All sources of a run, and whether its `parts` reach allowed servers alone. `blocked` hears, in the watch's
    thread, what speaks against going on."""

    def __init__(
        self, watched: Sequence[SourceGuard], gate: Gate, interval: float, parts: Iterable[Builder] = ()
    ) -> None:
        self.watched = list(watched)
        self._parts = list(parts)
        self._gate = gate
        self._interval = interval

    def start(self, blocked: Callable[[list[AgentFinding]], None]) -> None:
        """Begin, in a daemon thread."""
        threading.Thread(target=self._run, args=(blocked,), name="guard", daemon=True).start()

    def _run(self, blocked: Callable[[list[AgentFinding]], None]) -> None:
        while not self._gate.stopped_within(self._interval):
            try:
                if findings := self.check():
                    blocked(findings)
                    return
                for each in self.watched:
                    each.check_positions()
            except Exception as error:
                say(f"the guard could not compare positions: {cause_of(error)}", "WARNING")

    def check(self) -> list[AgentFinding]:
        """Everything that speaks against reading on. Raises any exception where a source is away."""
        out_of_reach = [finding for part in self._parts for finding in part.out_of_reach()]
        return out_of_reach or [finding for each in self.watched for finding in each.check()]

    def check_patiently(self, wanted: Callable[[], bool]) -> list[AgentFinding]:
        """The same; a source that is away is asked again for as long as the answer is wanted."""
        while wanted():
            try:
                return self.check()
            except Exception as error:
                say(f"the guard could not compare positions: {cause_of(error)}", "WARNING")
                time.sleep(_RETRY)
        return []


def before_batch(guarded: SourceGuard, gate: Gate) -> Callable[[], None]:
    """What a query asks before it touches its sinks; waits for a source that is away. Raises Blocked."""

    def check() -> None:
        while gate.position is not Position.STOPPED:
            try:
                guarded.same_topics()
                break
            except Blocked:
                raise
            except Exception as error:
                say(f"the topics could not be inspected before a batch: {cause_of(error)}", "WARNING")
                time.sleep(_RETRY)

    return check
