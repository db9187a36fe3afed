"""Wall time, for what people read and what the database orders. Deadlines between processes use CLOCK_BOOTTIME."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)
