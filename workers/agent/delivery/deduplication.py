"""Keeps a batch that is delivered again from being twice in its sinks.

Before each further attempt the sinks are asked which events of the batch they hold, and those are left out. Once the
batch is delivered they are asked again: what an earlier attempt has sent late is counted, and never hidden.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from pipelines.domain.base.causes import explain
from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.definitions.document.spec import Delivery
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.runs.protocol import AgentFinding, Checking, Holding
from workers.agent.base.findings import Blocked
from workers.agent.base.frames import within
from workers.agent.base.log import say
from workers.agent.graph.component import Look, SinkBuilder, Unverifiable
from workers.agent.positions.held import Held, union

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTLES = 0.5
"""Seconds after the end of its writers in which a broker may still take in what they have sent."""
_AGAIN = 1.0
_MOST_LOOKS = 10
_WAITS = "It does not report what it has of the unfinished batch, which waits for that."
Wait = Callable[[float], None]


@dataclass(frozen=True)
class Policy:
    """`timeout`: seconds after which a batch is delivered although a sink has not said what it holds of it; None: it
    waits for as long as that takes."""

    timeout: float | None


def policy(delivery: Delivery) -> Policy | None:
    """That of a definition; None where a batch may be delivered twice."""
    if delivery.guarantee == "at_least_once":
        return None
    return Policy(delivery.unknown_timeout if delivery.on_unknown == "deliver" else None)


@dataclass(frozen=True)
class Listener:
    """Who hears of looks: `looking` of one that goes on, and of None at its end; `found` of what a sink holds, or of
    None and why that is not known; `delayed` of a sink that does not answer, and of None once it has; `noted` of the
    batch with the ends of a sink that is given some of it next."""

    looking: Callable[[Checking | None], None]
    found: Callable[[Look | None, str], None]
    delayed: Callable[[Holding | None], None]
    noted: Callable[[Planned], None]


class Deduplication:
    """What is known of one batch. `suspects`: sinks that an earlier run may have given some of it; its writers are over
    since `over_since` (monotonic seconds), or since now. `wait`: raises where a stop gives the batch up. `duplicates`:
    how many records of it the sinks have beyond the first of each event, known once it is delivered."""

    def __init__(
        self,
        planned: Planned,
        sinks: Mapping[str, SinkBuilder],
        policy: Policy,
        *,
        wait: Wait,
        listener: Listener,
        suspects: frozenset[str] = frozenset(),
        over_since: float | None = None,
    ) -> None:
        self._planned = planned
        self._sinks = {name: sink for name, sink in sinks.items() if sink.deduplicates}
        self._policy, self._wait, self._listener = policy, wait, listener
        self._looks: dict[str, Look] = {}
        since = time.monotonic() if over_since is None else over_since
        self._over = dict.fromkeys(suspects & self._sinks.keys(), since)
        self._suspects = frozenset(self._over)
        self._silent: set[str] = set()
        self._hopeless: set[str] = set()
        self._failures = 0
        self.duplicates = 0

    def failed(self, sink: str, spark: SparkSession) -> None:
        """An attempt has failed, and may have given the sink some of the batch."""
        self._failures += 1
        if sink in self._sinks:
            self._over[sink] = time.monotonic() + self._sinks[sink].abandon(spark)

    def prepare(self, sink: str) -> None:
        """The sink is given some of the batch next: its ends are noted, if they were not known when it was planned.
        Raises any exception where it does not tell them."""
        if sink in self._sinks and self._untouched(sink):
            builder = self._sinks[sink]
            known = {**self._planned.sink_ends, sink: within(builder.place.path, builder.ends)()}
            self._planned = self._planned.model_copy(update={"sink_ends": known})
            self._listener.noted(self._planned.attempted(self._failures))

    def _untouched(self, sink: str) -> bool:
        """Nothing of the batch was given to it, by no run: its ends would have been noted first."""
        return self._planned.sink_ends.get(sink) == []

    def ended(self, ranges: list[PartitionRange]) -> None:
        """A batch that had no end has one: what comes after it is of the next one."""
        self._planned = self._planned.model_copy(update={"ranges": ranges, "open_ended": False})

    def repeated(self, sink: str) -> None:
        """The attempt that worked has given the sink some events twice."""
        if sink in self._sinks:
            self._over.setdefault(sink, time.monotonic())

    def held(self, spark: SparkSession) -> Held | None:
        """What the sinks hold now; None where none of them was given anything. Raises Cancelled where a stop gives the
        batch up."""
        for name in sorted(self._over):
            if self._untouched(name):
                del self._over[name]
                continue
            look = self._settled(name, spark) if self._planned.open_ended else self._look(name, spark)
            if look:
                self._listener.found(look, "")
        return union(look.held for look in self._looks.values()) if self._looks else None

    def _settled(self, name: str, spark: SparkSession) -> Look | None:
        """A batch without an end cannot be looked at when it is over, while the next one is at work: what comes late is
        waited for until nothing more has come for a second."""
        look = self._look(name, spark)
        for _ in range(_MOST_LOOKS):
            before = look
            self._wait(_AGAIN)
            self._over[name] = 0.0
            look = self._look(name, spark)
            if before and look and look.held.records == before.held.records:
                break
        return look

    def _look(self, name: str, spark: SparkSession) -> Look | None:
        """Ask until there is an answer, or as long as the policy says; one that has been silent for so long is asked
        once. None where there is no answer."""
        sink, over = self._sinks[name], self._over.pop(name)
        if name in self._hopeless:
            return None
        timeout = None if self._planned.open_ended else self._policy.timeout
        timeout = 0.0 if name in self._silent else timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        self._wait(max(0.0, over + _SETTLES - time.monotonic()))
        since, away = time.time(), name in self._silent
        for attempt in itertools.count(1):
            try:
                found = self._further(name, spark)
                if not away:
                    return found
            except Py4JNetworkError:
                raise
            except Exception as error:
                hopeless = isinstance(error, Unverifiable)
                cause = str(error) if hopeless else explain(error)
            else:  # a broker that was frozen may answer before it has taken in what was sent to it
                away = False
                self._wait(_SETTLES)
                continue
            finally:
                self._listener.looking(None)
            away = True
            if hopeless or (deadline is not None and time.monotonic() >= deadline):
                break
            self._listener.delayed(
                Holding(component=sink.place.path, cause=f"{_WAITS} {cause}", attempts=attempt, since=since)
            )
            self._wait(_AGAIN)
        self._give_up(name, cause, hopeless=hopeless)
        return None

    def _further(self, name: str, spark: SparkSession) -> Look:
        """Look again, at what came after the last look alone."""
        sink, before = self._sinks[name], self._looks.get(name)

        def told(looked_at: int, records: int) -> None:
            self._listener.looking(Checking(sink=sink.place.path, looked_at=looked_at, records=records))

        found = within(sink.place.path, sink.look)(self._planned, spark, before.until if before else None, told)
        self._silent.discard(name)
        self._looks[name] = look = Look(before.held | found.held, found.until) if before else found
        return look

    def _give_up(self, name: str, cause: str, *, hopeless: bool) -> None:
        """Nobody knows what it holds. A batch without an end has no bound, either: a person has to decide."""
        if self._planned.open_ended:
            raise Blocked(_tail_unreadable(self._sinks[name].place.path, cause))
        if hopeless:
            self._hopeless.add(name)
        if hopeless or name not in self._silent:
            self._listener.found(None, cause)
            path = self._sinks[name].place.path
            say(f"{path} does not report what it has of a batch, which is delivered again: {cause}", "WARNING")
        self._silent.add(name)
        self._looks.pop(name, None)

    def delivered(self, sink: str, written: int, spark: SparkSession) -> None:
        """The sink has acknowledged so many events: look once more for those that came late. Raises Cancelled where a
        stop gives the batch up."""
        if not (self._looks or self._over or self._silent):
            return
        before = {name: look.held for name, look in self._looks.items()}
        self._over = dict.fromkeys(before.keys() | self._silent, 0.0) | self._over
        for name in sorted(self._over):
            self._look(name, spark)
        self._listener.delayed(None)
        known = self._looks.keys()
        once = union(held for name, held in before.items() if name in known).events
        found = sum(look.held.records for look in self._looks.values())
        self.duplicates = found - once - (written if sink in known else 0)

    @property
    def found_twice(self) -> int:
        """Records beyond the first of each event, as of the last look."""
        held = [look.held for look in self._looks.values()]
        return sum(each.records for each in held) - union(held).events

    @property
    def covered(self) -> frozenset[str]:
        """The sinks of which it is known what they hold."""
        return frozenset(self._sinks.keys() - self._silent)

    @property
    def unknown_attempts(self) -> int:
        """How often earlier runs may have given the batch to a sink of which it is not known what it holds."""
        return max(1, self._planned.attempts) if self._suspects & self._silent else 0


def _tail_unreadable(sink: str, cause: str) -> AgentFinding:
    return AgentFinding(
        path=sink,
        code="SINK_TAIL_UNREADABLE",
        message=f"The sink did not report how much of an unfinished real-time batch it has: {cause}",
        suggestion="Set the positions where the sink ends, or set delivery.guarantee: at_least_once.",
    )
