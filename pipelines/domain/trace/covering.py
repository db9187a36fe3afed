"""Which rows of the ledger hold an offset, and why none does. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain.trace.question import Place


@dataclass(frozen=True)
class Covered:
    """`rows`: keys of those that hold the offset; `first`: the first offset of its partition that any row holds, by
    source and channel."""

    rows: list[int]
    first: dict[tuple[str, str], int]


@dataclass(frozen=True)
class Row:
    """What is needed of a row. `open_ended`: its end is not known yet."""

    id: int
    query: tuple[str, str]
    open_ended: bool
    ranges: Sequence[Mapping[str, Any]]


def covering(rows: Iterable[Row], place: Place) -> Covered:
    """The rows of a ledger that hold a record, in their order."""
    found: list[int] = []
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        for each in row.ranges:
            if each["topic"] != place.topic or each["partition"] != place.partition:
                continue
            first[row.query] = min(each["start"], first.get(row.query, each["start"]))
            if each["start"] <= place.offset and (row.open_ended or place.offset < each["end"]):
                found.append(row.id)
    return Covered(found, first)
