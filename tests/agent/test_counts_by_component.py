"""Every record that a component filters, adds, routes or makes a dead letter of counts as that component's, and the
bytes of those that arrive are added up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pipelines.domain.base.positions import PartitionRange, TopicPartition
from pipelines.domain.definitions.document.spec import Definition, Read
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.crashes import Quarantined
from tests.agent.expressions import SCHEMA, In, delivered, whole_plan
from tests.counts import is_balanced
from workers.agent.base.event import Event
from workers.agent.graph import compile as compiler
from workers.agent.graph.batch import Batch, Refusal
from workers.agent.graph.kept import Events
from workers.agent.graph.quarantine import marked, of_read
from workers.agent.positions.held import Bits, Copies, Held

VARIOUS = "tests.agent.interceptors:Various"
SELECTOR = "sources.shop.selector"
PLANNED = Planned(
    source="shop", channel="lake", batch=0, ranges=[PartitionRange(topic="t", partition=0, start=0, end=99)]
)


def at(number: int) -> str:
    return f"sources.shop.interceptors[{number}]"


def python(**keys: Any) -> dict[str, Any]:
    return {"type": "python", "class": VARIOUS, **keys}


FILTER = {"type": "regex_filter", "exclude_events": True}
REPLICATING = {"type": "replicating", "channels": ["lake", "other"]}
BY_HEADER = {"type": "multiplexing", "header": "country", "mapping": {"CZ": ["lake"], "US": ["other"]}}


class Pipeline:
    """A pipeline whose source gives these events, and what its passes count."""

    def __init__(
        self,
        session: SparkSession,
        events: Sequence[In],
        interceptors: Sequence[Mapping[str, Any]] = (),
        selector: Mapping[str, Any] = REPLICATING,
        quarantined: Sequence[Quarantined] = (),
        **source: Any,
    ) -> None:
        plain = {
            "api_version": "headgate/v1",
            "name": "orders",
            "sources": {
                "shop": {
                    "type": "kafka",
                    "bootstrap_servers": "127.0.0.1:9",
                    "topics": ["t"],
                    "group_id": "g",
                    "start_from": "earliest",
                    "interceptors": list(interceptors),
                    "selector": dict(selector),
                    **source,
                }
            },
            "channels": {"lake": {"type": "direct"}, "other": {"type": "direct"}},
            "sinks": {name: {"type": "null", "channel": name} for name in ("lake", "other")},
        }
        definition = Definition.model_validate(plain)
        self.graph = compiler.build(
            definition, lineage=1, state=Path(), classes=frozenset({VARIOUS}), quarantined=quarantined
        )
        for part in self.graph.interceptors["shop"]:
            part.initialise(session)
        rows = session.createDataFrame([event.row() for event in events], SCHEMA).coalesce(1)
        event = self._read(rows)
        event = marked(event, of_read(quarantined, Read("shop", ("lake", "other"))))
        self.frame = compiler.intercept(
            rows, event, self.graph.interceptors["shop"], self.graph.selectors["shop"]
        ).persist()

    def _read(self, rows: DataFrame) -> Event:
        event = Event(key=rows["key"], body=rows["body"], carried=rows["headers"])
        if "dead_lettered" not in self.graph.sources["shop"].causes:
            return event
        return event.failed_where(f.col("body") == f.lit(b"unreadable"), "sources.shop", f.lit("it is no event"))

    def counted(self, channel: str, refused: bytes | None = None) -> Counts:
        """What a pass counts of a channel whose sink refuses one body; every record has a verdict, in its part."""
        reason = None if refused is None else f.when(f.col("body") == f.lit(refused), f.lit("refused"))
        batch = Batch(Events(self.frame), PLANNED, self.graph.classifier("shop", channel))
        attempt = batch.attempt(f"sinks.{channel}", reason)
        delivered = attempt.events.collect()
        assert is_balanced(attempt.counts), attempt.counts
        assert attempt.counts.bytes_out == sum(len(row["body"] or b"") for row in delivered)
        dead = attempt.dead()
        kept = dead.groupBy("component").count().collect() if dead is not None else []
        of_dead = {row["component"]: row["count"] for row in kept}
        assert of_dead == {
            path: number
            for path, each in (attempt.counts.parts or {}).items()
            if (number := each.get("dead_lettered", 0) + each.get("unrouted", 0))
        }
        return attempt.counts.with_bytes(None)


def events(*bodies: str, **headers: str) -> list[In]:
    pairs = [(name, value.encode()) for name, value in headers.items()]
    return [In(body=body.encode(), offset=number, headers=pairs) for number, body in enumerate(bodies)]


def test_a_pipeline_whose_components_decide_nothing_has_no_parts(session: SparkSession) -> None:
    interceptors: list[dict[str, Any]] = [
        {"type": "static", "key": "k", "value": "v"},
        {"type": "host"},
        {"type": "timestamp"},
        {"type": "uuid"},
        {"type": "search_replace", "search_pattern": "a", "replace_string": "b"},
        {"type": "remove_header", "with_name": "k"},
        {"type": "regex_extractor", "regex": "(a)", "serializers": [{"name": "x"}]},
        {"type": "morph_json", "drop": ["x"], "on_error": "fail"},
    ]
    pipeline = Pipeline(session, events("{}", "{}"), interceptors)
    assert pipeline.counted("lake") == Counts(read=2, delivered=2)
    assert pipeline.graph.classifier("shop", "lake").fails == []


def test_the_first_of_several_interceptors_that_filter_an_event_counts_it(session: SparkSession) -> None:
    interceptors: list[dict[str, Any]] = [
        {**FILTER, "regex": "DEBUG"},
        {"type": "static", "key": "k", "value": "v"},
        {"type": "morph_json", "drop": ["x"], "on_error": "drop"},
        {**FILTER, "regex": "DEBUG|noise"},
    ]
    bodies = ('{"m":"DEBUG"}', "DEBUG", "no json", "noise", '{"m":"noise"}', '{"m":1}')
    found = Pipeline(session, events(*bodies), interceptors).counted("lake")
    parts = {at(0): {"filtered": 2}, at(2): {"filtered": 2}, at(3): {"filtered": 1}}
    assert found == Counts(read=6, delivered=1, filtered=5, components=parts)


def test_what_sql_filters_and_cannot_compute_counts_as_its_own(session: SparkSession) -> None:
    interceptors: list[dict[str, Any]] = [
        {**FILTER, "regex": "DEBUG"},
        {"type": "sql", "where": "json:n::INT > 1", "set": {"headers.a": "10 / (json:n::INT - 2)"}},
        {"type": "sql", "where": "headers.a::DOUBLE > 3", "on_error": "drop"},
    ]
    bodies = ('{"n":1}', '{"n":2}', '{"n":3}', '{"n":9}', '{"n":"x"}', "no json", "DEBUG")
    found = Pipeline(session, events(*bodies), interceptors).counted("lake")
    parts = {at(0): {"filtered": 1}, at(1): {"filtered": 1, "dead_lettered": 3}, at(2): {"filtered": 1}}
    assert found == Counts(read=7, delivered=1, filtered=3, dead_lettered=3, components=parts)


def test_dead_letters_are_of_the_source_the_interceptors_the_quarantine_and_the_sink(session: SparkSession) -> None:
    quarantined = Quarantined(
        source="shop", channel="lake", topic="t", partition=0, start=1, end=2, cause="It kills the interceptor."
    )
    day = {"name": "day", "type": "millis", "pattern": "yyyy-MM-dd"}
    interceptors: list[dict[str, Any]] = [
        {"type": "morph_json", "drop": ["x"]},
        {"type": "regex_extractor", "regex": '"day":"([^"]*)"', "serializers": [day]},
        python(),
    ]
    bodies = ("unreadable", "{}", "no json", '{"day":"someday"}', '{"n":1}', '{"n":2}')
    pipeline = Pipeline(session, events(*bodies), interceptors, quarantined=[quarantined], parse_as_flume_event=True)
    found = pipeline.counted("lake", refused=b'{"n":2}')
    paths = ("quarantine", "sources.shop", at(0), at(1), "sinks.lake")
    parts = {path: {"dead_lettered": 1} for path in paths}
    assert found == Counts(read=6, delivered=1, dead_lettered=5, components=parts)
    there = pipeline.counted("other")
    elsewhere = {path: {"routed_elsewhere": 1} for path in paths[1:4]}
    of_other = {"quarantine": {"dead_lettered": 1}, **elsewhere}
    assert there == Counts(read=6, delivered=2, routed_elsewhere=3, dead_lettered=1, components=of_other)


@pytest.mark.parametrize("on_error", ["dead_letter", "drop"])
def test_each_python_interceptor_counts_what_it_adds_filters_and_fails(session: SparkSession, on_error: str) -> None:
    words = ("a", "drop", "none", "split", "raise", "wrong")
    interceptors: list[dict[str, Any]] = [
        python(on_error=on_error),
        {"type": "search_replace", "search_pattern": "split[01]", "replace_string": "split"},
        python(on_error=on_error),
        {**FILTER, "regex": "^a$"},
        {"type": "uuid"},
    ]
    found = Pipeline(session, events(*words), interceptors).counted("lake")
    failed = {"dead_letter": "dead_lettered", "drop": "filtered"}[on_error]
    first = {"added": 2, "filtered": 2} if on_error == "dead_letter" else {"added": 2, "filtered": 4}
    parts: dict[str, Any] = {at(0): first, at(2): {"added": 4}, at(3): {"filtered": 1}}
    if failed == "dead_lettered":
        parts[at(0)]["dead_lettered"] = 2
    assert found.parts == parts
    assert (found.read, found.added, found.delivered) == (6, 6, 7)


MORPH = {"type": "morph_json", "drop": ["x"]}
DAY = {
    "type": "regex_extractor",
    "regex": '"day":"([^"]*)"',
    "serializers": [{"name": "day", "type": "millis", "pattern": "yyyy-MM-dd"}],
}
NUMBER = {"type": "sql", "set": {"headers.n": "json:n::INT"}}
REFUSING: list[dict[str, Any]] = [python(), MORPH, DAY, NUMBER]
REFUSED = ("raise", "no json", '{"day":"someday"}', '{"n":"x"}')
"""One of each of them, in their order."""


def test_what_is_a_dead_letter_stays_one_whatever_comes_behind(session: SparkSession) -> None:
    behind: list[dict[str, Any]] = [
        {"type": "regex_filter", "regex": "nothing has this"},
        {"type": "sql", "where": "FALSE"},
        *({**each, "on_error": on_error} for on_error in ("drop", "fail") for each in (MORPH, NUMBER, python())),
        *REFUSING,
    ]
    pipeline = Pipeline(session, events(*REFUSED, "{}"), [*REFUSING, *behind])
    filtered = {at(4): {"filtered": 1}}
    parts = {at(number): {"dead_lettered": 1} for number in range(4)}
    assert pipeline.counted("lake") == Counts(read=5, filtered=1, dead_lettered=4, components={**parts, **filtered})
    parts = {at(number): {"routed_elsewhere": 1} for number in range(4)}
    there = Counts(read=5, filtered=1, routed_elsewhere=4, components={**parts, **filtered})
    assert pipeline.counted("other") == there


def test_what_the_source_refuses_or_is_in_quarantine_is_filtered_by_nothing(session: SparkSession) -> None:
    quarantined = Quarantined(
        source="shop", channel="lake", topic="t", partition=0, start=1, end=2, cause="It kills the interceptor."
    )
    interceptors: list[dict[str, Any]] = [{"type": "regex_filter", "regex": "[{]"}, {**MORPH, "on_error": "fail"}]
    given = events("unreadable", "no json", "no json", "{}")
    pipeline = Pipeline(session, given, interceptors, quarantined=[quarantined], parse_as_flume_event=True)
    parts = {
        "sources.shop": {"dead_lettered": 1},
        "quarantine": {"dead_lettered": 1},
        at(0): {"filtered": 1},
    }
    found = Counts(read=4, delivered=1, filtered=1, dead_lettered=2, components=parts)
    assert pipeline.counted("lake") == found


def test_what_is_filtered_has_no_problem_behind_that(session: SparkSession) -> None:
    behind = [
        {**each, "on_error": on_error}
        for on_error in ("fail", "drop", "dead_letter")
        for each in (MORPH, NUMBER, python())
    ]
    pipeline = Pipeline(session, events(*REFUSED), [{**FILTER, "regex": "."}, *behind, DAY])
    assert pipeline.counted("lake") == Counts(read=4, filtered=4, components={at(0): {"filtered": 4}})


def test_a_dead_letter_is_what_was_refused(session: SparkSession) -> None:
    interceptors: list[dict[str, Any]] = [
        {"type": "static", "key": "before", "value": "it"},
        DAY,
        {"type": "search_replace", "search_pattern": "someday", "replace_string": "today"},
        {"type": "morph_json", "drop": ["day"]},
        {"type": "static", "key": "after", "value": "it"},
        {"type": "static", "key": "before", "value": "other"},
        {"type": "static", "key": "kept", "value": "it", "preserve_existing": True},
        {"type": "timestamp"},
        {"type": "remove_header", "with_name": "own"},
        {"type": "remove_header", "matching": "o.*"},
        {"type": "regex_extractor", "regex": "(n)", "serializers": [{"name": "letter"}]},
        {"type": "sql", "set": {"headers.by": "'sql'", "key": "'k'"}},
    ]
    pipeline = Pipeline(session, events('{"day":"someday","n":1}', '{"n":1}', own="o"), interceptors)
    rows = {row["offset"]: row for row in pipeline.frame.collect()}
    assert rows[0]["problem"]["component"] == at(1)
    assert (rows[0]["key"], bytes(rows[0]["body"])) == (None, b'{"day":"someday","n":1}')
    assert {pair["key"]: bytes(pair["value"]) for pair in rows[0]["headers"]} == {"own": b"o", "before": b"it"}
    assert (bytes(rows[1]["key"]), bytes(rows[1]["body"])) == (b"k", b'{"n":1}')
    changed = {pair["key"] for pair in rows[1]["headers"]}
    assert changed == {"after", "before", "kept", "timestamp", "letter", "by"}


def test_the_selector_counts_what_it_routes_elsewhere_and_what_it_leaves_unrouted(session: SparkSession) -> None:
    given = [*events("a", "b", country="CZ"), *events("c", country="US"), *events("d", country="DE")]
    pipeline = Pipeline(session, given, [{**FILTER, "regex": "b"}], BY_HEADER)
    filtered = {at(0): {"filtered": 1}}
    selected = {SELECTOR: {"routed_elsewhere": 1, "unrouted": 1}}
    assert pipeline.counted("lake").parts == {**filtered, **selected}
    assert pipeline.counted("other").parts == {**filtered, SELECTOR: {"routed_elsewhere": 2}}
    spread = {"type": "load_balancing", "channels": ["lake", "other"]}
    assert Pipeline(session, events("a", "b"), selector=spread).counted("lake").parts == {
        SELECTOR: {"routed_elsewhere": 1}
    }


def test_what_an_interceptor_does_without_saying_so_unbalances_the_pass(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(
        session, events("no json", "{}", "[]"), [{"type": "morph_json", "drop": ["x"]}, {**FILTER, "regex": "x"}]
    )
    for part in pipeline.graph.interceptors["shop"]:
        monkeypatch.setattr(type(part), "causes", frozenset())
    batch = Batch(Events(pipeline.frame), PLANNED, pipeline.graph.classifier("shop", "lake"))
    attempt = batch.attempt("sinks.lake", None)
    attempt.events.write.format("noop").mode("append").save()
    assert (attempt.counts.dead_lettered, attempt.counts.unattributed, attempt.counts.balanced) == (2, 2, False)
    assert attempt.dead() is not None, "and its dead letters are kept all the same"


def test_bytes_are_of_the_bodies_that_arrive_whatever_columns_a_sink_writes(session: SparkSession) -> None:
    """Held bodies have arrived before, refused ones do not arrive."""
    given = [*events("a", "four", "filtered", "seven77"), In(body=None, offset=4)]
    pipeline = Pipeline(session, given, [{**FILTER, "regex": "filtered"}])
    held = Held({Copies(TopicPartition("t", 0), 0): Bits(0, bytes([0b00000011]))}, records=2)
    batch = Batch(Events(pipeline.frame), PLANNED, pipeline.graph.classifier("shop", "lake"))
    attempt = batch.attempt("sinks.lake", None, held)
    written = delivered(attempt.in_columns([f.lit(b"a long value").alias("value")]))
    assert [row["value"] for row in written] == [b"a long value"] * 2
    assert (attempt.counts.delivered, attempt.written, attempt.counts.bytes_out) == (4, 2, 12)
    attempt.refuse([Refusal(None, b"seven77", [], "t", 0, 3, "no")])
    assert (attempt.counts.delivered, attempt.counts.bytes_out) == (3, 5)
    attempt.already(Counts(read=5, delivered=4, delivered_bytes=12))
    assert attempt.counts == Counts(read=5, delivered=4, delivered_bytes=5)


def test_an_attempt_that_the_sink_has_from_an_agent_that_counted_no_bytes_has_none(session: SparkSession) -> None:
    pipeline = Pipeline(session, events("a"))
    attempt = Batch(Events(pipeline.frame), PLANNED, pipeline.graph.classifier("shop", "lake")).attempt("sinks.lake")
    attempt.refuse([Refusal(None, b"a", [], "t", 0, 3, "no")])
    attempt.already(Counts(read=2, delivered=1, dead_lettered=1))
    assert attempt.counts.bytes_out is None


@pytest.mark.parametrize("several", [True, False])
def test_to_count_by_component_adds_no_operator_to_the_plan(session: SparkSession, several: bool) -> None:
    """The star is whole-stage code generation."""
    more = [{**FILTER, "regex": "b"}] if several else []
    static = {"type": "static", "key": "country", "value": "CZ"}
    interceptors: list[dict[str, Any]] = [{**FILTER, "regex": "a"}, static, *more]
    pipeline = Pipeline(session, events("{}"), interceptors, BY_HEADER)
    frame = pipeline.frame.unpersist()
    found = pipeline.graph.classifier("shop", "lake").classification(frame, "sinks.lake", None)
    plan = whole_plan(found.delivered(frame, "counted"))
    operators = re.findall(r"^\W*?(\*?)(?:\(\d+\) )?([A-Z]\w+)", plan, re.MULTILINE)
    shape = ["".join(each) for each in operators]
    assert shape == ["*Filter", "CollectMetrics", "*Project", "*Project", "Coalesce", "*Scan"], plan
