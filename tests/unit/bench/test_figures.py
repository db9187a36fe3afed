from __future__ import annotations

import math

import pytest

from bench.figures import percentile, result, rounded, steady_rate


def test_the_steady_rate_is_that_of_the_second_half() -> None:
    assert steady_rate({0: 10, 9_000: 90, 10_000: 100}) == 100
    assert steady_rate({0: 1, 1_000: 1, 2_000: 1, 3_000: 1}) == 1.0


def test_the_steady_rate_takes_arrivals_in_any_order() -> None:
    assert steady_rate({2_000: 4, 0: 2, 1_000: 2}) == 4.0


def test_what_arrives_at_once_has_no_rate_of_its_own() -> None:
    assert steady_rate({5: 100}) == math.inf


def test_nothing_has_no_rate() -> None:
    with pytest.raises(ValueError, match="nothing arrived"):
        steady_rate({})


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (0.991, 100.0), (1.0, 100.0)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: float) -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], share) == expected


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_a_result_has_the_median_the_single_values_and_a_unit() -> None:
    found = result("start", "flume", "wall_seconds", [3.00001, 1.0, 2.0])
    assert (found.median, found.values, found.unit) == (2.0, [3.0, 1.0, 2.0], "s")


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("steady_records_per_second", "records/s"),
        ("cpu_seconds_per_million", "s per million records"),
        ("peak_rss_mb", "MB"),
        ("latency_p99_ms", "ms"),
        ("ledger_cost_percent", "%"),
    ],
)
def test_a_metric_is_named_for_its_unit(metric: str, unit: str) -> None:
    assert result("c", "s", metric, [1.0]).unit == unit


def test_figures_keep_four_significant_digits() -> None:
    assert [rounded(value) for value in (547_123.4, 1.23456, 0.0123456, 0.0)] == [547_123, 1.235, 0.01235, 0.0]
