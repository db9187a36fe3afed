"""A connector of Kafka Connect as a definition.

1. Read the configuration (reading/connector.py) and find the kind of connector by its class.
2. Build source, channel and sink; transforms become interceptors (transforms.py).
3. Whatever is left of the settings is a finding: nothing is dropped in silence.
4. Validate the result; its findings name the setting that they come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipelines.domain.connect.importing import files, kafka, stores
from pipelines.domain.connect.importing.notes import SINK, SOURCE, leave_all, mislead
from pipelines.domain.connect.importing.parts import Part
from pipelines.domain.connect.importing.records import read_converters, read_errors
from pipelines.domain.connect.importing.topics import Topics, listed_topics
from pipelines.domain.connect.importing.transforms import Transformed, read_transforms
from pipelines.domain.connect.reading.connector import CLASS, read_connector
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import API_VERSION
from pipelines.domain.flume.importing.importer import Imported
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.names import pipeline_name
from pipelines.domain.imports.report import Report, in_order
from pipelines.domain.imports.section import Section

_NEEDLESS = {
    "tasks.max": "partitions and placement.launcher.cores decide how much runs at once",
    "errors.log.": "a dead letter keeps its cause",
    "errors.retry.": "a batch that fails is held and tried again, without a limit",
    "errors.deadletterqueue.": "a dead letter has its cause in headers, and its topic has to exist",
    "errors.tolerance": "records that cannot be processed become dead letters",
    "topic.creation.": "topics have to exist",
    "max.retries": "a batch that fails is held and tried again, without a limit",
    "retry.backoff.ms": "a batch that fails is held and tried again, without a limit",
    "batch.size": "Spark decides how many events it moves at once",
    "exactly.once.support": "a Kafka sink delivers exactly once",
    "offset-syncs.": "positions are in the ledger",
    "sync.": "topics, their settings and groups are not copied, records alone",
    "emit.": "positions are in the ledger",
    "refresh.": "topics that match a pattern are found by themselves",
    "replication.factor": "topics have to exist",
}


@dataclass(frozen=True)
class _Context:
    """What the settings below are read into."""

    name: str
    section: Section
    servers: str | None
    report: Report


def import_connect(text: str, *, name: str | None = None, servers: str | None = None) -> Imported:
    """Turn the configuration of a connector into a definition. `name`: where the text has several; `servers`: the
    brokers of the Connect worker. ImportRefused where the text cannot be read."""
    report = Report()
    section = read_connector(text, name)
    properties = [*section.properties.values()]
    own = pipeline_name(section.name)
    if own != section.name:
        report.note("renamed", f"{section.name} has characters that names here do not have.", f"It became {own}.")
    context = _Context(own, section, servers, report)
    definition = {"api_version": API_VERSION, "name": own} | _parts(context)
    leave_all(section, _NEEDLESS, report)
    validation = validate_data(definition)
    findings = in_order([*report.findings, *map(report.located, validation.findings)], properties)
    valid = validation.valid and not any(finding.is_error for finding in findings)
    return Imported(definition, findings, valid, frozenset(report.mapped_lines))


def _parts(context: _Context) -> dict[str, Any]:
    written = context.section.properties.pop(CLASS)
    kind = written.value.rpartition(".")[2].removesuffix("Connector")
    context.report.mapped(written, (*(SINK if kind.endswith("Sink") else SOURCE), "type"))
    read_converters(context.section, context.report)
    errors = read_errors(context.section, context.report)
    if kind == "FileStreamSource":
        return _file_source(context) | errors
    if kind == "MirrorSource":
        return _mirror(context) | errors
    if kind not in _SINKS:
        advice = "Choose a component of headgate components list."
        mislead(context.report, written, "unsupported_connector", f"There is nothing like {kind}.", advice)
        side = {"type": written.value}
        if kind.endswith("Source"):
            return {"sources": {"in": side}, "channels": {"main": {"type": "direct"}}} | errors
        return _sink_of(context, lambda section, part: side) | errors
    return _sink_of(context, _SINKS[kind]) | errors


_SINKS: dict[str, Callable[[Section, Part], dict[str, Any]]] = {
    "FileStreamSink": files.file_stream_sink,
    "S3Sink": files.s3_sink,
    "HdfsSink": files.hdfs_sink,
    "Hdfs3Sink": files.hdfs_sink,
    "JdbcSink": stores.jdbc_sink,
    "ElasticsearchSink": stores.elasticsearch_sink,
}


def _sink_of(context: _Context, build: Callable[[Section, Part], dict[str, Any]]) -> dict[str, Any]:
    """From Kafka to a store."""
    section, report = context.section, context.report
    listing, pattern = section.take("topics"), section.take("topics.regex")
    topics = Topics(items(listing.value, ",") if listing else [], pattern.value if pattern else "")
    for each, key in ((listing, "topics"), (pattern, "topics_pattern")):
        if each is not None:
            report.mapped(each, (*SOURCE, key))
    made = read_transforms(section, SOURCE, topics, report)
    part = Part(context.name, SINK, topics, report)
    sink = build(section, part)
    made.headers |= part.headers
    source = {
        "type": "kafka",
        **kafka.servers(section, "bootstrap.servers", context.servers, SOURCE, report),
        **_read(topics),
        **kafka.positions(section, SOURCE, report),
        **kafka.options(section, "consumer.override.", "consumer", context.name, report),
    }
    return _whole(source, made, {"type": sink.pop("type"), "channel": "main", **sink})


def _read(topics: Topics) -> dict[str, Any]:
    return {"topics_pattern": topics.pattern} if topics.pattern else {"topics": topics.names}


def _whole(source: dict[str, Any], made: Transformed, sink: dict[str, Any]) -> dict[str, Any]:
    headers = {f"{name}_header": name for name in kafka.HEADERS if name in made.headers}
    interceptors = {"interceptors": made.interceptors} if made.interceptors else {}
    return {
        "sources": {"in": source | headers | interceptors},
        "channels": {"main": {"type": "direct"}},
        "sinks": {"out": sink},
    }


def _file_source(context: _Context) -> dict[str, Any]:
    """A file that grows, to a topic."""
    section, report = context.section, context.report
    file, topic = section.take("file"), section.take("topic")
    topics = Topics([topic.value] if topic else [])
    made = read_transforms(section, SOURCE, topics, report)
    directory, _, name = (file.value if file else "").rpartition("/")
    group = {"directory": directory, "pattern": _escaped(name)}
    if file is not None:
        report.mapped(file, (*SOURCE, "file_groups"))
        message = "The connector reads one file by its name; the source follows it through rotation."
        report.note("differs", message, "pattern is its name.", about=file, path=SOURCE)
    if topic is not None:
        report.mapped(topic, (*SINK, "topic"))
    sink = {
        "type": "kafka",
        "channel": "main",
        **kafka.servers(section, "bootstrap.servers", context.servers, SINK, report),
        "topic": topics.only or "",
        **kafka.options(section, "producer.override.", "producer", context.name, report),
    }
    return _whole({"type": "taildir", "file_groups": {"file": group}}, made, sink)


def _escaped(name: str) -> str:
    return "".join(f"\\{letter}" if letter in r"\.[](){}*+?^$|" else letter for letter in name)


def _mirror(context: _Context) -> dict[str, Any]:
    """MirrorMaker 2: records of one cluster to the same topics of another, partition by partition."""
    section, report = context.section, context.report
    listing = section.take("topics")
    topics = listed_topics(listing.value if listing else ".*")
    if listing is not None:
        report.mapped(listing, (*SOURCE, "topics_pattern" if topics.pattern else "topics"))
    made = read_transforms(section, SOURCE, topics, report)
    if topics.routed:
        mislead(
            report,
            "transforms",
            "route_unknown",
            "Topics of a mirror are named by its policy.",
            "Set the header topic.",
        )
    made.headers |= {"topic", "partition"}
    source = {
        "type": "kafka",
        **kafka.servers(section, "source.cluster.bootstrap.servers", context.servers, SOURCE, report),
        **_read(topics),
        **kafka.anew(context.name, SOURCE, report),
        **kafka.options(section, "source.consumer.", "consumer", context.name, report),
    }
    sink = {
        "type": "kafka",
        "channel": "main",
        **kafka.servers(section, "target.cluster.bootstrap.servers", None, SINK, report),
        **_mirrored(section, topics, made, report),
        **kafka.options(section, "target.producer.", "producer", context.name, report),
        "partition_header": "partition",
    }
    return _whole(source, made, sink)


def _mirrored(section: Section, topics: Topics, made: Transformed, report: Report) -> dict[str, Any]:
    """Names of topics on the other side: the alias in front, unless the policy keeps them."""
    policy, alias = section.take("replication.policy.class"), section.take("source.cluster.alias")
    separator = section.take("replication.policy.separator")
    for each in (policy, alias, separator):
        if each is not None:
            report.used(each)
    keeps = policy is not None and policy.value.endswith("IdentityReplicationPolicy")
    prefix = "" if keeps else f"{alias.value if alias else 'source'}{separator.value if separator else '.'}"
    if prefix:
        made.interceptors.append({"type": "sql", "set": {"headers.topic": f"concat('{prefix}', headers['topic'])"}})
    names = [f"{prefix}{name}" for name in topics.names]
    if names:
        return {"topic": names[0], "topic_header": "topic", "allowed_topics": names}
    if not prefix:
        message = "A sink writes to topics that are listed, or that begin with a prefix."
        mislead(report, "topics", "topics_needed", message, "List the topics in allowed_topics.", SINK)
    return {"topic": f"{prefix}unknown", "topic_header": "topic"} | ({"allowed_topic_prefix": prefix} if prefix else {})
