"""What sink processors have in common: rounds of candidates, one report for each, and the pool of failed members."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from pipelines.domain.ledger.sink_groups import RECOVERED, Penalty, Pools, Switch, penalty_ms

Clock = Callable[[], float]

SHORTEST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
_DOUBLINGS = 5


class AllFailed(Exception):
    """No sink of a group took the batch; it is held. `causes`: the last one of each member."""

    def __init__(self, group: str, causes: Mapping[str, str]) -> None:
        self.group = group
        self.causes = dict(causes)
        listed = "; ".join(f"{sink}: {cause}" for sink, cause in self.causes.items())
        super().__init__(f"all sinks of group {group} failed: {listed}")

    @classmethod
    def of(cls, group: str, pools: Pools) -> AllFailed:
        """Read the causes from the failed pool."""
        return cls(group, {penalty.sink: penalty.cause for penalty in pools.failed})


class Processor(Protocol):
    """Chooses the sinks that are tried for a batch. It neither waits nor writes; one thread drives it.

    A caller takes a candidate, tries the batch on it and reports exactly one of `delivered` and `failed`. A caller that
    is cancelled stops iterating and reports nothing: nobody is penalised. `pools` may be read from any thread.
    """

    def candidates(self) -> Iterator[str]:
        """Members to try for one batch, in order, each at most once; ends after one has delivered."""
        ...

    def delivered(self, sink: str) -> list[Switch]:
        """The candidate took the batch."""
        ...

    def failed(self, sink: str, cause: str) -> list[Switch]:
        """The candidate failed with the batch."""
        ...

    def pause(self) -> float:
        """After all have failed: seconds until another round makes sense."""
        ...

    def pools(self) -> Pools:
        """Who is live, who is out, until when and why."""
        ...

    def restore(self, penalties: list[Penalty]) -> None:
        """Continue with the penalties of the run before."""
        ...


@dataclass(frozen=True)
class _Failed:
    failures: int
    until: float
    cause: str


class GroupProcessor(ABC):
    """Rounds and penalties. A round is fixed when it begins, so that it ends however long its attempts take."""

    def __init__(self, members: Iterable[str], longest_ms: int, *, clock: Clock, wall: Clock) -> None:
        self._members = list(members)
        self._longest_ms = longest_ms
        self._clock = clock
        self._wall = wall
        self._out: dict[str, _Failed] = {}  # replaced, never changed: `pools` is read by another thread
        self._ahead: list[str] = []
        self._tried: str | None = None

    @abstractmethod
    def _round(self) -> list[str]:
        """The members to try for the next batch, in order."""

    @property
    @abstractmethod
    def active(self) -> str:
        """The member whose turn it is; empty where there is none."""

    def candidates(self) -> Iterator[str]:
        """Members to try for one batch, in order. Raises RuntimeError where the one before was not reported."""
        ahead = self._ahead = self._round()
        self._tried = None
        while ahead:
            self._tried = sink = ahead.pop(0)
            yield sink
            if self._tried is not None:
                raise RuntimeError(f"there was no report on the batch at {sink}")

    def delivered(self, sink: str) -> list[Switch]:
        """It is live, its failures are forgotten, and the round is over."""
        self._take_report(sink)
        self._ahead.clear()
        if sink not in self._out:
            return []
        self._out = {name: each for name, each in self._out.items() if name != sink}
        return [Switch(sink=sink, to=self.active, cause=RECOVERED)]

    def failed(self, sink: str, cause: str) -> list[Switch]:
        """It is out for a time that doubles with each failure in a row."""
        self._take_report(sink)
        before = self._out.get(sink)
        failures = before.failures + 1 if before else 1
        penalty = penalty_ms(failures, self._longest_ms)
        self._out = {**self._out, sink: _Failed(failures, self._clock() + penalty / 1000, cause)}
        following = self._ahead[0] if self._ahead else ""
        until = round(self._wall() + penalty / 1000, 3)
        return [Switch(sink=sink, to=following, cause=cause, penalty_ms=penalty, failures=failures, until=until)]

    def _take_report(self, sink: str) -> None:
        if sink != self._tried:
            raise RuntimeError(f"a report on {sink}, which was not the candidate: that is {self._tried}")
        self._tried = None

    def pause(self) -> float:
        """Seconds until the first penalty ends, within half a second and ten seconds.

        Without penalties: half a second, doubling with each round in which all have failed.
        """
        out = self._out.values()
        if self._longest_ms:
            seconds = min((each.until for each in out), default=0.0) - self._clock()
        else:
            rounds = min((each.failures for each in out), default=1)
            seconds = SHORTEST_PAUSE * 2 ** min(rounds - 1, _DOUBLINGS)
        return min(LONGEST_PAUSE, max(SHORTEST_PAUSE, seconds))

    def pools(self) -> Pools:
        """Live members in the order of the definition, failed ones in the order in which they may come back."""
        out = self._out
        offset = self._wall() - self._clock()
        failed = [
            Penalty(sink=sink, failures=each.failures, until=round(each.until + offset, 3), cause=each.cause)
            for sink, each in sorted(out.items(), key=lambda item: item[1].until)
        ]
        return Pools(active=self.active, live=[name for name in self._members if name not in out], failed=failed)

    def restore(self, penalties: list[Penalty]) -> None:
        """Take over what is left of each penalty, never more than the longest of this configuration."""
        now, wall = self._clock(), self._wall()
        known = [penalty for penalty in penalties if penalty.sink in self._members]
        self._out = {
            each.sink: _Failed(each.failures, now + self._remaining(each.until - wall), each.cause) for each in known
        }

    def _remaining(self, seconds: float) -> float:
        return min(self._longest_ms / 1000, max(0.0, seconds))

    def _is_out(self, sink: str) -> bool:
        """Whether its penalty is still running."""
        failed = self._out.get(sink)
        return failed is not None and failed.until > self._clock()
