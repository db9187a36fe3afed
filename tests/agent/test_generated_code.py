"""What happens to each record runs in generated code: one expression without it, and Spark interprets all of an event's
projection, which costs a fifth of the throughput."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts import registry
from pipelines.domain.ledger.journal import Planned
from tests.agent.expressions import SCHEMA, In, whole_plan
from workers.agent.base.event import Event
from workers.agent.graph import compile as compiler
from workers.agent.graph.batch import Batch
from workers.agent.graph.kept import Events
from workers.agent.kafka import records
from workers.agent.postgres import rows

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "reference" / "components" / "examples"
IN_PYTHON = {"python"}
"""They leave the JVM by their nature."""
SINK = {"type": "kafka", "channel": "lake", "bootstrap_servers": "127.0.0.1:9", "topic": "out"}
MORE: dict[str, list[dict[str, Any]]] = {
    "headers removed by a pattern": [{"type": "remove_header", "matching": "x-.*", "with_name": "a"}],
    "a header set twice": [
        {"type": "static", "key": "a", "value": "1"},
        {"type": "static", "key": "a", "value": "2", "preserve_existing": False},
    ],
    "SQL with a lambda": [
        {"type": "sql", "where": "exists(json.tags, tag -> tag = 'a')", "schema": "id BIGINT, tags ARRAY<STRING>"}
    ],
    "every step of a morph": [
        {"type": "morph_json", "select": ["a", "b"], "rename": {"a": "c"}, "cast": {"b": "integer"}, "drop": ["d"]}
    ],
}


def _types(kind: Any) -> list[str]:
    return sorted(set(registry.types(kind)) - IN_PYTHON)


def plan(session: SparkSession, definition: Mapping[str, Any]) -> str:
    """The physical plan of a batch on its way to a Kafka sink."""
    source = next(iter(definition["sources"]))
    given = Definition.model_validate(definition)
    graph = compiler.build(given, lineage=1, state=Path())
    for part in graph.interceptors[source]:
        part.initialise(session)
    rows = session.createDataFrame([In(body=b"{}").row()] * 2, SCHEMA)
    event = Event(key=rows["key"], body=rows["body"], carried=rows["headers"])
    frame = compiler.intercept(rows, event, graph.interceptors[source], graph.selectors[source])
    channel = next(iter(definition["channels"]))
    planned = Planned(source=source, channel=channel, batch=0, ranges=[])
    attempt = Batch(Events(frame), planned, graph.classifier(source, channel)).attempt("sinks.out")
    sink = registry.get("sink", "kafka").model_validate(SINK)
    return whole_plan(attempt.in_columns(records.columns(sink, "p/s/c", 4, copies=attempt.copies)))


def interpreted(text: str) -> list[str]:
    """The steps of a plan that are no part of a generated stage."""
    steps = [line.lstrip(" :+-") for line in text.splitlines()]
    return [step for step in steps if re.match(r"(Project|Filter)\b", step)]


def example(kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{kind}_{name}.yaml").read_text())
    return found


def with_interceptors(interceptors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    definition = example("interceptor", "static")
    (source,) = definition["sources"].values()
    source["interceptors"] = list(interceptors)
    return definition


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("interceptor", "selector") for name in _types(kind)]
)
def test_every_built_in_interceptor_and_selector_keeps_it(session: SparkSession, kind: str, name: str) -> None:
    text = plan(session, example(kind, name))
    assert "*(" in text
    assert interpreted(text) == [], text


@pytest.mark.parametrize("case", sorted(MORE))
def test_nothing_that_they_can_be_asked_for_loses_it(session: SparkSession, case: str) -> None:
    text = plan(session, with_interceptors(MORE[case]))
    assert interpreted(text) == [], text


def test_what_is_interpreted_is_noticed() -> None:
    assert interpreted("CollectMetrics\n+- Project [a]\n   +- *(1) Filter b") == ["Project [a]"]


@pytest.mark.usefixtures("compiled")
def test_text_for_copy_is_what_a_replacement_for_each_character_would_give(session: SparkSession) -> None:
    texts = [
        "",
        "plain",
        "\\",
        "\\N",
        "\t\n\r",
        "a\\tb",
        "\xe9\t\u20ac\n\U0001f600",
        "\x07\x08\x0b\x0c\x0e",
        "x" * 999 + "\r",
    ]
    frame = session.createDataFrame([(text,) for text in [*texts, None]], "text string").repartition(1)
    found = [row["escaped"] for row in frame.select(rows._escaped(f.col("text")).alias("escaped")).collect()]
    wanted = list(texts)
    for character, escape in {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}.items():
        wanted = [text.replace(character, escape) for text in wanted]
    assert sorted(found, key=str) == sorted([*wanted, None], key=str)
