"""What a test of a fault tells the report in docs/reference/chaos.md about the records that it counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

RecordProperty = Callable[[str, object], None]
"""Pytest's fixture `record_property`; the report knows tries, missing, duplicates, announced and recovery_seconds."""


def report_arrival(
    tell: RecordProperty, found: Mapping[int, int], expected: Iterable[Hashable], possible_duplicates: int = 0
) -> tuple[int, int]:
    """Tell how many expected records are missing, how many are there too often, and how many of those the ledger
    announced; returns the first two."""
    missing = sum(1 for each in expected if each not in found)
    duplicates = sum(found.values()) - len(found)
    tell("missing", missing)
    tell("duplicates", duplicates)
    tell("announced", possible_duplicates)
    return missing, duplicates
