"""Validation of definitions: every finding at once, with path, code and suggestion, and never an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from tests.unit.definitions import ORDERS, changed

SHOP = "sources/shop"
START = "sources/shop/start_from"
FIRST = "sources/shop/interceptors/0"
SECOND = "sources/shop/interceptors/1"
THIRD = "sources/shop/interceptors/2"


def found(data: Any) -> dict[tuple[str, str], Finding]:
    return {(finding.path, finding.code): finding for finding in validate_data(data).findings}


def test_a_definition_that_uses_everything_has_no_findings() -> None:
    validation = validate_data(ORDERS)
    assert validation.findings == []
    assert validation.valid


@pytest.mark.parametrize(
    ("changes", "path", "code", "suggestion"),
    [
        ({"sinc_groups": {}}, "sinc_groups", "unknown_key", "sink_groups"),
        ({f"{SHOP}/topixs": []}, "sources.shop.topixs", "unknown_key", "topics"),
        ({"lifecycle/drain_time": 1}, "lifecycle.drain_time", "unknown_key", "drain_timeout"),
        ({"placement/launcher/core": 1}, "placement.launcher.core", "unknown_key", "cores"),
        ({f"{FIRST}/headerName": "x"}, "sources.shop.interceptors[0].headerName", "unknown_key", "header"),
        ({START: None}, "sources.shop.start_from", "missing_key", "earliest"),
        ({"name": None}, "name", "missing_key", "orders"),
        ({"sources": None}, "sources", "missing_key", "shop"),
        ({f"{SHOP}/type": "kafak"}, "sources.shop.type", "unknown_type", "kafka"),
        ({f"{SHOP}/type": None}, "sources.shop.type", "missing_key", "kafka"),
        ({f"{SHOP}/type": 3}, "sources.shop.type", "wrong_type", "kafka"),
        ({SECOND: {"type": "regexfilter"}}, "sources.shop.interceptors[1].type", "unknown_type", "regex_filter"),
        ({SECOND: "timestamp"}, "sources.shop.interceptors[1]", "wrong_type", "mapping"),
        ({f"{SHOP}/topics": "orders"}, "sources.shop.topics", "wrong_type", "list"),
        ({f"{SHOP}/topics": []}, "sources.shop", "missing_key", "topics_pattern"),
        ({f"{SHOP}/topics": ["a b"]}, "sources.shop.topics[0]", "invalid_topic", "letters"),
        ({f"{SHOP}/topics": ["a", "a"]}, "sources.shop.topics[1]", "repeated", "Remove"),
        ({f"{SHOP}/bootstrap_servers": "broker"}, "sources.shop.bootstrap_servers", "bad_address", "host:port"),
        ({f"{SHOP}/bootstrap_servers": "b:70000"}, "sources.shop.bootstrap_servers", "bad_address", "host:port"),
        ({START: "begin"}, "sources.shop.start_from", "unknown_value", "earliest"),
        ({START: 5}, "sources.shop.start_from", "bad_start_from", "earliest"),
        ({START: {"timestamp": "yesterday"}}, "sources.shop.start_from.timestamp", "bad_timestamp", "RFC 3339"),
        ({START: {"timestamp": -1}}, "sources.shop.start_from.timestamp", "bad_timestamp", "RFC 3339"),
        ({START: {"offsets": {"orders": {"0": -1}}}}, "sources.shop.start_from.offsets.orders.0", "out_of_range", "0"),
        (
            {START: {"offsets": {"orders": {"x": 1}}}},
            "sources.shop.start_from.offsets.orders.x",
            "invalid_partition",
            "number",
        ),
        ({START: {"offsets": {"other": {"0": 1}}}}, "sources.shop.start_from.offsets.other", "unknown_topic", "topics"),
        ({START: {"offsets": {"other": {"0": 1}}}}, "sources.shop.start_from.offsets", "missing_offsets", "every"),
        ({"sinks/audit/format": "orc"}, "sinks.audit.format", "unknown_value", "parquet"),
        ({"sinks/audit/path": "data/../etc"}, "sinks.audit.path", "invalid_path", "absolute"),
        ({"sinks/audit/path": "/data/../etc"}, "sinks.audit.path", "invalid_path", "absolute"),
        ({"sinks/audit/path": "hdfs://a/../b"}, "sinks.audit.path", "invalid_path", "Hadoop"),
        ({"sinks/lake/compression": "lz"}, "sinks.lake.compression", "unknown_value", "lz4"),
        ({"delivery/mode": "real_time"}, "sinks.audit.type", "not_in_real_time", "micro_batch"),
        ({"delivery": {"mode": "real_time", "batch_duration": 1}}, "delivery.batch_duration", "out_of_range", "5"),
        (
            {"delivery": {"mode": "real_time", "batch_duration": 90}},
            "lifecycle.drain_timeout",
            "deadlines_disagree",
            "batch_duration",
        ),
        ({"errors": {"dead_letter": {"type": "kafka"}}}, "errors.dead_letter.topic", "missing_key", "orders.dead"),
        ({"delivery/target_latency": "100ms"}, "delivery.target_latency", "out_of_range", "0.2"),
        (
            {"delivery/target_latency": "1s", "delivery/trigger_interval_ms": 1000},
            "delivery.target_latency",
            "deadlines_disagree",
            "trigger_interval_ms",
        ),
        ({"delivery/trigger_interval_ms": -1}, "delivery.trigger_interval_ms", "out_of_range", "0"),
        ({"delivery/max_events_per_batch": True}, "delivery.max_events_per_batch", "wrong_type", "whole number"),
        ({"delivery/max_events_per_batch": "5"}, "delivery.max_events_per_batch", "wrong_type", "whole number"),
        ({"lifecycle/drain_timeout": "1 hour"}, "lifecycle.drain_timeout", "bad_duration", "60s"),
        ({"lifecycle/drain_timeout": -1}, "lifecycle.drain_timeout", "out_of_range", "7 days"),
        ({"lifecycle/heartbeat_interval": "5m"}, "lifecycle.heartbeat_interval", "deadlines_disagree", "Lower"),
        ({"placement/launcher/driver_memory": "384m"}, "placement.launcher.driver_memory", "out_of_range", "512m"),
        ({"placement/launcher/jvm_profile": "tiny"}, "placement.launcher.jvm_profile", "unknown_value", "small"),
        ({"placement/launcher/driver_memory": "lots"}, "placement.launcher.driver_memory", "bad_memory", "2g"),
        ({"name": "Orders"}, "name", "invalid_name", "lower-case"),
        ({"name": "orders\n"}, "name", "invalid_name", "lower-case"),
        ({"labels/team": 1}, "labels.team", "wrong_type", "quotes"),
        ({"sinks/lake/channel": "lakes"}, "sinks.lake.channel", "unknown_channel", "lake"),
        (
            {f"{SHOP}/selector/channels": ["lake", "audits"]},
            "sources.shop.selector.channels[1]",
            "unknown_channel",
            "audit",
        ),
        ({f"{SHOP}/selector/optional": ["x"]}, "sources.shop.selector.optional[0]", "unknown_channel", "channels"),
        ({f"{SHOP}/selector/channels": ["lake"]}, "sources.shop.selector.optional[0]", "optional_not_selected", "Add"),
        ({f"{SHOP}/selector/channels": ["lake"]}, "channels.audit", "channel_without_source", "selector"),
        ({f"{SHOP}/selector/channels": []}, "sources.shop", "source_without_channel", "selector"),
        ({"channels/spare": {"type": "direct"}}, "channels.spare", "channel_without_sink", "sink"),
        ({"sinks/audit/channel": "lake"}, "sinks.audit.channel", "shared_channel", "group"),
        ({"sink_groups/lake/sinks": ["lakes"]}, "sink_groups.lake.sinks[0]", "unknown_sink", "lake"),
        ({"sink_groups/other": {"sinks": ["lake"]}}, "sink_groups.other.sinks[0]", "sink_in_two_groups", "Remove"),
        ({"sink_groups/lake/sinks": ["lake", "audit"]}, "sink_groups.lake.sinks", "mixed_channels", "same channel"),
        ({"sink_groups/lake/sinks": ["lake", "audit"]}, "sink_groups.lake.sinks", "one_sink_only", "one sink"),
        (
            {"sink_groups/lake/processor": {"type": "load_balance"}},
            "sink_groups.lake.sinks",
            "several_sinks_needed",
            "another sink",
        ),
        ({"sources/web": ORDERS["sources"]["shop"]}, "sources.web.group_id", "duplicate_group_id", "own"),
        ({"sinks/lake/topic": "orders"}, "sinks.lake.topic", "topic_loop", "another"),
        (
            {"description": "${secret:x}", f"{SECOND}/value": "${secret:x}"},
            "sources.shop.interceptors[1].value",
            "secret_not_allowed",
            "options",
        ),
        ({f"{SECOND}/value": "${vault:x}"}, "sources.shop.interceptors[1].value", "bad_reference", "${env:NAME}"),
        ({f"{THIRD}/regex": "(a+)+$"}, "sources.shop.interceptors[2].regex", "regex_unsafe", "repetitions"),
        ({f"{THIRD}/regex": "("}, "sources.shop.interceptors[2].regex", "regex_syntax", "Fix"),
    ],
)
def test_each_mistake_is_found_where_it_is(changes: dict[str, Any], path: str, code: str, suggestion: str) -> None:
    findings = found(changed(changes))
    assert (path, code) in findings, sorted(findings)
    finding = findings[path, code]
    assert finding.is_error
    assert suggestion in finding.suggestion
    assert finding.message


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("sasl.jaas.config", "class"),
        ("SASL.JAAS.CONFIG", "class"),
        (" sasl.jaas.config", "class"),
        ("sasl.jaas.config ", "class"),
        ("kafka.sasl.jaas.config", "class"),
        ("sasl.login.callback.handler.class", "files"),
        ("sasl.oauthbearer.token.endpoint.url", "files"),
        ("interceptor.classes", "code"),
        ("metric.reporters", "list"),
        ("partitioner.class", "code"),
        ("ssl.truststore.location", "file"),
        ("ssl.keystore.location", "file"),
        ("config.providers", "without Headgate"),
        ("config.providers.file.class", "code"),
        ("ssl.engine.factory.class", "code"),
        ("auto.offset.reset", "guessed"),
        ("group.id", "key of its own"),
        ("enable.auto.commit", "accounted"),
        ("key.deserializer", "accounted"),
        ("spark.jars", "list"),
        ("Security.Protocol", "list"),
    ],
)
def test_a_client_option_that_is_not_on_the_list_is_refused_with_the_reason(key: str, reason: str) -> None:
    for part in ("sources/shop", "sinks/lake"):
        findings = validate_data(changed({f"{part}/options": {key: "x"}})).findings
        assert [finding.code for finding in findings] == ["forbidden_option"]
        assert reason in findings[0].message


def test_option_values_are_scalars_and_passwords_are_references() -> None:
    options = {"fetch.min.bytes": [1], "sasl.password": "abc", "security.protocol": "TLS", "client.rack": "a\x00b"}
    codes = {finding.code for finding in validate_data(changed({"sources/shop/options": options})).findings}
    assert codes == {"wrong_type", "literal_secret", "unknown_value", "bad_text"}
    allowed = {"fetch.min.bytes": 1, "check.crcs": True, "client.rack": "a", "sasl.password": "${secret:a}"}
    assert validate_data(changed({"sources/shop/options": allowed})).valid


@pytest.mark.parametrize("where", ["sources/shop/options", "sources/shop"])
@pytest.mark.parametrize("written", ["hunter2", ["hunter2"], {"is": "hunter2"}])
def test_a_literal_password_is_never_repeated_in_a_finding(where: str, written: Any) -> None:
    bad = {"sasl.password": written} if where.endswith("options") else {"type": "http", "token": written}
    findings = validate_data(changed({where: bad})).findings
    assert findings
    assert "hunter2" not in "".join(finding.model_dump_json() for finding in findings)


def test_findings_of_all_kinds_come_at_once() -> None:
    data = changed(
        {"name": "X", "sources/shop/topixs": 1, "sinks/lake/channel": "nope", "lifecycle/drain_timeout": "x"}
    )
    codes = {finding.code for finding in validate_data(data).findings}
    assert {"invalid_name", "unknown_key", "unknown_channel", "bad_duration", "channel_without_sink"} <= codes


def test_warnings_do_not_refuse_a_definition() -> None:
    validation = validate_data(changed({"sources/shop/selector/optional": ["lake", "audit"]}))
    assert validation.valid
    assert [(finding.code, finding.severity) for finding in validation.findings] == [("no_required_channel", "warning")]


def test_text_and_data_give_the_same_definition() -> None:
    from_json = validate_text(json.dumps(ORDERS)).definition
    from_yaml = validate_text(yaml.safe_dump(ORDERS)).definition
    assert from_json == from_yaml == validate_data(ORDERS).definition


LOCATED = """\
api_version: headgate/v1
name: orders
sources:
  # A comment.
  shop:
    type: kafka
    bootstrap_servers: "b:9092"
    "topics": [orders]
    start_from: earliest
    options:
      "security.protocl": SSL
    interceptors:
      - type: regex_filter
        regex: "("
      - {type: static, key: a, valu: b}
channels:
  main:
    type: direct
    colour: blue
sinks:
  out: {type: logger, channel: other}
"""


@pytest.mark.parametrize(
    ("path", "code", "line", "column"),
    [
        ("sources.shop.group_id", "missing_key", 5, 3),
        ('sources.shop.options["security.protocl"]', "forbidden_option", 11, 7),
        ("sources.shop.interceptors[0].regex", "regex_syntax", 14, 16),
        ("sources.shop.interceptors[1].value", "missing_key", 15, 9),
        ("sources.shop.interceptors[1].valu", "unknown_key", 15, 32),
        ("channels.main", "channel_without_sink", 17, 3),
        ("channels.main.colour", "unknown_key", 19, 5),
        ("sinks.out.channel", "unknown_channel", 21, 32),
    ],
)
def test_a_finding_stands_at_its_key_or_value(path: str, code: str, line: int, column: int) -> None:
    places = {(each.path, each.code): (each.line, each.column) for each in validate_text(LOCATED).findings}
    assert places.get((path, code)) == (line, column), places


def test_a_finding_in_text_says_the_line() -> None:
    text = yaml.safe_dump(changed({"sources/shop/topixs": 1}), sort_keys=False)
    (finding,) = validate_text(text).findings
    assert finding.line is not None
    assert "topixs" in text.splitlines()[finding.line - 1]


BOMB = "\n".join(["a0: &a0 [1,1]"] + [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)])


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\nb: [1,\n", "syntax", 3),
        ("a: 1\n b: 2\n", "syntax", 2),
        ("name: a\nname: b\n", "duplicate_key", 2),
        ('{"name": "a", "name": "b"}', "duplicate_key", 1),
        ("a: 1\n---\nb: 2\n", "two_documents", 2),
        ("a: !!python/object:os.system x\n", "tag", 1),
        ("a: &x [1]\nb:\n  <<: *x\n", "merge_key", 3),
        ("a: *nobody\n", "bad_alias", 1),
        ("? [a]\n: b\n", "bad_key", 1),
        ("true: a\n", "bad_key", 1),
        ("[" * 200_000, "too_deep", 1),
        ("{a: " * 50_000, "too_deep", 1),
        (BOMB, "too_large", 5),
    ],
)
def test_text_that_cannot_be_used_says_where(text: str, code: str, line: int) -> None:
    findings = [finding for finding in validate_text(text).findings if finding.code == code]
    assert findings
    assert findings[0].line == line
    assert findings[0].column is not None


@pytest.mark.parametrize("text", ["", "- a", "just text", "5", "null", '"x"', "x" * 300_000, "\ud800", "a: \x00"])
def test_text_that_is_no_definition_is_one_finding(text: str) -> None:
    validation = validate_text(text)
    assert validation.definition is None
    assert len(validation.findings) == 1


def test_words_that_older_yaml_takes_for_values_stay_words() -> None:
    text = yaml.safe_dump(changed({"description": None})) + "description: no\n"
    definition = validate_text(text).definition
    assert definition is not None
    assert definition.description == "no"


def test_json_with_escaped_emoji_is_read() -> None:
    validation = validate_text(json.dumps(changed({"description": "\N{ROCKET}"})))
    assert validation.definition is not None
    assert validation.definition.description == "\N{ROCKET}"


def test_partition_numbers_may_be_written_as_numbers() -> None:
    text = yaml.safe_dump(changed({"sources/shop/start_from": {"offsets": {"orders": {0: 5, 1: 7}}}}))
    definition = validate_text(text).definition
    assert definition is not None
    assert definition.plain()["sources"]["shop"]["start_from"] == {"offsets": {"orders": {"0": 5, "1": 7}}}


def test_a_structure_that_contains_itself_is_a_finding() -> None:
    data: dict[str, Any] = dict(ORDERS)
    data["labels"] = data
    assert not validate_data(data).valid


KEYS = st.sampled_from([*ORDERS, "type", "channel", "topics", "options", "regex", "start_from", "selector", "offsets"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.binary(max_size=3)
ANYTHING = st.recursive(
    SCALARS | st.sampled_from(["kafka", "file", "replicating", "regex_filter", "lake", "${secret:x}"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | SCALARS, inner, max_size=5),
    max_leaves=25,
)


def paths_in(data: Any, prefix: str = "") -> list[str]:
    if isinstance(data, dict):
        return [prefix, *(p for key, item in data.items() for p in paths_in(item, f"{prefix}/{key}".strip("/")))]
    if isinstance(data, list):
        return [prefix, *(p for index, item in enumerate(data) for p in paths_in(item, f"{prefix}/{index}"))]
    return [prefix]


@settings(max_examples=150, deadline=None)
@given(ANYTHING)
def test_no_data_whatever_raises(data: Any) -> None:
    assert isinstance(validate_data(data).findings, list)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([path for path in paths_in(ORDERS) if path]), ANYTHING)
def test_no_change_of_a_good_definition_raises(path: str, value: Any) -> None:
    validation = validate_data(changed({path: value}) if value is not None else changed({path: None}))
    assert validation.valid == (not any(finding.is_error for finding in validation.findings))
    for finding in validation.findings:
        assert finding.model_dump_json()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_no_text_whatever_raises(text: str) -> None:
    assert isinstance(validate_text(text).findings, list)


@settings(max_examples=150, deadline=None)
@given(st.integers(min_value=0), st.text(max_size=5), st.integers(min_value=0, max_value=10))
def test_no_damage_to_a_good_text_raises(at: int, inserted: str, removed: int) -> None:
    text = yaml.safe_dump(ORDERS)
    at %= len(text)
    validation = validate_text(text[:at] + inserted + text[at + removed :])
    assert validation.valid == (not any(finding.is_error for finding in validation.findings))
    assert (validation.definition is not None) == validation.valid


def test_the_topic_of_a_channel_belongs_to_it_alone() -> None:
    store = {"type": "kafka", "bootstrap_servers": "broker:9092", "topic": "orders"}
    (found,) = [f for f in validate_data(changed({"channels/audit": store})).findings if f.code == "shared_topic"]
    assert (found.path, found.is_error) == ("channels.audit.topic", True)
    assert validate_data(changed({"channels/audit": {**store, "topic": "orders.audit-store"}})).valid
