"""Interceptors, selectors and the channel processor do what Flume's do, fact by fact."""

from __future__ import annotations

import re
import socket
import time
from typing import Any

import pytest
from pydantic import ValidationError
from pyspark.sql import SparkSession

from pipelines.domain import registry
from pipelines.domain.validate import validate_data
from tests.agent.expressions import In, sent
from tests.unit.definitions import changed
from tests.vectors import Vector, applicable

INTERCEPTORS = applicable("interceptor")
SELECTORS = applicable("selector")
PROCESSOR = applicable("channel_processor")
REFUSALS = {
    "IF-009": "regex_syntax", "IE-001": "missing_key", "IE-002": "regex_syntax", "IE-005": "invalid_header",
    "IE-012": "missing_key", "IS-008": "unknown_charset", "MX-021": "unknown_channel", "LC-002": "unknown_value",
    "CP-008": "missing_key",
}  # fmt: skip
"""What becomes of configurations that Flume refuses at its start."""
LOCAL_ADDRESS = "<local ip address>"


def snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: "_" + match[0].lower(), key.replace("IP", "Ip")).lower()


def spec(vector: Vector) -> dict[str, Any]:
    """Our keys, out of Flume's."""
    _, kind, *rest = vector.component.split(".")
    if rest:
        return EXTRACTORS[rest[0]](vector.config)
    if kind == "regex_extractor":
        return extractor(vector.config)
    return {"type": kind} | {snake(key): value for key, value in vector.config.items()}


def extractor(config: dict[str, Any]) -> dict[str, Any]:
    names = re.split(r"[\s,]+", config.get("serializers", "s").strip(" ")) if "serializers" in config else []
    serializers = [serializer(config, name) for name in names]
    return {"type": "regex_extractor", "serializers": serializers or [{"name": "n"}]} | (
        {"regex": config["regex"]} if "regex" in config else {}
    )


def serializer(config: dict[str, Any], name: str) -> dict[str, Any]:
    written = {key: config.get(f"serializers.{name}.{key}") for key in ("name", "type", "pattern")}
    return {"name": ""} | {key: value for key, value in written.items() if value}


def _one_serializer(type_name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"type": "regex_extractor", "regex": "(.*)", "serializers": [{"name": "v", "type": type_name, **config}]}


EXTRACTORS = {
    "millis": lambda config: _one_serializer("millis", config),
    "pass_through": lambda config: _one_serializer("pass_through", config),
}


def event(given: dict[str, Any]) -> In:
    pairs = [(name, value.encode()) for name, value in given.get("headers", {}).items()]
    return In(body=given.get("body", given.get("text", "")).encode(), headers=pairs)


@pytest.mark.parametrize("vector", INTERCEPTORS, ids=str)
def test_interceptors(vector: Vector, session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    if vector.component == "interceptor.chain":
        check_chain(vector, session)
    elif vector.id in REFUSALS:
        refused(vector, {"sources/shop/interceptors": [spec(vector)]})
    elif vector.id == "IE-014":
        written = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(1_700_000_000))
        (out,) = sent(session, [In(body=written.encode())], spec(vector))
        assert out.headers == {"v": "1700000000000"}
    else:
        if vector.id == "IH-007":
            monkeypatch.setattr(socket, "gethostbyname", unresolved)
        before = int(time.time() * 1000)
        (out,) = sent(session, [event(vector.input_events[-1])], spec(vector))
        check(vector, out, before)


def unresolved(name: str) -> str:
    raise socket.gaierror(f"nobody knows {name}")


def check(vector: Vector, out: Any, before: int) -> None:
    expected = vector.expected_events_or_error
    if "passes" in expected:
        assert out.kept is expected["passes"]
    elif "events" in expected:
        assert [{"headers": out.headers, "body": out.body.decode()}] == expected["events"]
    elif "value" in expected:
        check_value(out.headers[expected.get("header", "v")], expected["value"], before)
    else:
        for header, value in expected.items():
            check_value(out.headers[header], value, before)


def check_value(found: str, expected: str, before: int) -> None:
    if expected == ">= call time":
        assert before <= int(found) <= time.time() * 1000
    elif expected == LOCAL_ADDRESS:
        assert found == socket.gethostbyname(socket.gethostname())
    elif expected == "non-empty":
        assert found
    elif expected.startswith("starts with "):
        assert found.startswith(expected.removeprefix("starts with "))
    else:
        assert found == expected


def check_chain(vector: Vector, session: SparkSession) -> None:
    if vector.id == "CP-011":
        with pytest.raises(Exception, match="returned None"):
            sent(session, [In(), In(offset=1)], {"type": "python", "class": "tests.agent.interceptors:ReturnsNothing"})
        return
    first, second = ({"type": "static", "key": key, "value": "1"} for key in vector.expected_events_or_error["order"])
    (out,) = sent(session, [In()], first, second)
    assert list(out.headers) == ["first", "second"]
    dropping = {"type": "regex_filter", "regex": "x", "exclude_events": True}
    (out,) = sent(session, [In(body=b"x")], dropping, {"type": "regex_filter", "regex": "x"})
    assert not out.kept


def refused(vector: Vector, changes: dict[str, Any]) -> None:
    codes = {finding.code for finding in validate_data(changed(changes)).findings}
    assert REFUSALS[vector.id] in codes


def selector_spec(vector: Vector) -> dict[str, Any]:
    kind = vector.component.removeprefix("selector.")
    config = vector.config
    made: dict[str, Any] = {"type": kind}
    if kind == "multiplexing":
        made |= {key: config[key] for key in ("header",) if key in config}
        made |= {key: by_value(config, key) for key in ("mapping", "optional") if by_value(config, key)}
        made |= {"default": config["default"].split()} if "default" in config else {}
    else:
        made |= {key: config[key] for key in ("channels", "policy") if key in config}
        made |= {"optional": config["optional"].split()} if "optional" in config else {}
    return made


def by_value(config: dict[str, Any], key: str) -> dict[str, list[str]]:
    return {name.partition(".")[2]: names.split() for name, names in config.items() if name.startswith(f"{key}.")}


@pytest.mark.parametrize("vector", SELECTORS, ids=str)
def test_selectors(vector: Vector, session: SparkSession) -> None:
    made = selector_spec(vector)
    if vector.id in REFUSALS:
        refused(vector, {"sources/shop/selector": made})
        return
    expected = vector.expected_events_or_error
    if vector.component == "selector.load_balancing":
        outs = sent(session, [In(offset=number) for number in range(4)], selector=made)
        assert [out.targets for out in outs] == expected["required_each"]
        return
    (out,) = sent(session, [event(vector.input_events[0])], selector=made)
    model: Any = registry.get("selector", made["type"]).model_validate(made)
    channels = vector.config["channels"]
    targets = model.targets(channels) if out.targets is None else out.targets
    assert sorted(targets) == sorted([*expected["required"], *expected["optional"]])
    assert len(set(targets)) == len(targets)
    if vector.component == "selector.replicating":
        assert model.optional_targets() == set(expected["optional"])


@pytest.mark.parametrize("vector", PROCESSOR, ids=str)
def test_channel_processor(vector: Vector) -> None:
    if vector.id in REFUSALS:
        refused(vector, {"sources/shop/interceptors": [{"name": "a"}]})
        return
    made = {"type": "replicating", "channels": vector.config["channels"], "optional": vector.config["optional"].split()}
    model: Any = registry.get("selector", "replicating").model_validate(made)
    assert model.targets(["other"]) == vector.config["channels"]


def test_every_refusal_is_of_a_fact_that_is_followed() -> None:
    known = {vector.id for vector in (*INTERCEPTORS, *SELECTORS, *PROCESSOR)}
    assert REFUSALS.keys() <= known
    with pytest.raises(ValidationError):
        registry.get("selector", "load_balancing").model_validate({"type": "load_balancing", "policy": "sideways"})
