"""Files of Flume become definitions: nothing is lost silently, and no password comes out."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.definitions.parts import registry
from pipelines.domain.flume.importing import catalogue
from pipelines.domain.flume.importing.importer import Imported, import_flume
from pipelines.domain.imports.properties import parse
from pipelines.domain.imports.report import ImportRefused
from tests.unit.flume.agents import below, imported
from tests.unit.flume.files import FILES, FlumeFile, reported

each_file = pytest.mark.parametrize("file", FILES, ids=str)

MINIMAL = """
a.sources = s
a.channels = c
a.sinks = k
a.sources.s.type = seq
a.sources.s.channels = c
a.channels.c.type = memory
a.sinks.k.type = null
a.sinks.k.channel = c
"""


def codes(imported: Imported) -> set[str]:
    return {finding.code for finding in imported.findings}


def silent_lines(text: str, imported: Imported) -> list[str]:
    """The properties that are neither in the definition nor in a finding."""
    lines = {finding.line for finding in imported.findings} | imported.mapped_lines
    others = tuple(finding.key.removesuffix("*") for finding in imported.findings if finding.code == "other_agent")
    return [
        found.key for found in parse(text) if found.line not in lines and not (others and found.key.startswith(others))
    ]


def test_there_are_enough_files() -> None:
    assert len(FILES) >= 12


@each_file
def test_a_file_gives_the_definition_beside_it(file: FlumeFile) -> None:
    assert file.imported().definition == yaml.safe_load(file.definition.read_text())


@each_file
def test_a_file_gives_the_findings_beside_it(file: FlumeFile) -> None:
    assert reported(file.imported()) == file.findings.read_text()


@each_file
def test_no_property_is_lost_silently(file: FlumeFile) -> None:
    assert silent_lines(file.text, file.imported()) == []


@each_file
def test_what_is_imported_goes_through_yaml_and_canonical_form_unchanged(file: FlumeFile) -> None:
    imported = file.imported()
    validation = validate_text(yaml.safe_dump(imported.definition, sort_keys=False))
    assert validation.valid or not imported.valid
    if validation.definition is not None:
        again = validate_data(validation.definition.plain()).definition
        assert again is not None
        assert again.canonical() == validation.definition.canonical()


@each_file
def test_every_finding_says_what_was_done(file: FlumeFile) -> None:
    for finding in file.imported().findings:
        assert finding.done or not finding.key, finding


@each_file
def test_no_password_comes_out(file: FlumeFile) -> None:
    imported = file.imported()
    assert "hunter2" not in repr(imported)


@pytest.mark.parametrize("entry", catalogue.ALL, ids=lambda entry: f"{entry.kind}-{entry.names[-1]}")
def test_the_catalogue_leads_to_components_and_keys_that_exist(entry: catalogue.FlumeType) -> None:
    assert catalogue.find(entry.kind, entry.names[0].upper() if len(entry.names) > 1 else entry.names[0]) is entry
    assert catalogue.find(entry.kind, entry.names[-1]) is entry
    if entry.ours is None:
        assert entry.advice
        return
    fields = registry.get(entry.kind, entry.ours).model_fields
    for name, rule in entry.rules.items():
        assert not rule.keys or any(key in fields for key in rule.keys), name


def test_a_file_with_several_agents_lists_them() -> None:
    with pytest.raises(ImportRefused) as refused:
        import_flume(MINIMAL + MINIMAL.replace("a.", "b."))
    (finding,) = refused.value.findings
    assert (finding.code, finding.message) == ("several_agents", "The file has the agents a, b.")
    assert "--agent a" in finding.suggestion


@pytest.mark.parametrize(
    ("text", "agent", "code"),
    [
        ("", None, "no_agent"),
        ("x = 1", None, "no_agent"),
        (MINIMAL, "A", "unknown_agent"),
        ("a.b = \\u12", None, "malformed"),
    ],
)
def test_a_file_that_gives_no_agent_is_refused(text: str, agent: str | None, code: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        import_flume(text, agent)
    assert [finding.code for finding in refused.value.findings] == [code]


def test_a_type_that_nobody_knows_keeps_the_definition_from_being_valid() -> None:
    imported = import_flume(MINIMAL.replace("type = null", "type = com.acme.Sink"))
    assert not imported.valid
    (error,) = [finding for finding in imported.findings if finding.is_error]
    assert (error.path, error.key, error.line) == ("sinks.k.type", "a.sinks.k.type", 8)


@pytest.mark.parametrize("written", ["SEQ", "Seq", "org.apache.flume.source.SequenceGeneratorSource"])
def test_short_names_have_any_case_and_class_names_are_exact(written: str) -> None:
    imported = import_flume(MINIMAL.replace("seq", written))
    assert imported.definition["sources"]["s"]["type"] == "sequence"
    assert "custom_class" not in codes(imported)


def test_a_class_name_in_another_case_is_a_class_of_somebodys_own() -> None:
    text = MINIMAL.replace("seq", "org.apache.flume.source.sequencegeneratorsource")
    assert "custom_class" in codes(import_flume(text))


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ("a.channels.c.capacity = 10", "capacity_below_transaction"),
        ("a.channels.c.capacity = 500\na.channels.c.transactionCapacity = 501", "capacity_below_transaction"),
        ("a.sources.s.batchSize = 101", "batch_exceeds_transaction"),
        ("a.sinks.k.batchSize = 101", "batch_exceeds_transaction"),
    ],
)
def test_capacities_that_flume_refuses_are_told(extra: str, code: str) -> None:
    assert code in codes(import_flume(f"{MINIMAL}\n{extra}"))
    assert code not in codes(import_flume(MINIMAL))


@pytest.mark.parametrize(
    "extra",
    [
        "a.sinks.k.type = http\na.sinks.k.endpoint = https://user:hunter2@host/events",
        "a.sinks.k.type = hdfs\na.sinks.k.hdfs.path = s3a://key:hunter2@bucket/%Y",
        "a.sinks.k.type = file_roll\na.sinks.k.sink.directory = ftp://u:hunter2@h/",
        "a.sources.s.type = exec\na.sources.s.command = curl https://u:hunter2@host/",
        "a.sources.s.type = http\na.sources.s.keystorePassword = hunter2",
        "a.sources.s.interceptors = i\na.sources.s.interceptors.i.type = I\na.sources.s.interceptors.i.token = hunter2",
        "a.configfilters = f\na.configfilters.f.type = external\na.configfilters.f.token = hunter2",
    ],
)
def test_a_password_anywhere_is_told_of_and_not_copied(extra: str) -> None:
    imported = import_flume(f"{MINIMAL}\n{extra}")
    assert "hunter2" not in repr(imported)
    assert {"secret_not_copied", "no_equivalent", "config_filter"} & codes(imported)


@pytest.mark.parametrize(
    "written",
    [
        "type = file\na.channels.c.capacity = 20000",
        "type = file\na.channels.c.capacity = 10",
        "type = file\na.channels.c.transactionCapacity = 2000000",
        "type = jdbc\na.channels.c.maximum.capacity = 1000",
        "type = SPILLABLEMEMORY\na.channels.c.overflowCapacity = 5000",
        "type = memory\na.channels.c.capacity = -3\na.channels.c.transactionCapacity = -1",
    ],
)
def test_capacities_fit_each_other_whatever_is_written(written: str) -> None:
    imported = import_flume(MINIMAL.replace("type = memory", written))
    assert imported.valid, imported.findings


def test_an_agent_whose_components_name_no_channel_is_one_error_with_what_to_write() -> None:
    text = MINIMAL.replace("a.sources.s.channels = c\n", "").replace("a.sinks.k.channel = c\n", "")
    result = import_flume(text)
    assert not result.valid
    first, *others = result.findings
    assert (first.code, first.severity) == ("nothing_left", "error")
    assert {each.severity for each in others} == {"warning"}
    advice = {each.suggestion for each in others if each.code == "no_channel"}
    assert advice == {
        "Write a.sources.s.channels with a channel of a.channels.",
        "Write a.sinks.k.channel with a channel of a.channels.",
    }


def test_two_sinks_at_one_channel_become_a_group_that_takes_turns() -> None:
    extra = "a.sinks = k k2\na.sinks.k2.type = logger\na.sinks.k2.channel = c"
    imported = import_flume(f"{MINIMAL}\n{extra}")
    assert imported.valid
    assert imported.definition["sink_groups"] == {"c": {"sinks": ["k", "k2"], "processor": {"type": "load_balance"}}}
    assert "competing_sinks" in codes(imported)


def test_a_sink_behind_other_sources_than_kafka_takes_the_key_from_the_header() -> None:
    sink = "type = org.apache.flume.sink.kafka.KafkaSink\na.sinks.k.kafka.bootstrap.servers = b:9092"
    imported = import_flume(MINIMAL.replace("type = null", sink))
    assert imported.definition["sinks"]["k"]["key"] == "header.key"
    assert {"topic_override", "default_written_out"} <= codes(imported)


def test_the_compression_of_a_kafka_channel_is_taken_over() -> None:
    channel = {"type": "org.apache.flume.channel.kafka.KafkaChannel", "kafka.bootstrap.servers": "broker:9092"}
    made = imported(below("a.channels.c", channel | {"kafka.producer.compression.type": "zstd"}))
    assert made.definition["channels"]["c"]["compression"] == "zstd"


def test_statuses_that_flume_gives_up_on_are_refused_and_not_sent_again() -> None:
    sink = {"type": "http", "endpoint": "http://server/", "rollback.401": False, "rollback.503": False}
    made = imported(below("a.sinks.k", sink | {"rollback.200": False, "rollback.404": True, "rollback.5XX": False}))
    assert made.valid
    assert made.definition["sinks"]["k"]["refuse_statuses"] == [400, 401, 413, 422, 503]
    assert made.definition["sinks"]["k"]["retry_statuses"] == [408, 425, 429, 500, 502, 504]
    reported = {finding.code: finding.key for finding in made.findings if finding.key.startswith("a.sinks.k.rollback.")}
    assert reported == {"refused_status": "a.sinks.k.rollback.503", "no_equivalent": "a.sinks.k.rollback.5XX"}


KEYS = st.sampled_from(
    [
        "a.sources.s.type",
        "a.sources.s.channels",
        "a.sources.s.totalEvents",
        "a.sources.s.interceptors",
        "a.sources",
        "a.sources.s.interceptors.i.type",
        "a.sources.s.interceptors.i.regex",
        "a.sources.s.interceptors.i.key",
        "a.sources.s.selector.type",
        "a.sources.s.selector.mapping.X",
        "a.sources.s.selector.optional",
        "a.sources.s.selector.optional.X",
        "a.sources.s.selector.header",
        "a.sources.s.selector.default",
        "a.sources.s.kafka.topics",
        "a.sources.s.kafka.consumer.group.id",
        "a.sources.s.kafka.consumer.sasl.jaas.config",
        "a.sources.s.kafka.consumer.auto.offset.reset",
        "a.sources.s.setTopicHeader",
        "a.sources.s.topicHeader",
        "a.sources.s.filegroups",
        "a.sources.s.filegroups.f",
        "a.sources.s.headers.f.x",
        "a.sources.s.spoolDir",
        "a.channels",
        "a.channels.c.type",
        "a.channels.c.capacity",
        "a.channels.c.transactionCapacity",
        "a.channels.d.type",
        "a.sinks",
        "a.sinks.k.type",
        "a.sinks.k.channel",
        "a.sinks.k.kafka.topic",
        "a.sinks.k.hdfs.path",
        "a.sinks.k.sink.directory",
        "a.sinks.k.sink.rollInterval",
        "a.sinks.k.serializer",
        "a.sinks.k.endpoint",
        "a.sinks.k.allowTopicOverride",
        "a.sinks.k.kafka.producer.acks",
        "a.sinks.k.password",
        "a.sinks.j.type",
        "a.sinkgroups",
        "a.sinkgroups.g.sinks",
        "a.sinkgroups.g.processor.type",
        "a.sinkgroups.g.processor.priority.k",
        "a.sinkgroups.g.processor.maxpenalty",
        "a.sinkgroups.g.other",
        "a.configfilters.f.type",
        "a.x",
        "b.sources",
        "b.c.d",
    ]
)
VALUES = st.sampled_from(
    [
        "s",
        "c",
        "c d",
        "k",
        "k j",
        "g",
        "f",
        "i",
        "X",
        "1",
        "0",
        "-5",
        "many",
        "true",
        "false",
        "",
        "seq",
        "exec",
        "http",
        "taildir",
        "spooldir",
        "memory",
        "file",
        "kafka",
        "null",
        "logger",
        "file_roll",
        "hdfs",
        "failover",
        "load_balance",
        "multiplexing",
        "replicating",
        "load_balancing",
        "static",
        "regex_filter",
        "regex_extractor",
        "com.acme.Own$Builder",
        "org.apache.flume.source.kafka.KafkaSource",
        "org.apache.flume.sink.kafka.KafkaSink",
        "env",
        "${f['KEY']}",
        "${HOME}",
        "/data/%Y/%{h}",
        "/data/a.log",
        "https://u:p@h/x",
        "earliest",
        "host:9092",
        'username="u" password="p"',
    ]
)


@given(st.lists(st.tuples(KEYS, VALUES), max_size=40))
def test_whatever_the_file_nothing_raises_and_no_property_is_lost(pairs: list[tuple[str, str]]) -> None:
    text = MINIMAL + "".join(f"{key} = {value}\n" for key, value in pairs)
    imported = import_flume(text, "a")
    assert silent_lines(text, imported) == []
    assert imported.valid == (not any(finding.is_error for finding in imported.findings))
    assert validate_data(imported.definition).valid or not imported.valid


@given(st.text(max_size=200))
def test_any_text_gives_a_definition_or_is_refused_with_a_reason(text: str) -> None:
    assert outcome(text)


def outcome(text: str) -> str:
    """The name of the pipeline, or what to do where there is none."""
    try:
        return str(import_flume(text).definition["name"])
    except ImportRefused as refused:
        return refused.findings[0].suggestion


CONFIGURATIONS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "CF-003": ({"a.channels": ""}, {"empty_value", "unknown_channel"}),
    "CF-011": ({".something": "value"}, {"agent_name_missing"}),
    "CF-012": ({"agent.": "something"}, {"property_name_missing"}),
    "CF-022": (
        {"a.sinkgroups": "g1 g2", "a.sinkgroups.g1.sinks": "k", "a.sinkgroups.g2.sinks": "k"},
        {"sink_in_two_groups"},
    ),
    "CF-023": ({"a.sinkgroups": "g1", "a.sinkgroups.g1.sinks": "kX"}, {"unknown_sink", "group_without_sinks"}),
    "CF-024": ({" a.channels ": " c "}, set()),
    "CP-008": ({"a.sources.s.interceptors": "i", "a.sources.s.interceptors.i.regex": "x"}, {"missing_type"}),
    "KS-033": (
        {"a.sources.s.type": "org.apache.flume.source.kafka.KafkaSource", "a.sources.s.kafka.topics": "t"},
        {"default_group", "start_from_chosen"},
    ),
    "LB-016": (
        {
            "a.sinkgroups": "g",
            "a.sinkgroups.g.sinks": "k",
            "a.sinkgroups.g.processor.type": "load_balance",
            "a.sinkgroups.g.processor.selector": "no.such.Class",
        },
        {"bad_value"},
    ),
    "LU-003": ({"a.sources.s.totalEvents": "${COUNT}"}, {"environment_reference", "bad_value"}),
    "MX-017": (
        {"a.sources.s.selector.type": "multiplexing", "a.sources.s.selector.mapping.x": "c"},
        {"no_default_route"},
    ),
    "MX-021": (
        {"a.sources.s.selector.type": "multiplexing", "a.sources.s.selector.default": "c ch9"},
        {"unknown_channel"},
    ),
    "PV-010": ({"a.sources.s.batchSize": "1001"}, {"batch_exceeds_transaction"}),
}
"""What Flume drops, ignores or refuses without a word to the user, by vector."""


@pytest.mark.parametrize("vector", CONFIGURATIONS)
def test_what_flume_does_in_silence_is_told(vector: str) -> None:
    properties, expected = CONFIGURATIONS[vector]
    written = "".join(f"{key.replace(' ', chr(92) + ' ')} = {value}\n" for key, value in properties.items())
    assert expected <= codes(import_flume(MINIMAL + written, "a"))
