"""Sends dead letters back to their sources, in a background loop beside the ticks: they never wait for a broker.

Every replay of the host gets its turn for a few letters, paced by the monotonic clock. Letters are marked before they
are sent and settled when the broker has acknowledged them, so a worker that dies in between leaves them in doubt: its
successor sends them again, and counts them as possible duplicates.
"""

from __future__ import annotations

import base64
import itertools
import json
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import structlog

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.states import OperationState
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import BUFFER, Definition
from pipelines.domain.reprocessing.dead_letters import (
    FileLocation,
    HttpTarget,
    NotReplayable,
    Target,
    TopicTarget,
    flume_event,
    location,
    retry_headers,
    target,
)
from pipelines.foundation import clock
from pipelines.models import DeadLetter, Operation
from pipelines.selectors.access.reach import policy
from pipelines.selectors.access.secrets import user_of
from pipelines.selectors.reprocessing.dead_letters import next_dead_letters, open_retries, replayed
from pipelines.services.lifecycle import operations
from pipelines.services.reprocessing import retries
from workers.ports import Away, Closed, Clusters, Exclusive, Gone, Outgoing, Outlet, PushSources
from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.launch.references import Asker, References, kafka_client, listener

IDLE_SECONDS = 1.0
TURN_SECONDS = 0.5
"""A turn sends what the rate allows in this time."""
MOST_AT_ONCE = 100
MOST_BYTES = 32 * 1024 * 1024
AWAY_SECONDS = 2.0
"""The wait before a cluster that is away is tried again."""
_LARGEST_LINE = 256 * 1024 * 1024
_REASONS_SHOWN = 10

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=TopicTarget | HttpTarget)


@dataclass(frozen=True)
class Way:
    """What every replay of a host needs. `monotonic` is the clock that paces."""

    host: str
    clusters: Clusters
    push_sources: PushSources
    references: References
    monotonic: Callable[[], float] = time.monotonic
    reach: Callable[[Collection[int]], ReachPolicy] = policy


class Failed(Exception):
    """The replay cannot go on; letters that were not sent stay new."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


class Replay:
    """One replay under way."""

    def __init__(self, operation: Operation, way: Way) -> None:
        self._id: UUID = operation.id
        self._by = operation.created_by
        self._pipeline = operation.pipeline.name
        self._user = user_of(operation.pipeline.name, [operation.pipeline.team_id], operation.pipeline.labels)
        self._revision = operation.pipeline.current_revision
        self._team = operation.pipeline.team_id
        self._rate = float(operation.parameters["rate"])
        self._progress: dict[str, Any] = {"reasons": [], **operation.progress, "done": replayed(operation.id)}
        self._way = way
        self._outlets: dict[str, Outlet] = {}
        self.due = way.monotonic()
        left = (operation.deadline - clock.now()).total_seconds() if operation.deadline else 0.0
        self._expires = self.due + left

    def turn(self) -> None:
        """Send the next few letters if they are due; ends the operation with the last one, or where it cannot go on."""
        if self._way.monotonic() < self.due:
            return
        try:
            if self._way.monotonic() >= self._expires:
                hint = "Dead letters that were not sent are still new; retry them again."
                raise Failed("deadline_passed", "The retry timed out.", hint)
            self._send_some()
        except Failed as failed:
            self._finish(OperationState.FAILED, failed)
        except Closed as closed:
            self._finish(OperationState.FAILED, Failed("source_closed", str(closed), closed.hint))
        except Away as away:
            self._say(f"The source is unreachable and is retried: {away}")
            self.due = self._way.monotonic() + AWAY_SECONDS

    def close(self) -> None:
        """Let the producers go."""
        for outlet in self._outlets.values():
            outlet.close()
        self._outlets.clear()

    def _send_some(self) -> None:
        most = min(MOST_AT_ONCE, max(1, round(self._rate * TURN_SECONDS)))
        dead_letters = _of_bounded_size(next_dead_letters(self._id, most))
        if not dead_letters:
            self._finish(OperationState.SUCCEEDED)
            return
        now = self._way.monotonic()
        self.due = max(self.due, now - TURN_SECONDS) + len(dead_letters) / self._rate
        self._deliver(self._prepared(dead_letters))
        self._say("Sending.")

    def _prepared(self, dead_letters: Sequence[DeadLetter]) -> list[tuple[DeadLetter, Target, Outgoing]]:
        """Letters with what is sent; those whose content is gone are put back."""
        ready = []
        for dead_letter in dead_letters:
            try:
                way = self._target(dead_letter)
                ready.append((dead_letter, way, self._outgoing(dead_letter, way)))
            except (Gone, NotReplayable) as error:
                self._refuse(dead_letter, str(error), sent=dead_letter.sending_since is not None)
        return ready

    def _deliver(self, ready: Sequence[tuple[DeadLetter, Target, Outgoing]]) -> None:
        in_doubt = retries.mark_sending(dead_letters=[dead_letter for dead_letter, *_ in ready], now=clock.now())
        self._progress["possible_duplicates"] += in_doubt
        by_place: dict[str, list[tuple[DeadLetter, Target, Outgoing]]] = {}
        for each in ready:
            by_place.setdefault(_place(each[1]), []).append(each)
        for group in by_place.values():
            try:
                answers = self._ask(group)
            except Away as away:
                self._settle([group[number][0] for number in away.acknowledged])
                raise
            self._settle(
                [dead_letter for (dead_letter, *_), answer in zip(group, answers, strict=True) if answer is None]
            )
            for (dead_letter, *_), answer in zip(group, answers, strict=True):
                if answer is not None:
                    self._refuse(dead_letter, answer, sent=dead_letter.sending_since is not None)

    def _settle(self, dead_letters: Sequence[DeadLetter]) -> None:
        ids = [dead_letter.pk for dead_letter in dead_letters]
        self._progress["done"] += retries.settle(ids=ids, by=self._by, now=clock.now())

    def _ask(self, group: Sequence[tuple[DeadLetter, Target, Outgoing]]) -> list[str | None]:
        to = group[0][1]
        outlet = self._outlets.get(_place(to))
        if outlet is None:
            outlet = self._outlets[_place(to)] = self._outlet(to)
        return outlet.send([record for *_, record in group])

    def _outlet(self, to: Target) -> Outlet:
        if isinstance(to, HttpTarget):
            return self._way.push_sources.outlet(to)
        return self._way.clusters.outlet(to.servers, to.options, self._pipeline, self._reach())

    def _refuse(self, dead_letter: DeadLetter, reason: str, *, sent: bool) -> None:
        retries.put_back(ids=[dead_letter.pk], operation_id=self._id, sent=sent)
        self._progress["refused"] += 1
        if len(self._progress["reasons"]) < _REASONS_SHOWN:
            self._progress["reasons"] = [
                *self._progress["reasons"],
                {"id": dead_letter.dead_letter_id, "reason": reason},
            ]

    def _target(self, dead_letter: DeadLetter) -> Target:
        """Where the present definition reads, with its references resolved on this host."""
        if self._revision is None:
            raise Failed("no_revision", "The pipeline has no definition.", "Publish a revision.")
        found = target(Definition.model_validate(self._revision.definition), dead_letter.source, dead_letter.topic)
        if isinstance(found, HttpTarget):
            return self._resolved(found, listener(self._user, "source/http"))
        component = "channel/kafka" if dead_letter.source.startswith(BUFFER) else "source/kafka"
        return self._resolved(found, kafka_client(self._user, component))

    def _resolved(self, found: T, asker: Asker) -> T:
        plain = asdict(found)
        resolved = self._way.references.resolve(plain, asker)
        if resolved.findings:
            first = resolved.findings[0]
            raise Failed("unresolved_reference", first.message, first.suggestion or "")
        return replace(found, **substituted(plain, resolved.values))

    def _outgoing(self, dead_letter: DeadLetter, way: Target) -> Outgoing:
        repair = dead_letter.repair or {}
        own = [(name, base64.b64decode(value)) for name, value in repair.get("headers", dead_letter.headers)]
        headers = retry_headers(dead_letter.dead_letter_id, own)
        body = base64.b64decode(repair["body"]) if "body" in repair else self._body(dead_letter)
        if isinstance(way, TopicTarget) and way.flume and (repair or not _undecoded(dead_letter)):
            headers, body = headers[-1:], flume_event(headers[:-1], body)
        key = None if dead_letter.key is None else bytes(dead_letter.key)
        return Outgoing(dead_letter.topic, dead_letter.partition, key, headers, body)

    def _body(self, dead_letter: DeadLetter) -> bytes:
        """The whole body; of a truncated letter from where the whole event was put."""
        if not dead_letter.truncated:
            return bytes(dead_letter.body)
        place = location(dead_letter.location)
        if isinstance(place, FileLocation):
            return self._line(dead_letter, place)
        if place is None:
            raise Gone(f"The location of its complete body is unknown: {dead_letter.location!r}.")
        spec: Any = Definition.model_validate(dead_letter.run.revision.definition).dead_letter()
        at = TopicTarget(str(getattr(spec, "bootstrap_servers", "")), getattr(spec, "options", {}), "")
        way = self._resolved(at, kafka_client(self._user, "dead_letter/kafka"))
        return self._whole(dead_letter, self._way.clusters.record(way.servers, way.options, place, self._reach()))

    def _reach(self) -> ReachPolicy:
        return self._way.reach([self._team])

    def _line(self, dead_letter: DeadLetter, place: FileLocation) -> bytes:
        if dead_letter.run.host_id != self._way.host:
            raise Gone(f"Its complete body is on the host {dead_letter.run.host_id}, in {place.path}.")
        try:
            with Path(place.path).open("rb") as file:
                file.seek(place.start)
                line = file.readline(_LARGEST_LINE)
            return self._whole(dead_letter, base64.b64decode(json.loads(line)["body"] or ""))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Gone(f"Its complete body cannot be read at {dead_letter.location}: {error}") from error

    def _whole(self, dead_letter: DeadLetter, body: bytes) -> bytes:
        if len(body) != dead_letter.size or not body.startswith(bytes(dead_letter.body)):
            raise Gone(f"At {dead_letter.location} is another event.")
        return body

    def _say(self, message: str) -> None:
        operations.advance(operation_id=self._id, step="sending", state="running", message=message, now=clock.now())
        operations.report(operation_id=self._id, progress=self._progress)

    def _finish(self, state: OperationState, failed: Failed | None = None) -> None:
        reported = self._described()
        refused = self._progress["refused"]
        if failed is None and refused:
            state = OperationState.FAILED
            hint = "The operation's progress has the reasons; those dead letters are still new."
            failed = Failed("dead_letters_refused", f"{refused} dead letters could not be sent.", hint)
        error = {"code": failed.code, "message": f"{failed} {reported}", "hint": failed.hint} if failed else None
        operations.finish(
            operation_id=self._id, state=state, now=clock.now(), message=reported, error=error, result=self._progress
        )
        self.close()

    def _described(self) -> str:
        words = f"{self._progress['done']} of {self._progress['of']} dead letters were retried."
        doubt = self._progress["possible_duplicates"]
        return f"{words} Up to {doubt} of them are possible duplicates." if doubt else words


def _undecoded(dead_letter: DeadLetter) -> bool:
    """Whether its source could not read it, so that its body is the record as it was."""
    return dead_letter.component == f"sources.{dead_letter.source}"


def _of_bounded_size(dead_letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
    """The first letters that fit into memory together; one at least."""
    sizes = itertools.accumulate(dead_letter.size for dead_letter in dead_letters)
    return dead_letters[: max(1, sum(size <= MOST_BYTES for size in sizes))]


def _place(to: Target) -> str:
    """The same for letters that one outlet can send."""
    if isinstance(to, HttpTarget):
        return to.url
    return f"{to.servers} {json.dumps(dict(to.options), sort_keys=True, default=str)}"


class Replayer:
    """Gives every open replay of the host its turn, a few letters long."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._stopping = threading.Event()
        self._under_way: dict[UUID, Replay] = {}

    def loop(self, lock: Exclusive) -> BackgroundLoop:
        """`lock`: one replayer per host, however many workers it has."""
        return BackgroundLoop(
            "replays", self.turn, pause=IDLE_SECONDS, lock=lock, close=self.close, stopping=self._stopping
        )

    def close(self) -> None:
        """Let all producers go."""
        self._forget(set())

    def turn(self) -> float:
        """One turn of each open replay; returns the seconds until the next one is due."""
        found = {operation.id: operation for operation in open_retries(self._way.host)}
        self._forget(set(found))
        for operation in found.values():
            if self._stopping.is_set():
                break
            self._attend(operation)
        waits = [replay.due - self._way.monotonic() for replay in self._under_way.values()]
        return max(0.0, min([IDLE_SECONDS, *waits]))

    def _attend(self, operation: Operation) -> None:
        replay = self._under_way.get(operation.id)
        if replay is None:
            replay = self._under_way[operation.id] = Replay(operation, self._way)
        try:
            replay.turn()
        except Exception:
            log.exception("replay_failed", operation=str(operation.id))
            self._under_way.pop(operation.id).close()

    def _forget(self, still_open: set[UUID]) -> None:
        for done in self._under_way.keys() - still_open:
            self._under_way.pop(done).close()
