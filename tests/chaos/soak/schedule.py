"""Which fault strikes when, and whom: a pure function of the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

EVERY = 20.0
"""Seconds between two faults."""
_LASTS = (0.6, 0.9)
"""How long a fault that is healed stays in place, in parts of the time to the next one: longer than a page may be
wrong, and over before the next strike."""


@dataclass(frozen=True)
class Kind:
    """A fault of the list. `own`: it strikes one pipeline. `lasts`: it stays until it is healed. `at_most`: times in
    one soak, for what cannot be taken back."""

    name: str
    own: bool = True
    lasts: bool = False
    at_most: int | None = None


@dataclass(frozen=True)
class Strike:
    """A fault at `at` seconds after the beginning, healed `lasts` seconds later; 0 where nothing has to be healed.
    `pipeline` is empty where it strikes what all share; `chance`: 0 to 1, for what the fault leaves to chance."""

    number: int
    at: float
    fault: str
    pipeline: str
    lasts: float
    chance: float


KINDS = (
    Kind("agent_killed"),
    Kind("keeper_killed"),
    Kind("jvm_killed"),
    Kind("agent_halted", lasts=True),
    Kind("worker_killed", own=False),
    Kind("worker_halted", own=False, lasts=True),
    Kind("worker_killed_in_operation"),
    Kind("web_killed", own=False),
    Kind("redis_killed", own=False),
    Kind("redis_halted", own=False, lasts=True),
    Kind("broker_killed", own=False),
    Kind("broker_halted", own=False, lasts=True),
    Kind("directory_removed"),
    Kind("journal_truncated"),
    Kind("source_refused", own=False, lasts=True),
    Kind("source_unresponsive", own=False, lasts=True),
    Kind("sink_refused", own=False, lasts=True),
    Kind("sink_unresponsive", own=False, lasts=True),
    Kind("partition_added", at_most=4),
    Kind("poison"),
    Kind("huge_record"),
    Kind("group_churned"),
    Kind("database_locked", own=False, lasts=True),
    Kind("disk_full", own=False, lasts=True),
    Kind("user_pause", lasts=True),
    Kind("user_stop", lasts=True),
    Kind("user_restart"),
)
"""The whole list. Sources and sinks are reached through relays that all pipelines share."""
NAMES = tuple(kind.name for kind in KINDS)


def schedule(
    seed: int, seconds: float, pipelines: Sequence[str], names: Sequence[str] = NAMES, every: float = EVERY
) -> list[Strike]:
    """A fault every so many seconds, the last one early enough to be healed. Each fault of the list comes once, in
    random order, before one comes again."""
    dice = random.Random(seed)
    drawn = _drawn(dice, [kind for kind in KINDS if kind.name in names])
    made = []
    for number in range(int(seconds // every)):
        kind = next(drawn, None)
        if kind is None:
            break
        pipeline, part, chance = dice.choice(list(pipelines)), dice.uniform(*_LASTS), dice.random()
        made.append(
            Strike(
                number=number + 1,
                at=number * every,
                fault=kind.name,
                pipeline=pipeline if kind.own else "",
                lasts=round(part * every, 1) if kind.lasts else 0.0,
                chance=round(chance, 3),
            )
        )
    return made


def _drawn(dice: random.Random, kinds: Sequence[Kind]) -> Iterator[Kind]:
    """Every kind once, then again in another order, as often as it may come."""
    left = {kind: kind.at_most for kind in kinds}
    while bag := [kind for kind in kinds if left[kind] != 0]:
        dice.shuffle(bag)
        for kind in bag:
            left[kind] = None if left[kind] is None else (left[kind] or 0) - 1
            yield kind
