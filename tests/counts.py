"""Comparing what arrived with what should have, in a form that fits on a screen when it differs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import TypeVar

from pipelines.domain.ledger.ledger import Counts

K = TypeVar("K", bound=Hashable)


def is_balanced(counts: Counts) -> bool:
    """Whether every record of a batch has one verdict, and whatever a component decides is counted as its own."""
    return counts.balanced and counts.parts is not None


def not_once(found: Mapping[K, int], expected: Iterable[K]) -> dict[K, int]:
    """What is not there exactly once though expected, or is there unexpectedly: how often it is. At most 20 of them."""
    wanted = dict.fromkeys(expected, 1)
    wrong = (key for key in wanted | dict(found) if found.get(key, 0) != wanted.get(key, 0))
    return {key: found.get(key, 0) for key in islice(wrong, 20)}
