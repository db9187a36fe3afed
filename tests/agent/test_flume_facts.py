"""Interceptors and selectors do what Flume's do, fact by fact; one query for all of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.domain.definitions.parts import registry
from tests.agent.expressions import In, Out, Together, sent
from tests.unit.flume.agents import intercepted, selected
from tests.vectors import Vector, drives, vector

EVENTS = (
    "IF-003",
    "IF-004",
    "IF-006",
    "IF-008",
    "IE-007",
    "IE-008",
    "IE-010",
    "IE-011",
    "IE-015",
    "IS-001",
    "IS-003",
    "IS-004",
    "IS-005",
    "IT-003",
    "IT-004",
    "IH-004",
    "IH-005",
    "IH-007",
    "IA-002",
    "IU-001",
    "IU-002",
    "IU-003",
    "IR-002",
    "IR-007",
)
MULTIPLEXED = (
    "MX-002",
    "MX-003",
    "MX-005",
    "MX-006",
    "MX-007",
    "MX-009",
    "MX-010",
    "MX-011",
    "MX-015",
    "MX-017",
    "MX-018",
    "MX-019",
    "MX-020",
)
REPLICATED = ("RP-001", "RP-002", "RP-004")
CLASSES = {"millis": "org.apache.flume.interceptor.RegexExtractorInterceptorMillisSerializer"}
"""What the vectors call a class of Flume."""
SECOND = 1_700_000_000
"""Some time, for a vector that wants one."""


@pytest.fixture(scope="module")
def called_at() -> int:
    """Milliseconds before anything was sent."""
    return int(time.time() * 1000)


@pytest.fixture(scope="module")
def outs(session: SparkSession, called_at: int) -> Mapping[str, list[Out]]:
    """What came out for each vector."""
    together = Together(session)
    for identifier in EVENTS:
        add_interceptor(together, vector(identifier))
    for identifier in (*MULTIPLEXED, *REPLICATED, "LC-001"):
        add_selector(together, vector(identifier))
    add_formatted(together, vector("IE-014"))
    add_chain(together, vector("CP-012"))
    return together.sent()


def add_interceptor(together: Together, fact: Vector) -> None:
    *before, given = fact.input_events
    with pytest.MonkeyPatch.context() as patch:
        if before:
            assert before == [{"op": "host name cannot be resolved at build"}]
            patch.setattr(socket, "gethostbyname", unresolved)
        together.add(fact.id, [event(given)], interceptors(fact))


def unresolved(name: str) -> str:
    raise socket.gaierror(f"{name} is unknown")


def interceptors(fact: Vector) -> list[dict[str, Any]]:
    """The interceptor that the importer makes of Flume's."""
    _, kind, *serializer = fact.component.split(".")
    if serializer:
        return [one_serializer(serializer[0], fact.config)]
    config = {name: CLASSES.get(value, value) for name, value in fact.config.items()}
    found: list[dict[str, Any]] = intercepted(kind, config).definition["sources"]["s"]["interceptors"]
    return found


def one_serializer(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "regex_extractor", "regex": "(.*)", "serializers": [{"name": "v", "type": kind, **config}]}


def event(given: Mapping[str, Any]) -> In:
    pairs = [(name, value.encode()) for name, value in given.get("headers", {}).items()]
    return In(body=given.get("body", given.get("text", "")).encode(), headers=pairs)


def add_formatted(together: Together, fact: Vector) -> None:
    assert fact.input_events == [{"text": "<now formatted with the pattern>"}]
    assert fact.config == {"pattern": "yyyy-MM-dd HH:mm:ss"}
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(SECOND))
    together.add(fact.id, [In(body=text.encode())], interceptors(fact))


def add_chain(together: Together, fact: Vector) -> None:
    names = fact.config["interceptors"].split()
    setting = [{"type": "static", "key": name, "value": "1"} for name in names]
    together.add(fact.id, [event(given) for given in fact.input_events], setting)
    dropping = {"type": "regex_filter", "regex": ".", "exclude_events": True}
    together.add(f"{fact.id} dropped", [event(given) for given in fact.input_events], [dropping, *setting])


def selector(fact: Vector) -> dict[str, Any]:
    """The selector that the importer makes of Flume's."""
    config = dict(fact.config)
    channels = config.pop("channels")
    found: dict[str, Any] = selected(config, channels).definition["sources"]["s"]["selector"]
    return found


def add_selector(together: Together, fact: Vector) -> None:
    (given,) = fact.input_events
    events = [In(offset=number) for number in range(given["times"])] if "times" in given else [event(given)]
    together.add(fact.id, events, [], selector(fact))


@drives(*EVENTS)
def test_an_event_becomes_what_it_becomes_in_flume(
    vector: Vector, outs: Mapping[str, list[Out]], called_at: int
) -> None:
    (out,) = outs[vector.id]
    expected = vector.expected
    if "passes" in expected:
        assert out.kept is expected["passes"]
    elif "events" in expected:
        assert [{"headers": out.headers, "body": (out.body or b"").decode()}] == expected["events"]
    elif "value" in expected:
        check(out.headers[expected.get("header", "v")], expected["value"], called_at)
    else:
        for header, value in expected.items():
            check(out.headers[header], value, called_at)


def check(found: str, expected: str, called_at: int) -> None:
    if expected == ">= call time":
        assert called_at <= int(found) <= time.time() * 1000
    elif expected == "<local ip address>":
        assert found == socket.gethostbyname(socket.gethostname())
    elif expected == "non-empty":
        assert found
    elif expected.startswith("starts with "):
        assert found.startswith(expected.removeprefix("starts with "))
    else:
        assert found == expected


@drives("IE-014")
def test_a_formatted_time_becomes_milliseconds(vector: Vector, outs: Mapping[str, list[Out]]) -> None:
    (out,) = outs[vector.id]
    meanings = {"epoch millis of that second, as text": f"{SECOND}000"}
    assert out.headers == {"v": meanings[vector.expected["value"]]}


@drives("CP-011")
def test_an_interceptor_that_returns_nothing_is_an_error_and_no_drop(vector: Vector, session: SparkSession) -> None:
    returning = {"returns_null_list": "tests.agent.interceptors:ReturnsNothing"}[vector.config["interceptors"]]
    events = [In(offset=number) for number in range(vector.input_events[0]["n"])]
    messages = {"null_check": "returned None"}
    with pytest.raises(Exception, match=messages[vector.error]):
        sent(session, events, {"type": "python", "class": returning})


@drives("CP-012")
def test_interceptors_work_in_their_order_until_one_drops_the_event(
    vector: Vector, outs: Mapping[str, list[Out]]
) -> None:
    (out,) = outs[vector.id]
    assert list(out.headers) == vector.expected["order"]
    (dropped,) = outs[f"{vector.id} dropped"]
    assert not dropped.kept


@drives(*MULTIPLEXED)
def test_the_value_of_a_header_chooses_the_channels(vector: Vector, outs: Mapping[str, list[Out]]) -> None:
    (out,) = outs[vector.id]
    required, optional = vector.expected["required"], vector.expected["optional"]
    assert sorted(out.targets or ()) == sorted([*required, *optional])
    model: Any = registry.get("selector", "multiplexing").model_validate(selector(vector))
    always = model.optional_targets()
    required_now = [name for name in out.targets or () if name not in always] if out.required is None else out.required
    assert sorted(required_now) == sorted(required)


@drives(*REPLICATED)
def test_every_channel_gets_a_copy_and_optional_ones_are_told_apart(
    vector: Vector, outs: Mapping[str, list[Out]]
) -> None:
    (out,) = outs[vector.id]
    assert out.kept
    model: Any = registry.get("selector", "replicating").model_validate(selector(vector))
    channels = model.targets(vector.config["channels"])
    optional = model.optional_targets()
    assert [name for name in channels if name not in optional] == vector.expected["required"]
    assert [name for name in channels if name in optional] == vector.expected["optional"]


@drives("LC-001")
def test_channels_take_turns(vector: Vector, outs: Mapping[str, list[Out]]) -> None:
    assert [out.targets for out in outs[vector.id]] == vector.expected["required_each"]
    model: Any = registry.get("selector", "load_balancing").model_validate(selector(vector))
    assert sorted(model.optional_targets()) == vector.expected["optional"]


@drives("CP-003")
def test_required_and_optional_channels_get_an_event_once(vector: Vector) -> None:
    assert len(vector.input_events) == 1
    model: Any = registry.get("selector", "replicating").model_validate(selector(vector))
    targets = model.targets(["other"])
    assert {name: targets.count(name) for name in vector.config["channels"]} == dict.fromkeys(
        vector.config["channels"], vector.expected["each_channel_gets"]
    )
