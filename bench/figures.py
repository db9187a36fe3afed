"""The pure arithmetic of a benchmark: percentiles, rates, and what one measurement is called."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """One metric of one system in one case; `values` are those of the single runs, in their order."""

    case: str
    system: str
    metric: str
    unit: str
    median: float
    values: list[float]

    def plain(self) -> dict[str, Any]:
        """As it stands in the JSON report."""
        return asdict(self)


def result(case: str, system: str, metric: str, values: Sequence[float]) -> Result:
    """Median and values of one metric, rounded to four significant digits or whole numbers; the unit is the metric's.

    Raises ValueError without a value.
    """
    if not values:
        raise ValueError(f"{case}/{system}/{metric} has no value")
    return Result(
        case, system, metric, unit_of(metric), rounded(statistics.median(values)), [rounded(v) for v in values]
    )


def unit_of(metric: str) -> str:
    """The unit that a metric's name ends in."""
    endings = {
        "records_per_second": "records/s",
        "seconds_per_million": "s per million records",
        "_seconds": "s",
        "_ms": "ms",
        "_kb": "kB",
        "_mb": "MB",
        "_percent": "%",
        "_records": "records",
        "queries_per_tick": "queries",
        "mb_per_day": "MB/day",
        "frames_per_second": "frames/s",
        "_nodes": "nodes",
    }
    return next(unit for ending, unit in endings.items() if metric.endswith(ending))


def rounded(value: float) -> float:
    """Four significant digits; large values are whole."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, max(0, 3 - math.floor(math.log10(abs(value)))))


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that `share` (0 to 1) of all do not exceed.

    Raises ValueError without a value.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def steady_rate(arrivals: Mapping[int, int]) -> float:
    """Records per second of the second half: from the instant at which half of all had arrived to the last one.

    `arrivals`: how many arrived at each instant, in milliseconds. Where all arrived at once the rate is infinite.
    """
    total, seen = sum(arrivals.values()), 0
    ordered = sorted(arrivals.items())
    for instant, count in ordered:
        seen += count
        if 2 * seen >= total:
            left, span = total - seen, ordered[-1][0] - instant
            return left * 1000 / span if span else math.inf
    raise ValueError("nothing arrived")
