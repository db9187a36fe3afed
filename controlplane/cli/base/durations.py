"""Durations as people type them."""

from __future__ import annotations

from math import ceil

from controlplane.cli.base.errors import CommandError


def seconds(text: str) -> float:
    """Raises CommandError where it is none."""
    from pipelines.domain.base import values

    try:
        return values.seconds(text)
    except ValueError:
        raise CommandError.of_usage(f"{text} is not a duration: write 30s, 15m or 1h.") from None


def minutes(text: str) -> int:
    """Whole minutes, at least one. Raises CommandError where it is no duration."""
    return max(1, ceil(seconds(text) / 60))
