"""Kafka channels with one end in the agent: the other end is another agent, so that they are a sink or a source.

A source that puts events into a Kafka channel is a producer to its topic, and a sink that takes them is a consumer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pipelines.domain.flume.importing import catalogue
from pipelines.domain.flume.reading.agent import Agent
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_SINK = "org.apache.flume.sink.kafka.KafkaSink"
_SOURCE = "org.apache.flume.source.kafka.KafkaSource"
_TOPIC = "flume-channel"
_OLD_NAMES = {
    "brokerList": "kafka.bootstrap.servers",
    "topic": "kafka.topic",
    "groupId": "kafka.consumer.group.id",
    "readSmallestOffset": "kafka.consumer.auto.offset.reset",
}
_OF_SINKS = ("partitionIdHeader", "defaultPartitionId")
_NEEDLESS = {
    "kafka.pollTimeout": "batches follow delivery.trigger_interval_ms",
    "pollTimeout": "batches follow delivery.trigger_interval_ms",
    "zookeeperConnect": "Kafka has had no offsets in ZooKeeper since 0.9",
    "migrateZookeeperOffsets": "Kafka has had no offsets in ZooKeeper since 0.9",
    "capacity": "Flume's Kafka channel has no capacity, and ignores it",
    "transactionCapacity": "Flume's Kafka channel has no capacity, and ignores it",
    "keep-alive": "Flume's Kafka channel ignores it",
}


@dataclass
class Ends:
    """The channels that became direct ones, and the sinks and sources that they became, each with its channel."""

    sinks: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    @property
    def channels(self) -> set[str]:
        """The channels, by old names."""
        return {*self.sinks.values(), *self.sources.values()}


def split(agent: Agent, report: Report) -> Ends:
    """Give the agent a Kafka sink or source for each Kafka channel that has only a source or only a sink."""
    ends = Ends()
    fed = {name for source in agent.sections["sources"].values() for name in items(source.get("channels") or "")}
    drained = {sink.get("channel") for sink in agent.sections["sinks"].values()}
    for name in agent.listed["channels"]:
        section = agent.sections["channels"][name]
        flume_type = catalogue.find("channel", section.get("type") or "")
        if flume_type is None or flume_type.ours != "kafka" or (name in fed and name in drained):
            continue
        _use_new_names(section, report)
        if name in fed:
            ends.sinks[_add(agent, "sinks", name, _sink(section, name, report))] = name
        else:
            ends.sources[_add(agent, "sources", name, _source(section, name, report))] = name
    return ends


def _add(agent: Agent, kind: str, wanted: str, section: Section) -> str:
    name = wanted
    while name in agent.sections[kind] or name in agent.listed[kind]:
        name = f"{name}-kafka"
    agent.listed[kind].append(name)
    section.name = name
    agent.sections[kind][name] = section
    return name


def _use_new_names(section: Section, report: Report) -> None:
    """Names of Flume before 1.7; the newer one counts where both are written."""
    for old, new in _OLD_NAMES.items():
        property_ = section.take(old)
        if property_ is None:
            continue
        if new in section.properties:
            message = f"{new} is written too, and Flume reads only that."
            report.note("superseded", message, "It was omitted.", about=property_)
            continue
        if old == "readSmallestOffset":
            property_ = replace(property_, value="earliest" if property_.value.lower() == "true" else "latest")
        section.properties[new] = property_


def _sink(channel: Section, name: str, report: Report) -> Section:
    made = _begun(channel, _SINK, report)
    made.properties["channel"] = replace(made.properties["type"], value=name)
    made.properties["kafka.topic"] = _topic(channel, made, report)
    made.properties["useFlumeEventFormat"] = _format(channel, made, report)
    for key in (*_OF_SINKS, *(key for key in channel.properties if key.startswith("kafka.producer."))):
        _move(channel, made, key)
    report.note(
        "channel_became_sink",
        f"The channel {name} has no sink: sources write to the topic {made.get('kafka.topic')}, for other agents.",
        "It became a kafka sink behind a direct channel.",
        about=made.properties["type"],
    )
    _leave_rest(channel, "nothing in this agent reads the channel", report)
    return made


def _source(channel: Section, name: str, report: Report) -> Section:
    made = _begun(channel, _SOURCE, report)
    made.properties["channels"] = replace(made.properties["type"], value=name)
    made.properties["kafka.topics"] = _topic(channel, made, report)
    made.properties["useFlumeEventFormat"] = _format(channel, made, report)
    for key in [key for key in channel.properties if key.startswith("kafka.consumer.")]:
        _move(channel, made, key)
    report.note(
        "channel_became_source",
        f"The channel {name} has no source: its sinks read the topic {made.get('kafka.topics')}, which others write.",
        "It became a kafka source with a direct channel.",
        about=made.properties["type"],
    )
    _leave_rest(channel, "nothing in this agent writes to the channel", report)
    return made


def _begun(channel: Section, type_name: str, report: Report) -> Section:
    """A component at the place of the channel in the file, with its servers."""
    written = channel.take("type")
    made = Section(channel.name, channel.prefix)
    if written is not None:
        report.used(written)
        made.properties["type"] = replace(written, value=type_name)
    _move(channel, made, "kafka.bootstrap.servers")
    return made


def _move(channel: Section, made: Section, key: str) -> None:
    if (property_ := channel.take(key)) is not None:
        made.properties[key] = property_


def _topic(channel: Section, made: Section, report: Report) -> Property:
    return channel.take("kafka.topic") or _default(made, "kafka.topic", _TOPIC, report)


def _format(channel: Section, made: Section, report: Report) -> Property:
    return channel.take("parseAsFlumeEvent") or _default(made, "parseAsFlumeEvent", "true", report)


def _default(made: Section, name: str, value: str, report: Report) -> Property:
    """A default of the channel that differs from the one of the sink or source; it stands where the type is."""
    report.note(
        "default_written_out",
        f"{name} is not written; Flume takes {value}.",
        "It was written out.",
        about=f"{made.prefix}{name}",
    )
    return Property(f"{made.prefix}{name}", value, made.properties["type"].line)


def _leave_rest(channel: Section, unused: str, report: Report) -> None:
    for key in list(channel.properties):
        property_ = channel.properties.pop(key)
        reason = _NEEDLESS.get(key) or (unused if key.startswith("kafka.") or key in _OF_SINKS else "")
        message = f"{property_.key} has no equivalent{': ' + reason if reason else ''}."
        report.note("no_equivalent", message, "It was omitted.", about=property_)
