"""What a channel promises follows from its sinks, from its group and from what the definition asks for."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from pipelines.domain.definitions.document.guarantees import ChannelGuarantee, guarantees, of_sink
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import SinkSpec
from tests.factories import definition
from workers.agent.graph.component import SinkBuilder

KAFKA = {"type": "kafka", "bootstrap_servers": "127.0.0.1:9092", "topic": "out", "channel": "main"}
FILE = {"type": "file", "path": "/var/lib/out", "channel": "main"}
HTTP = {"type": "http", "url": "http://127.0.0.1:8080/", "channel": "main"}
NULL = {"type": "null", "channel": "main"}


def promised(*sinks: dict[str, Any], **changes: Any) -> ChannelGuarantee:
    named = {f"s{number}": sink for number, sink in enumerate(sinks)}
    group = {"pool": {"sinks": [*named], "processor": {"type": "load_balance"}}} if len(sinks) > 1 else {}
    (found,) = guarantees(definition(sinks=named, sink_groups=group, **changes))
    assert (found.source, found.channel) == ("shop", "main")
    return found


@pytest.mark.parametrize(
    ("sinks", "expected", "words"),
    [
        ([KAFKA], "exactly_once", "within 10 s"),
        ([FILE], "exactly_once", "Complete files"),
        ([NULL], "exactly_once", "Nothing is kept"),
        ([HTTP], "at_least_once", "Idempotency-Key"),
        ([KAFKA, {**KAFKA, "topic": "other"}], "exactly_once", "Every member"),
        ([KAFKA, HTTP], "at_least_once", "Idempotency-Key"),
        ([KAFKA, FILE], "at_least_once", "may have taken a batch"),
    ],
)
def test_the_guarantee_is_that_of_the_weakest(sinks: list[dict[str, Any]], expected: str, words: str) -> None:
    found = promised(*sinks)
    assert found.guarantee == expected
    assert words in " ".join(found.conditions)


def test_less_can_be_asked_for() -> None:
    found = promised(KAFKA, delivery={"guarantee": "at_least_once"})
    assert found.guarantee == "at_least_once"
    assert "delivery.guarantee" in found.conditions[0]
    assert promised(FILE, delivery={"guarantee": "at_least_once"}).guarantee == "exactly_once"


def test_the_conditions_say_what_is_done_while_nobody_knows() -> None:
    assert "within 90 s" in " ".join(promised(KAFKA, delivery={"unknown_timeout": "90s"}).conditions)
    assert "is held" in " ".join(promised(KAFKA, delivery={"on_unknown": "wait"}).conditions)


def test_every_read_has_its_guarantee() -> None:
    buffered = definition(channels={"main": {"type": "kafka", "bootstrap_servers": "127.0.0.1:9092", "topic": "c"}})
    found = guarantees(buffered)
    assert [(each.source, each.channel) for each in found] == buffered.queries()


@pytest.mark.parametrize("kind", registry.types("sink").values(), ids=lambda kind: kind.type_name())
def test_a_sink_says_what_its_builder_does(kind: type[SinkSpec]) -> None:
    module = importlib.import_module(f"workers.agent.components.sink.{kind.type_name()}")
    assert kind.deduplicates == (module.Builder.look is not SinkBuilder.look)
    assert of_sink(kind).startswith(("Exactly once. ", "At least once. "))
