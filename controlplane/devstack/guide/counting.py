"""Every record of the source since shortly before a fault, looked for in the sink, and counted there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from controlplane.devstack import topics
from controlplane.devstack.client import Json
from controlplane.devstack.demo import PARTITIONS, Demo
from controlplane.devstack.records import number_of

BEFORE = 2_000
"""Records of each partition of the source before the fault that are counted, too."""
_LOOKED_BACK = PARTITIONS * BEFORE
"""Records of each partition of the sink among which all of these are, wherever they went."""


def marks(demo: Demo) -> Json:
    """Where counting starts. The sink is asked first: what it gets in between is looked for anyway."""
    sink = topics.end_offsets(demo.servers, demo.sink)
    source = topics.end_offsets(demo.servers, demo.source)
    return {"source": _back(source, BEFORE), "sink": _back(sink, _LOOKED_BACK)}


def count(demo: Demo, found: Json, ledger: Json) -> Json:
    """What became of the source's records from `found["source"]` to `found["until"]`."""
    source, sink = _offsets(found["source"]), _offsets(found["sink"])
    expected = set(_numbers(topics.read(demo.servers, demo.source, source, _offsets(found["until"]))))
    seen = Counter(_numbers(topics.read(demo.servers, demo.sink, sink)))
    times = [seen[number] for number in expected]
    return {
        "records": len(expected),
        "missing": times.count(0),
        "duplicates": sum(each - 1 for each in times if each),
        "possible_duplicates": int(ledger["duplicates_max"]),
        "balanced": bool(ledger["balanced"]),
    }


def _back(ends: dict[int, int], records: int) -> dict[str, int]:
    return {str(partition): max(0, end - records) for partition, end in ends.items()}


def _offsets(stored: Json) -> dict[int, int]:
    return {int(partition): int(offset) for partition, offset in stored.items()}


def _numbers(bodies: Iterable[bytes]) -> Iterator[int]:
    """Those of orders; what the filter drops has none."""
    for body in bodies:
        try:
            yield number_of(body)
        except ValueError:
            continue
