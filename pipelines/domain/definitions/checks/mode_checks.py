"""Semantic findings about the delivery mode: what real-time mode cannot run.

Source: Spark's real-time mode runs projections and filters from Kafka to Kafka; no code outside the JVM, no second
output, no limit of a batch's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pipelines.domain.base.findings import Finding, PathParts, listed, quote
from pipelines.domain.definitions.checks.value_checks import duration_at
from pipelines.domain.definitions.document.outline import Outline, Part, error, parts
from pipelines.domain.definitions.document.spec import Delivery, Lifecycle

REAL_TIME_INTERCEPTORS = frozenset(
    {
        "timestamp",
        "host",
        "static",
        "regex_filter",
        "regex_extractor",
        "search_replace",
        "remove_header",
        "uuid",
    }
)
_OR_MICRO_BATCH = "or set delivery.mode to micro_batch."


def real_time_can_run_it(outline: Outline) -> Iterator[Finding]:
    """Every key that is in the way of real-time mode."""
    delivery = outline.data.get("delivery")
    if not isinstance(delivery, dict) or delivery.get("mode") != "real_time":
        return
    for source in outline.sources:
        yield from _only((*source.path, "type"), source.text("type"), {"kafka"}, "source")
        yield from _plain_records(source)
        yield from _interceptors(source)
        yield from _selector(source)
    for channel in parts(outline.data, "channels"):
        yield from _only((*channel.path, "type"), channel.text("type"), {"direct"}, "channel")
    for sink in outline.sinks:
        yield from _only((*sink.path, "type"), sink.text("type"), {"kafka"}, "sink")
    for group in outline.groups:
        kind = group.mapping("processor").get("type", "default")
        yield from _only((*group.path, "processor", "type"), kind, {"default"}, "processor")
    yield from _no_limit(delivery)
    yield from _drain_outlasts_a_batch(outline, delivery)


def _only(path: PathParts, found: Any, possible: set[str], what: str) -> Iterator[Finding]:
    if isinstance(found, str) and found not in possible:
        message = f"Real-time mode cannot run a {what} of type {quote(found)}."
        yield error(path, "not_in_real_time", message, f"Use {listed(sorted(possible))}, {_OR_MICRO_BATCH}")


def _plain_records(source: Part) -> Iterator[Finding]:
    if source.keys.get("parse_as_flume_event") is True:
        message = "A record that cannot be read would be a dead letter, and real-time mode has no second output."
        yield error(
            (*source.path, "parse_as_flume_event"), "not_in_real_time", message, f"Remove it, {_OR_MICRO_BATCH}"
        )


def _interceptors(source: Part) -> Iterator[Finding]:
    listed_ones = source.keys.get("interceptors")
    for number, keys in enumerate(listed_ones if isinstance(listed_ones, list) else []):
        kind = keys.get("type") if isinstance(keys, dict) else None
        path = (*source.path, "interceptors", number, "type")
        yield from _only(path, kind, set(REAL_TIME_INTERCEPTORS), "interceptor")


def _selector(source: Part) -> Iterator[Finding]:
    selector = source.mapping("selector")
    if selector.get("type") == "multiplexing" and not selector.get("default"):
        message = "An event that matches no mapping would be a dead letter, and real-time mode has no second output."
        yield error(
            (*source.path, "selector", "default"), "not_in_real_time", message, f"Add a default, {_OR_MICRO_BATCH}"
        )


def _no_limit(delivery: dict[str, Any]) -> Iterator[Finding]:
    for key in ("max_events_per_batch", "trigger_interval_ms", "target_latency"):
        if delivery.get(key) is not None:
            message = f"{key} limits batches; in real-time mode a batch is a length of time."
            yield error(
                ("delivery", key), "not_in_real_time", message, f"Use batch_duration instead, {_OR_MICRO_BATCH}"
            )


def _drain_outlasts_a_batch(outline: Outline, delivery: dict[str, Any]) -> Iterator[Finding]:
    lifecycle = outline.data.get("lifecycle")
    keys = lifecycle if isinstance(lifecycle, dict) else {}
    drain = duration_at(keys, "drain_timeout", Lifecycle)
    batch = duration_at(delivery, "batch_duration", Delivery)
    if drain is not None and batch is not None and drain <= batch:
        message = f"A pause waits for the end of a batch: up to {batch:g} s, and drain_timeout is {drain:g} s."
        suggestion = "Raise lifecycle.drain_timeout, or lower delivery.batch_duration."
        yield error(("lifecycle", "drain_timeout"), "deadlines_disagree", message, suggestion)


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (real_time_can_run_it,)
