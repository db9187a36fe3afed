"""Definitions: one canonical text, references, queries, and what a form can be drawn from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions import components
from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.definitions.document.json_schema import definition_schema
from pipelines.domain.definitions.document.references import references
from pipelines.domain.definitions.document.spec import Definition, Delivery, Errors, Lifecycle, Placement, SinkGroup
from pipelines.domain.definitions.document.text import dump
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import ComponentSpec, Spec
from pipelines.domain.definitions.parts.launchers import Executors, LocalLauncher, SparkLauncher
from tests.unit.definitions import ORDERS, changed


def definition(changes: dict[str, Any] | None = None) -> Definition:
    validation = validate_data(changed(changes or {}))
    assert validation.definition is not None, validation.findings
    return validation.definition


def backwards(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: backwards(data[key]) for key in reversed(data)}
    return [backwards(item) for item in data] if isinstance(data, list) else data


def test_the_digest_does_not_depend_on_how_a_definition_is_written() -> None:
    ways = [
        definition(),
        definition({"lifecycle/drain_timeout": "1m"}),
        definition({"lifecycle/drain_timeout": 60}),
        definition({"lifecycle/drain_timeout": 60.0}),
        definition({"lifecycle/stall_timeout": "5m"}),
        definition({"placement": None}),
        validate_data(backwards(ORDERS)).definition,
        validate_text(yaml.safe_dump(ORDERS)).definition,
        validate_text(dump(definition())).definition,
        Definition.model_validate(json.loads(definition().canonical())),
    ]
    assert len({each.digest() for each in ways if each is not None}) == 1
    assert None not in ways


@pytest.mark.parametrize("memory", ["1g", "1G", "1024m"])
def test_equal_amounts_of_memory_are_one_amount(memory: str) -> None:
    assert definition({"placement/launcher/driver_memory": memory}).placement.launcher.driver_memory == "1024m"


@pytest.mark.parametrize("instant", ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", 1767225600000])
def test_equal_instants_are_one_instant(instant: str | int) -> None:
    plain = definition({"sources/shop/start_from": {"timestamp": instant}}).plain()
    assert plain["sources"]["shop"]["start_from"] == {"timestamp": 1767225600000}


@pytest.mark.parametrize(
    ("written", "seconds"), [("250ms", 0.25), ("60s", 60), ("5m", 300), ("1.5h", 5400), ("1d", 86400), (2.5, 2.5)]
)
def test_durations_are_seconds(written: str | float, seconds: float) -> None:
    assert definition({"lifecycle/init_timeout": written}).lifecycle.init_timeout == seconds


LIMITED: dict[str, dict[str, Any]] = {
    "channels/lake": {"type": "memory"},
    "channels/audit": {"type": "file"},
    "sources/shop": {"type": "http", "port": 5140, "selector": ORDERS["sources"]["shop"]["selector"]},
}


def errors(data: Any) -> list[Finding]:
    """What keeps it from being published; small batches alone make many files, which is a warning."""
    return [each for each in validate_data(data).findings if each.severity == "error"]


@pytest.mark.parametrize("path", LIMITED)
def test_a_transaction_is_never_larger_than_the_capacity(path: str) -> None:
    fitting = LIMITED[path] | {"capacity": 100, "transaction_capacity": 100}
    assert errors(changed({path: fitting})) == []
    (finding,) = errors(changed({path: fitting | {"transaction_capacity": 101}}))
    assert (finding.code, finding.path) == ("transaction_capacity_too_large", path.replace("/", "."))


def test_another_definition_has_another_digest() -> None:
    assert definition().digest() != definition({"sources/shop/topics": ["other"]}).digest()


def test_there_is_one_query_for_each_source_and_channel() -> None:
    assert definition().queries() == [("shop", "audit"), ("shop", "lake")]
    assert definition({"sources/shop/selector": None}).queries() == [("shop", "audit"), ("shop", "lake")]
    assert definition().optional_targets("shop") == {"audit"}
    assert list(definition().sinks_of("lake")) == ["lake"]


def test_the_first_required_channel_accounts_for_what_is_dead_or_unrouted() -> None:
    assert definition().accounting_channel("shop") == "lake", "audit comes first, and is optional"
    optional = {"sources/shop/selector": {"type": "replicating", "optional": ["audit", "lake"]}}
    assert definition(optional).accounting_channel("shop") == "audit"


def test_references_are_listed_with_their_places() -> None:
    changes = {"sources/shop/options": {"client.id": "${env:HOST}-${file:id}", "sasl.password": "${secret:shop-kafka}"}}
    listed = [(each.path, each.kind, each.name) for each in references(definition(changes))]
    assert listed == [
        ('sources.shop.options["client.id"]', "env", "HOST"),
        ('sources.shop.options["client.id"]', "file", "id"),
        ('sources.shop.options["sasl.password"]', "secret", "shop-kafka"),
    ]


def test_a_regular_expression_holds_no_references() -> None:
    assert validate_data(changed({"sources/shop/interceptors/2/regex": r"a\$\{x"})).valid


def test_the_catalogue_is_found_by_file_name() -> None:
    found = [(spec.kind, spec.type_name()) for spec in registry.all()]
    assert found == sorted(found, key=lambda each: (registry.KINDS.index(each[0]), each[1]))
    assert {("source", "kafka"), ("channel", "direct"), ("sink", "file"), ("dead_letter", "kafka")} <= set(found)
    files = {(path.parent.name, path.stem) for path in Path(components.__path__[0]).glob("*/*.py")}
    assert set(found) == {(kind, name) for kind, name in files if name != "__init__"}
    with pytest.raises(registry.UnknownComponentError):
        registry.get("sink", "teleprinter")


SPECS: list[type[Spec]] = [
    *registry.all(),
    Definition,
    Delivery,
    Errors,
    Executors,
    Lifecycle,
    LocalLauncher,
    Placement,
    SinkGroup,
    SparkLauncher,
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
def test_a_form_can_be_drawn_from_every_key(spec: type[Spec]) -> None:
    schema = spec.model_json_schema()
    assert schema["description"]
    for name, own in schema["properties"].items():
        facts = schema["$defs"][own["$ref"].rpartition("/")[2]] | own if "$ref" in own else own
        assert facts["description"].endswith((".", "`.")), name
        assert facts["title"], name
        assert "examples" in facts, name
        assert "default" in facts or name in schema["required"], name
        if facts.get("type") in ("integer", "number") or name.endswith(("_timeout", "_interval")):
            assert facts["unit"], name


@pytest.mark.parametrize("spec", registry.all(), ids=lambda spec: f"{spec.kind}_{spec.type_name()}")
def test_the_examples_of_a_component_are_valid(spec: type[ComponentSpec]) -> None:
    """Each by itself: some keys exclude each other."""
    examples = {info.alias or name: info.examples[0] for name, info in spec.model_fields.items() if info.examples}
    required = {info.alias or name for name, info in spec.model_fields.items() if info.is_required()}
    for name in examples:
        wrong = errors_at(spec, {key: value for key, value in examples.items() if key in required | {name}})
        assert name not in wrong, wrong


def errors_at(spec: type[ComponentSpec], data: dict[str, Any]) -> dict[object, str]:
    try:
        spec.model_validate(data)
    except ValidationError as error:
        return {details["loc"][0]: details["msg"] for details in error.errors() if details["loc"]}
    return {}


def test_the_schema_of_a_definition_says_what_an_editor_offers() -> None:
    schema = definition_schema()
    parts = schema["$defs"]
    assert {(part["kind"], part["title"]) for part in parts.values() if "kind" in part} == {
        (spec.kind, spec.title) for spec in registry.all()
    }
    assert parts["KafkaSink"]["properties"]["channel"]["refers"] == "channels"
    assert parts["FailoverProcessor"]["properties"]["priorities"]["refers"] == "sinks"
    assert parts["KafkaSource"]["properties"]["group_id"]["title"] == "Group ID"
    assert "security.protocol" in parts["KafkaSource"]["properties"]["options"]["propertyNames"]["enum"]
    assert parts["SparkLauncher"]["properties"]["conf"]["propertyNames"]["enum"]


def test_schemas_are_json() -> None:
    for spec in registry.all():
        text = json.dumps(registry.json_schema(spec.kind, spec.type_name()))
        assert registry.TAG_MARK not in json.loads(text)
        assert "\\u0000" not in text


def test_agents_import_neither_a_web_framework_nor_spark_nor_yaml() -> None:
    program = (
        "import sys, pipelines.domain.definitions.document.spec, pipelines.domain.definitions.checks.validate;"
        "print([m for m in ('django', 'pyspark', 'yaml', 'celery', 'httpx2', 'rich') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "[]"
