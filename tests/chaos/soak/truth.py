"""What must be true of a pipeline's page, judged from what was measured beside it. Pure.

A disagreement is a statement of the API that the measurement contradicts. Everything needs a moment to be noticed, so
one counts only when it has been found for longer than the patience that its kind has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

PATIENCE = 10.0
"""Seconds that a statement may be wrong."""
LONG = 30.0
"""Seconds after which a pipeline with nothing in its way must work; the start of an agent takes a part of it."""
CLAIM_AN_AGENT = frozenset({"RUNNING", "DEGRADED", "STALLED", "PAUSING", "PAUSED"})
_KNOW_THEIR_LAG = frozenset({"RUNNING", "STALLED", "PAUSED"})
CLAIM_NONE = frozenset({"STOPPED", "BLOCKED", "FAILED"})
_OF_THE_PRESENT = frozenset({"unknown", "blocked", "failed", "stalled", "unsupervised", "journal_damaged"})
"""Alerts whose cause is over with the phase RUNNING. `agent_crashed` stays for `restart_reset_after`."""
_AT_REST = frozenset({"UNKNOWN", "BLOCKED", "FAILED", "BACKOFF", "STOPPING", "STARTING", "PREFLIGHT"})


class Kind(StrEnum):
    """What can be wrong with a page."""

    NO_ANSWER = "no_answer"
    UNAVAILABLE = "unavailable"
    AGENT_DEAD = "agent_dead"
    AGENT_HALTED = "agent_halted"
    DIRECTORY_GONE = "directory_gone"
    SOURCE_AWAY = "source_away"
    SINK_AWAY = "sink_away"
    STILL_ALIVE = "still_alive"
    TWO_AGENTS = "two_agents"
    WORKER_AWAY = "worker_away"
    WORKER_THERE = "worker_there"
    TOTALS = "totals"
    MISSING = "missing"
    LAG = "lag"
    STANDS_STILL = "stands_still"
    CONTRADICTION = "contradiction"
    ALERT_AFTER_RECOVERY = "alert_after_recovery"
    PHASE_AFTER_RECOVERY = "phase_after_recovery"


_SLOW = {Kind.STANDS_STILL, Kind.PHASE_AFTER_RECOVERY, Kind.WORKER_THERE}
_AT_ONCE = {Kind.TOTALS, Kind.MISSING}
"""What was acknowledged is in the sink before the API can know of it: no moment excuses that it is not."""


@dataclass(frozen=True)
class Patience:
    """Seconds by kind."""

    usual: float = PATIENCE
    slow: float = LONG

    def of(self, kind: Kind) -> float:
        """How long a disagreement of this kind is none."""
        if kind in _AT_ONCE:
            return 0.0
        return self.slow if kind in _SLOW else self.usual


@dataclass(frozen=True)
class Shown:
    """What the API says of a pipeline; `refused`: the code of the problem in place of an answer."""

    phase: str = ""
    desired: str = ""
    supervised: bool = True
    alerts: frozenset[str] = frozenset()
    conditions: Mapping[str, str] = field(default_factory=dict)
    lag: int | None = None
    read: int = 0
    delivered: int = 0
    balanced: bool = True
    duplicates_max: int = 0
    positions: Mapping[int, int] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True)
class Agent:
    """Processes of one run, as /proc has them; `complete`: keeper, driver and JVM."""

    run: str
    driver: bool
    complete: bool
    halted: bool


@dataclass(frozen=True)
class Measured:
    """What was found beside the API. `whole`: the living agent's directory is there, with a journal that only grew.
    `records` of the sink, of which `doubled` are there too often; `lost`: numbers below the shown positions that the
    sink does not have. None: it could not be measured. `still`: seconds since the sink got a record."""

    agents: tuple[Agent, ...] = ()
    whole: bool = True
    source: bool = True
    sink: bool = True
    worker: bool = True
    web: bool = True
    database: bool = True
    ends: int | None = None
    committed: int | None = None
    records: int | None = None
    doubled: int = 0
    lost: int | None = None
    still: float = 0.0

    @property
    def healthy(self) -> bool:
        """Whether nothing is in the way of a running pipeline."""
        one = len(self.agents) == 1 and self.agents[0].complete and not self.agents[0].halted
        return one and self.whole and self.source and self.sink and self.worker and self.web and self.database

    @property
    def backlog(self) -> int | None:
        """Records of the source beyond the committed offsets."""
        return None if self.ends is None or self.committed is None else self.ends - self.committed


def steady(before: Measured, after: Measured) -> Measured:
    """What held before and after a question to the API: trouble that came or went meanwhile says nothing about the
    answer. Agents are those that were there both times; counts are the later ones."""
    runs = {agent.run: agent for agent in before.agents}
    agents = tuple(
        replace(
            agent,
            halted=agent.halted and runs[agent.run].halted,
            driver=agent.driver or runs[agent.run].driver,
        )
        for agent in after.agents
        if agent.run in runs
    )
    return replace(
        after,
        agents=agents,
        **{
            name: getattr(before, name) or getattr(after, name)
            for name in ("whole", "source", "sink", "worker", "web", "database")
        },
    )


def disagreements(shown: Shown | None, measured: Measured, slack: int) -> dict[Kind, str]:
    """What the API says and the measurement contradicts, each in words. None: it does not answer. `slack`: records by
    which a lag may be off, since both sides are seconds old."""
    if shown is None:
        words = "the web server lives, and the API does not answer"
        return {Kind.NO_ANSWER: words} if measured.web and measured.database else {}
    if shown.refused:
        words = f"the API answers {shown.refused}, and the database can be written"
        return {Kind.UNAVAILABLE: words} if measured.database else {}
    return dict(
        [
            *_of_the_agent(shown, measured),
            *_of_the_worker(shown, measured),
            *_of_the_words(shown),
            *_of_the_numbers(shown, measured, slack),
            *_after_recovery(shown, measured),
        ]
    )


def _of_the_agent(shown: Shown, measured: Measured) -> Iterator[tuple[Kind, str]]:
    if len([agent for agent in measured.agents if agent.driver]) > 1:
        yield Kind.TWO_AGENTS, f"agents of {', '.join(sorted(agent.run for agent in measured.agents))} live at once"
    if not shown.supervised:
        return  # the page says that it shows the last report
    if shown.phase in CLAIM_NONE and any(agent.driver for agent in measured.agents):
        yield Kind.STILL_ALIVE, f"{shown.phase}, and an agent lives"
    if shown.phase not in CLAIM_AN_AGENT:
        return
    if not any(agent.driver for agent in measured.agents):
        yield Kind.AGENT_DEAD, f"{shown.phase}, and no agent lives"
    if any(agent.halted for agent in measured.agents):
        yield Kind.AGENT_HALTED, f"{shown.phase}, and a process of the agent is halted"
    if not measured.whole:
        yield Kind.DIRECTORY_GONE, f"{shown.phase}, and the run's directory or journal is gone"
    if shown.phase == "RUNNING" and not measured.source:
        yield Kind.SOURCE_AWAY, "RUNNING, and the source cannot be reached"
    if shown.phase == "RUNNING" and not measured.sink:
        yield Kind.SINK_AWAY, "RUNNING, and the sink cannot be reached"


def _of_the_worker(shown: Shown, measured: Measured) -> Iterator[tuple[Kind, str]]:
    if shown.supervised and not measured.worker:
        yield Kind.WORKER_AWAY, "supervised, and the worker is dead or halted"
    if not shown.supervised and measured.worker and measured.database:
        yield Kind.WORKER_THERE, "not supervised, and the worker lives"


def _of_the_words(shown: Shown) -> Iterator[tuple[Kind, str]]:
    """Statements of one page that cannot both be true."""
    if shown.desired == "RUNNING" and shown.phase in _AT_REST and shown.conditions.get("Stable") == "True":
        yield Kind.CONTRADICTION, f"{shown.phase} and stable, and RUNNING is desired"
    if not shown.balanced and all(shown.conditions.get(each) == "True" for each in ("LedgerBalanced", "PositionsSafe")):
        yield Kind.CONTRADICTION, "the ledger totals are unbalanced, and the conditions say otherwise"
    if not shown.supervised and shown.conditions.get("Supervised") == "True":
        yield Kind.CONTRADICTION, "not supervised, and the condition Supervised is True"


def _of_the_numbers(shown: Shown, measured: Measured, slack: int) -> Iterator[tuple[Kind, str]]:
    if measured.records is not None and shown.delivered > measured.records:
        yield Kind.TOTALS, f"{shown.delivered} delivered, and the sink has {measured.records} records"
    if measured.ends is not None and (total := sum(shown.positions.values())) > measured.ends:
        yield Kind.TOTALS, f"positions of {total} records, and the source has {measured.ends}"
    says_so = shown.balanced and shown.conditions.get("LedgerBalanced", "True") == "True"
    if measured.lost and says_so:
        yield Kind.MISSING, f"balanced, and {measured.lost} records below the positions are not in the sink"
    backlog = measured.backlog if measured.source and shown.supervised and shown.phase in _KNOW_THEIR_LAG else None
    if shown.lag is not None and backlog is not None and abs(shown.lag - backlog) > slack:
        yield Kind.LAG, f"a lag of {shown.lag} records, and {backlog} are not committed"


def _after_recovery(shown: Shown, measured: Measured) -> Iterator[tuple[Kind, str]]:
    if not measured.healthy or shown.desired != "RUNNING":
        return
    if shown.phase != "RUNNING":
        yield Kind.PHASE_AFTER_RECOVERY, f"{shown.phase}, and nothing is in its way"
        return
    if over := shown.alerts & _OF_THE_PRESENT:
        yield Kind.ALERT_AFTER_RECOVERY, f"RUNNING, and the alerts {', '.join(sorted(over))}"
    if measured.still and (measured.backlog or 0) > 0:
        yield Kind.STANDS_STILL, f"RUNNING with {measured.backlog} records to read, and the sink gets none"


@dataclass
class Standing:
    """A disagreement: from when to when it was found without a break. `told`: it has outlasted its patience."""

    pipeline: str
    kind: Kind
    since: float
    until: float
    detail: str
    looks: int = 0
    told: bool = False

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return round(self.until - self.since, 1)


@dataclass
class Judge:
    """Keeps what disagrees from look to look. A break in the looks is a break in every disagreement: what was not
    looked at was not seen to last."""

    patience: Patience = Patience()
    break_after: float = PATIENCE
    at_least: int = 3
    """Looks at what lasts; two could miss what was between them."""
    _standing: dict[tuple[str, Kind], Standing] = field(default_factory=dict)
    _looked: dict[str, float] = field(default_factory=dict)

    def look(self, pipeline: str, found: Mapping[Kind, str], at: float) -> list[Standing]:
        """Disagreements that have outlasted their patience and are new, or have ended with this look."""
        if at - self._looked.get(pipeline, at) > self.break_after:
            self._forget(pipeline)
        self._looked[pipeline] = at
        ended = [each for each in self._of(pipeline) if each.kind not in found]
        for each in ended:
            del self._standing[pipeline, each.kind]
        return [*[each for each in ended if each.told], *self._told(pipeline, found, at)]

    def _told(self, pipeline: str, found: Mapping[Kind, str], at: float) -> Iterator[Standing]:
        for kind, detail in found.items():
            key = (pipeline, kind)
            each = self._standing.setdefault(key, Standing(pipeline, kind, at, at, detail))
            each.until, each.detail, each.looks = at, detail, each.looks + 1
            enough = kind in _AT_ONCE or each.looks >= self.at_least
            if not each.told and enough and each.seconds >= self.patience.of(kind):
                each.told = True
                yield each

    def _of(self, pipeline: str) -> list[Standing]:
        return [each for each in self._standing.values() if each.pipeline == pipeline]

    def _forget(self, pipeline: str) -> None:
        for each in self._of(pipeline):
            if not each.told:
                del self._standing[pipeline, each.kind]
