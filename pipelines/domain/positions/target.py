"""Where to go on, as people write it: `ledger`, `timestamp=-30m`, `offsets=orders/0:1200,orders/1:1180`."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from pipelines.domain.positions.plan import Goal, Target

_SIMPLE = {goal.value: goal for goal in Goal if goal not in (Goal.TIMESTAMP, Goal.OFFSETS)}
_AGO = re.compile(r"-\s*(\d{1,12})(ms|s|m|h|d|w)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PARTITION = re.compile(r"\s*([A-Za-z0-9._-]{1,249})[/:](\d{1,18})[:=@](\S+)\s*")
_OFFSET = re.compile(r"[0-9]{1,18}")
FORMS = (
    f"{', '.join(_SIMPLE)}, timestamp=-30m, timestamp=2026-01-31T12:00:00Z, before=EVENT-30m, "
    "offsets=TOPIC/PARTITION:OFFSET,… (also earliest, latest, -30m or a time in place of an offset)"
)


class BadTarget(ValueError):
    """It is none of the forms; the text says what is wrong."""


def target(written: Any, *, now: datetime, source: str | None = None) -> Target:
    """Read a target, as text or as an object with one key. Relative times count from `now`. Raises BadTarget."""
    name, value = _parted(written)
    if name in _SIMPLE and value is None:
        return Target(goal=_SIMPLE[name], source=source)
    if name == Goal.TIMESTAMP and value is not None:
        return Target(goal=Goal.TIMESTAMP, at=_moment(value, now), source=source)
    if name == Goal.OFFSETS and value is not None:
        return _partitions(value, now).model_copy(update={"source": source})
    raise BadTarget(f"{written!r} is not a position to continue from. Write one of: {FORMS}.")


def _parted(written: Any) -> tuple[str, Any]:
    if isinstance(written, str):
        name, equals, value = written.strip().partition("=")
        return name.strip(), value.strip() if equals else None
    if isinstance(written, dict) and len(written) == 1:
        ((name, value),) = written.items()
        return str(name), value
    return "", None


def _moment(value: Any, now: datetime) -> int:
    """Wall milliseconds."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    text = str(value).strip()
    if ago := _AGO.fullmatch(text):
        return max(0, round(now.timestamp() * 1000) - int(ago[1]) * _MILLISECONDS[ago[2]])
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadTarget(f"{text!r} is no time: write -30m, RFC 3339, or milliseconds since 1970.") from None
    return max(0, round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))


def _partitions(value: Any, now: datetime) -> Target:
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return _listed(value, now)
    try:
        return Target(goal=Goal.OFFSETS, offsets=json.loads(value) if isinstance(value, str) else value)
    except (ValidationError, ValueError, RecursionError):
        raise BadTarget('offsets are {"TOPIC": {"PARTITION": OFFSET}}, each a number that is zero or more.') from None


def _listed(text: str, now: datetime) -> Target:
    """Of each partition its offset, a word such as `latest`, or a time."""
    offsets: dict[str, dict[int, int]] = {}
    goals: dict[str, dict[int, Goal]] = {}
    times: dict[str, dict[int, int]] = {}
    for part in text.split(","):
        match = _PARTITION.fullmatch(part)
        if match is None:
            raise BadTarget(f"{part.strip()!r} is not TOPIC/PARTITION:OFFSET.")
        topic, partition, at = match[1], int(match[2]), match[3]
        if _OFFSET.fullmatch(at):
            offsets.setdefault(topic, {})[partition] = int(at)
        elif at in _SIMPLE:
            goals.setdefault(topic, {})[partition] = _SIMPLE[at]
        else:
            times.setdefault(topic, {})[partition] = _moment(at, now)
    return Target(goal=Goal.OFFSETS, offsets=offsets, goals=goals, times=times)
