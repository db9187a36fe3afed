"""Connectors of Kafka Connect as definitions: what settings become, and a finding for each that becomes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.domain.base.findings import Finding
from pipelines.domain.connect.importing.importer import import_connect
from pipelines.domain.flume.importing.importer import Imported
from pipelines.domain.imports.report import ImportFinding, ImportRefused

PLAIN = {"value.converter": "org.apache.kafka.connect.storage.StringConverter", "errors.tolerance": "all"}
JDBC = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
    "topics": "orders",
    "connection.url": "jdbc:postgresql://db:5432/shop",
    "connection.user": "shop",
    "fields.whitelist": "id,total",
    **PLAIN,
}
FILE_SINK = {"connector.class": "FileStreamSink", "topics": "orders", "file": "/data/orders.txt", **PLAIN}
S3 = {
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "topics": "orders",
    "s3.bucket.name": "lake",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
    "path.format": "'dt'=YYYY-MM-dd",
    "timestamp.extractor": "Record",
    "rotate.interval.ms": "60000",
    "s3.compression.type": "gzip",
    **PLAIN,
}
FILE_SOURCE = {"connector.class": "FileStreamSource", "topic": "orders", "file": "/var/log/shop.log", **PLAIN}
MIRROR = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "eu",
    "source.cluster.bootstrap.servers": "eu:9092",
    "target.cluster.bootstrap.servers": "us:9092",
    "topics": "orders,payments",
    **PLAIN,
}
SEARCH = {
    "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    "topics": "Orders",
    "connection.url": "https://a:9200,https://b:9200",
    **PLAIN,
}
EVERY = {
    "jdbc": JDBC,
    "file sink": FILE_SINK,
    "s3": S3,
    "file source": FILE_SOURCE,
    "mirror": MIRROR,
    "search": SEARCH,
}
_SMT = "org.apache.kafka.connect.transforms."


def imported(config: dict[str, Any], **more: str) -> Imported:
    settings = {key: value for key, value in {**config, **more}.items() if value is not None}
    return import_connect(json.dumps({"name": "orders", "config": settings}, indent=2), servers="broker:9092")


def with_transform(of: str, **settings: str) -> Imported:
    named = {f"transforms.t.{key.replace('_', '.')}": value for key, value in settings.items()}
    return imported(JDBC, transforms="t", **{"transforms.t.type": f"{_SMT}{of}", **named})


def codes(found: Imported, *, errors: bool = True) -> list[str]:
    return [each.code for each in found.findings if each.is_error or not errors]


def of_key(found: Imported, key: str) -> list[ImportFinding]:
    return [each for each in found.findings if each.key == key]


@pytest.mark.parametrize("config", EVERY.values(), ids=EVERY)
def test_each_kind_of_connector_becomes_a_valid_definition(config: dict[str, str]) -> None:
    found = imported(config)
    assert (found.valid, codes(found)) == (True, [])


@pytest.mark.parametrize("config", EVERY.values(), ids=EVERY)
def test_no_setting_is_dropped_in_silence(config: dict[str, str]) -> None:
    strange = {"one.of.nobody": "1", "tasks.max": "4", "errors.log.enable": "true", "some.password": "hunter2"}
    found = imported({**config, **strange})
    assert {key for key in strange if of_key(found, key)} == set(strange)
    told = {each.line for each in found.findings} | found.mapped_lines
    text = json.dumps({"name": "orders", "config": {**config, **strange}}, indent=2).splitlines()
    silent = {line for number, line in enumerate(text, 1) if '": "' in line and number not in told}
    assert silent == {'  "name": "orders",'}
    assert "hunter2" not in json.dumps([found.definition, [each.model_dump() for each in found.findings]])


def test_a_jdbc_sink_is_a_table_whose_columns_are_named() -> None:
    found = imported({**JDBC, "insert.mode": "upsert", "pk.fields": "id", "table.name.format": "audit_${topic}"})
    assert found.definition["sinks"]["out"] == {
        "type": "postgres",
        "channel": "main",
        "dsn": "postgresql://shop@db:5432/shop",
        "table": "audit_orders",
        "columns": {"id": "body.id", "total": "body.total"},
        "mode": "upsert",
        "conflict_columns": ["id"],
    }


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"fields.whitelist": None}, "columns_needed"),
        ({"connection.url": "jdbc:oracle:thin:@db"}, "unsupported_database"),
        ({"topics": "orders,returns"}, "table_per_topic"),
        ({"delete.enabled": "true"}, "deletes_not_expressible"),
        ({"insert.mode": "update"}, "mode_not_expressible"),
        ({"value.converter": "io.confluent.connect.avro.AvroConverter"}, "unsupported_converter"),
        ({"value.converter": "org.apache.kafka.connect.json.JsonConverter"}, "schema_envelope"),
    ],
)
def test_what_would_do_something_else_is_an_error(changed: dict[str, Any], code: str) -> None:
    found = imported({**JDBC, **changed})
    assert code in codes(found)
    assert not found.valid


def test_a_password_becomes_a_reference() -> None:
    found = imported({**JDBC, "connection.password": "hunter2"})
    assert found.definition["sinks"]["out"]["dsn"] == "${secret:orders-dsn}"
    assert "secret_not_copied" in codes(found, errors=False)


def test_the_first_start_continues_where_the_connector_stopped() -> None:
    source = imported(JDBC).definition["sources"]["in"]
    assert (source["group_id"], source["start_from"]) == ("connect-orders", "group")


def test_without_brokers_the_import_asks_for_them() -> None:
    found = import_connect(json.dumps({"name": "orders", "config": JDBC}))
    assert "worker_setting" in codes(found)
    assert not found.valid


def test_files_of_s3_have_the_directories_of_before() -> None:
    found = imported(S3)
    assert found.definition["sinks"]["out"] == {
        "type": "file",
        "channel": "main",
        "path": "s3a://lake/topics/orders",
        "compression": "gzip",
        "format": "text",
        "roll": {"interval": 60.0},
        "partition_by": [{"time": "day", "name": "dt"}],
    }
    assert found.definition["sources"]["in"]["timestamp_header"] == "timestamp"
    assert "path_not_expressible" in codes(imported({**S3, "path.format": "YYYY/MM/dd"}))
    assert "format_not_expressible" in codes(imported({**S3, "format.class": "x.AvroFormat"}))
    assert "time_differs" in codes(imported({**S3, "timestamp.extractor": "Wallclock"}))


def test_a_mirror_keeps_partitions_and_names_topics_as_its_policy_does() -> None:
    found = imported(MIRROR).definition
    assert found["sources"]["in"]["interceptors"] == [
        {"type": "sql", "set": {"headers.topic": "concat('eu.', headers['topic'])"}}
    ]
    assert found["sinks"]["out"]["allowed_topics"] == ["eu.orders", "eu.payments"]
    assert found["sinks"]["out"]["partition_header"] == "partition"
    same = imported({**MIRROR, "replication.policy.class": "x.IdentityReplicationPolicy"}).definition
    assert same["sinks"]["out"]["allowed_topics"] == ["orders", "payments"]
    assert "interceptors" not in same["sources"]["in"]
    pattern = imported({**MIRROR, "topics": "orders.*"}).definition
    assert pattern["sources"]["in"]["topics_pattern"] == "orders.*"
    assert pattern["sinks"]["out"]["allowed_topic_prefix"] == "eu."


@pytest.mark.parametrize(
    ("of", "settings", "interceptor"),
    [
        ("InsertField$Value", {"static_field": "dc!", "static_value": "it's"}, {"set": {"body.dc": r"'it\'s'"}}),
        ("InsertField$Value", {"topic_field": "t"}, {"set": {"body.t": "headers['topic']"}}),
        ("InsertField$Value", {"offset_field": "o"}, {"set": {"body.o": "CAST(headers['offset'] AS BIGINT)"}}),
        ("ReplaceField$Value", {"exclude": "card,pin"}, {"drop": ["body.card", "body.pin"]}),
    ],
)
def test_a_transform_is_an_interceptor(of: str, settings: dict[str, str], interceptor: dict[str, Any]) -> None:
    found = with_transform(of, **settings)
    assert found.definition["sources"]["in"]["interceptors"] == [{"type": "sql", **interceptor}]
    assert found.valid


def test_headers_are_set_and_removed() -> None:
    found = with_transform("InsertHeader", header="dc", value_literal="prague")
    static = {"type": "static", "key": "dc", "value": "prague", "preserve_existing": False}
    assert found.definition["sources"]["in"]["interceptors"] == [static]
    found = with_transform("DropHeaders", headers="a,b")
    assert found.definition["sources"]["in"]["interceptors"] == [{"type": "remove_header", "from_list": ["a", "b"]}]


def test_a_router_renames_what_the_sink_writes_to() -> None:
    found = with_transform("RegexRouter", regex="(.*)", replacement="audit_$1")
    assert found.definition["sinks"]["out"]["table"] == "audit_orders"
    assert "interceptors" not in found.definition["sources"]["in"]
    assert "route_unknown" in codes(with_transform("RegexRouter", regex="(", replacement=""))


@pytest.mark.parametrize(
    ("predicate", "negate", "where"),
    [
        ({"type": f"{_SMT}predicates.RecordIsTombstone"}, "false", "NOT (body IS NULL)"),
        ({"type": f"{_SMT}predicates.RecordIsTombstone"}, "true", "NOT (NOT (body IS NULL))"),
        ({"type": f"{_SMT}predicates.HasHeaderKey", "name": "x"}, "false", "NOT (headers['x'] IS NOT NULL)"),
        (
            {"type": f"{_SMT}predicates.TopicNameMatches", "pattern": "a.*"},
            "false",
            "NOT (headers['topic'] RLIKE '^(?:a.*)$')",
        ),
    ],
)
def test_a_filter_with_a_predicate_keeps_the_others(predicate: dict[str, str], negate: str, where: str) -> None:
    named = {f"predicates.p.{key}": value for key, value in predicate.items()}
    found = imported(
        JDBC,
        transforms="t",
        predicates="p",
        **{f"transforms.t.{key}": value for key, value in (("type", f"{_SMT}Filter"), ("predicate", "p"))},
        **{"transforms.t.negate": negate},
        **named,
    )
    assert found.definition["sources"]["in"]["interceptors"] == [{"type": "sql", "where": where}]
    assert found.valid


def test_a_key_is_a_value_only_behind_both_transforms() -> None:
    alone = with_transform("ValueToKey", fields="id")
    assert codes(alone) == ["key_is_a_struct"]
    both = imported(
        JDBC,
        transforms="a,b",
        **{
            "transforms.a.type": f"{_SMT}ValueToKey",
            "transforms.a.fields": "id",
            "transforms.b.type": f"{_SMT}ExtractField$Key",
            "transforms.b.field": "id",
        },
    )
    assert both.definition["sources"]["in"]["interceptors"] == [{"type": "sql", "set": {"key": "json:id::STRING"}}]
    assert both.valid


@pytest.mark.parametrize(
    ("of", "settings"),
    [
        ("Cast$Value", {"spec": "id:int32"}),
        ("ReplaceField$Value", {"renames": "a:b"}),
        ("ReplaceField$Value", {"include": "a"}),
        ("ValueToKey", {"fields": "a,b"}),
        ("ExtractField$Key", {"field": "id"}),
        ("Filter", {}),
        ("InsertField$Value", {"topic_field": "t", "predicate": "p"}),
    ],
)
def test_a_transform_without_an_equal_keeps_the_definition_from_being_valid(of: str, settings: dict[str, str]) -> None:
    found = with_transform(of, **settings)
    assert "unsupported_transform" in codes(found)
    assert not found.valid


def test_dead_letters_go_to_the_queue_of_the_connector() -> None:
    found = imported({**JDBC, "errors.deadletterqueue.topic.name": "orders.dlq"})
    assert found.definition["errors"] == {"dead_letter": {"type": "kafka", "topic": "orders.dlq"}}
    differs = [each for each in imported({**JDBC, "errors.tolerance": "none"}).findings if each.path == "errors"]
    assert [each.code for each in differs] == ["differs"]


@pytest.mark.parametrize("kind", ["io.debezium.connector.mysql.MySqlConnector", "x.SomeSinkConnector", "x.SomeSource"])
def test_an_unknown_connector_is_an_error_and_its_settings_are_findings(kind: str) -> None:
    found = imported({"connector.class": kind, "topics": "orders", "database": "x", **PLAIN})
    assert "unsupported_connector" in codes(found)
    assert of_key(found, "database")
    assert not found.valid


def test_every_form_of_a_configuration_is_read() -> None:
    bare = {"name": "orders", **JDBC}
    wanted = imported(JDBC).definition
    for text in (
        json.dumps(bare),
        json.dumps([{"name": "orders", "config": JDBC}]),
        json.dumps({"orders": {"info": {"name": "orders", "config": JDBC}, "status": {}}}),
        "".join(f"{key}={value}\n" for key, value in bare.items()),
    ):
        assert import_connect(text, servers="broker:9092").definition == wanted


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "malformed"),
        ("[]", "choose_connector"),
        ("{}", "choose_connector"),
        ("a=\\u00", "malformed"),
        ("a=b", "no_connector"),
        (json.dumps([{"name": each, "config": JDBC} for each in "ab"]), "choose_connector"),
        ("x" * 2_000_000, "too_large"),
    ],
)
def test_a_text_that_gives_no_connector_is_refused(text: str, code: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        import_connect(text)
    found: list[Finding] = [*refused.value.findings]
    assert [each.code for each in found] == [code]


def test_one_of_several_is_chosen_by_its_name() -> None:
    text = json.dumps([{"name": each, "config": JDBC} for each in ("one", "other")])
    assert import_connect(text, name="other").definition["name"] == "other"
