"""One record that is looked for in a sink, and what was found."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.base.positions import TopicPartition


@dataclass(frozen=True)
class Wanted:
    """One record of a query's source, written to the sink between two instants in milliseconds; without `until`, up to
    now."""

    source: str
    channel: str
    topic: str
    partition: int
    offset: int
    since: int | None
    until: int | None


@dataclass(frozen=True)
class Located:
    """A record of a sink that was made of another one. `at`: its timestamp in milliseconds; `copy`: 0 for the first
    event that was made of it, then 1, 2, …"""

    key: TopicPartition
    offset: int
    at: int | None
    copy: int


@dataclass(frozen=True)
class Search:
    """What came of looking for a record. `left_out`: why one that is not found may be there all the same; empty where
    it is not."""

    found: list[Located]
    searched: int
    left_out: str = ""
