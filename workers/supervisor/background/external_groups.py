"""Looks at watched consumer groups, each in a thread of its own for as long as its cluster takes, a few at once.

A commit that is missing is asked for again, twice, each time after the coordinator was asked for: -1 is also what a
client gets while `__consumer_offsets` changes its leader.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

import structlog

from pipelines.domain.access.on_host import Resolve, look_up, server_problem
from pipelines.domain.access.secret_bindings import GROUPS, MONITOR
from pipelines.domain.access.uses import servers
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.monitoring.lag import Appended
from pipelines.domain.monitoring.watching import Description, GroupInspection, inspected
from pipelines.models import ExternalGroup
from pipelines.selectors.access import reach
from pipelines.selectors.access.secrets import user_of
from pipelines.selectors.monitoring import watching as reading
from pipelines.services.monitoring import watching as writing
from workers.ports import Away
from workers.supervisor.background.brokers import Brokers, ClusterAddress
from workers.supervisor.launch.references import References, kafka_client

ASKED_AGAIN = 2
PAUSE_SECONDS = 1.0
"""Before a missing commit is asked for again."""
POLL_SECONDS = 5.0
"""How often somebody may have asked for a group to be watched."""
INGEST_SECONDS = 3.0
"""What a journal may take to get into the database."""
SEED_SECONDS = (60, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 2 * 86_400, 7 * 86_400)
"""How long ago the log is asked about when a group is met for the first time, so that a reset can go back further."""

log = structlog.get_logger(__name__)


class Unresolved(Exception):
    """A reference of the group's options that this host cannot resolve."""


class OutOfReach(Exception):
    """A server of the group that may not be reached."""


@dataclass
class GroupWatch:
    """Gives every watched group of the host its look when it is due. `seconds`: a monotonic clock."""

    host: str
    brokers: Brokers
    references: References
    executor: Executor
    seconds: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    resolve: Resolve = look_up
    pause: Callable[[float], object] = field(default_factory=lambda: threading.Event().wait)
    _due: dict[int, float] = field(default_factory=dict)
    _under_way: dict[int, Future[None]] = field(default_factory=dict)
    _logs: dict[int, dict[TopicPartition, Appended]] = field(default_factory=dict)

    def turn(self) -> float:
        """Begin every look that is due; returns the seconds until the next one is."""
        writing.claim(self.host)
        groups = reading.of_host(self.host)
        self._forget({group.pk for group in groups})
        now = self.seconds()
        for group in groups:
            if group.pk not in self._under_way and now >= self._due.get(group.pk, now):
                self._due[group.pk] = now + group.interval
                self._under_way[group.pk] = self.executor.submit(self._attend, group)
        free = [due - now for key, due in self._due.items() if key not in self._under_way]
        return max(0.0, min([POLL_SECONDS, *free]))

    def _forget(self, known: set[int]) -> None:
        self._due = {key: due for key, due in self._due.items() if key in known}
        self._logs = {key: logs for key, logs in self._logs.items() if key in known}
        self._under_way = {key: future for key, future in self._under_way.items() if not future.done()}

    def _attend(self, group: ExternalGroup) -> None:
        """One look, and what follows from it. No error leaves: what went wrong is written down."""
        try:
            self.inspect(group)
        except (Away, Unresolved, OutOfReach) as error:
            writing.failed(group=group, error=str(error))
        except Exception:
            log.exception("watching_failed", group=group.name)

    def inspect(self, group: ExternalGroup) -> None:
        """Ask, compare with the look before, and write both down. Raises Away, Unresolved or OutOfReach."""
        cluster = self._cluster(group)
        before = None if group.last is None else GroupInspection.of_plain(group.last)
        description, commits = self._answers(cluster, group.name, before)
        wanted = {*commits, *(before.partitions if before else ())}
        after = inspected(before, self.wall(), description, commits, self.brokers.ranges(cluster, wanted))
        if not group.history and after.partitions:
            group.history = self._seeds(cluster, after)
        logs = self._logs.setdefault(group.pk, reading.logs_of(group))
        for key, part in after.partitions.items():
            logs.setdefault(key, Appended()).saw(after.at, part.end)
        writing.saw(group=group, before=before, after=after, ages=_ages(after, logs), read=self._read(group, after))

    def _read(self, group: ExternalGroup, inspection: GroupInspection) -> Mapping[TopicPartition, int]:
        """How far our own pipelines have read. A mirror may be ahead of the database by what a tick takes in."""
        read = reading.read_by(group)
        for _ in range(ASKED_AGAIN):
            if not any((part.committed or 0) > read.get(key, part.end) for key, part in inspection.partitions.items()):
                break
            self.pause(INGEST_SECONDS)
            read = reading.read_by(group)
        return read

    def _answers(
        self, cluster: ClusterAddress, name: str, before: GroupInspection | None
    ) -> tuple[Description, Mapping[TopicPartition, int]]:
        description = self.brokers.describe(cluster, name)
        commits = dict(self.brokers.commits(cluster, name, None))
        had = {key for key, part in before.partitions.items() if part.committed is not None} if before else set()
        for _ in range(ASKED_AGAIN):
            if not (missing := had - commits.keys()):
                break
            self.pause(PAUSE_SECONDS)
            description = self.brokers.describe(cluster, name)
            commits |= self.brokers.commits(cluster, name, missing)
        return description, commits

    def _cluster(self, group: ExternalGroup) -> ClusterAddress:
        teams = [group.team_id] if group.team_id else []
        policy = reach.policy(teams)
        for server in servers("bootstrap_servers", group.bootstrap_servers):
            if problem := server_problem(server, policy, self.resolve):
                raise OutOfReach(problem)
        plain = {"servers": group.bootstrap_servers, "options": dict(group.options)}
        resolved = self.references.resolve(plain, kafka_client(user_of(f"{GROUPS}{group.name}", teams), MONITOR))
        if resolved.findings:
            raise Unresolved(resolved.findings[0].message)
        values = substituted(plain, resolved.values)
        return ClusterAddress(values["servers"], values["options"], policy)

    def _seeds(self, cluster: ClusterAddress, inspection: GroupInspection) -> dict[str, list[list[float]]]:
        """By `topic/partition`, (time, first offset of that time or later), oldest first."""
        found: dict[str, list[list[float]]] = {f"{topic}/{number}": [] for topic, number in inspection.partitions}
        for seconds in sorted(SEED_SECONDS, reverse=True):
            at = inspection.at - seconds
            offsets = self.brokers.offsets_at(cluster, dict.fromkeys(inspection.partitions, at))
            for key, part in inspection.partitions.items():
                found[f"{key.topic}/{key.partition}"].append([at, offsets.get(key, part.end)])
        return found


def _ages(inspection: GroupInspection, logs: Mapping[TopicPartition, Appended]) -> dict[TopicPartition, float]:
    """Seconds for which the oldest record of each partition waits, where there is a commit."""
    return {
        key: round(logs[key].at_least(part.committed, inspection.at), 1) if part.lag else 0.0
        for key, part in inspection.partitions.items()
        if part.committed is not None
    }
