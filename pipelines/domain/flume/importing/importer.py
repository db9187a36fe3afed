"""An agent of Apache Flume 1.x as a definition.

1. Read the properties (properties.py) and choose the agent (agent.py).
2. Leave out what Flume would not run (effective.py), and make Kafka channels with one end a source or a sink
   (channel_ends.py).
3. Build each component from the catalogue (catalogue.py, draft.py); whatever has no equivalent is a finding.
4. Validate the result; its findings name the property they come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import API_VERSION
from pipelines.domain.definitions.parts.component import Kind
from pipelines.domain.flume.importing import catalogue, channel_ends, kafka, routing, traps
from pipelines.domain.flume.importing.catalogue import FlumeType
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.flume.importing.files import read_file_groups, read_format
from pipelines.domain.flume.importing.groups import sink_groups
from pipelines.domain.flume.importing.hdfs import read_place
from pipelines.domain.flume.importing.http import read_address, read_statuses
from pipelines.domain.flume.importing.local_time import Clocks
from pipelines.domain.flume.importing.numbers import check_numbers
from pipelines.domain.flume.importing.rolling import read_file_rolling, read_hdfs_rolling, widen_batches
from pipelines.domain.flume.reading.agent import Agent, choose
from pipelines.domain.flume.reading.effective import reduce_to_effective
from pipelines.domain.flume.reading.headers import headers_read
from pipelines.domain.imports import names
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.names import Names
from pipelines.domain.imports.properties import MalformedError, Property, parse
from pipelines.domain.imports.report import ImportFinding, ImportRefused, Report, in_order
from pipelines.domain.imports.section import Section


@dataclass(frozen=True)
class Imported:
    """A definition as plain data, what there is to know about it, and whether it can be used: validation accepts it,
    and no finding is an error."""

    definition: dict[str, Any]
    findings: list[ImportFinding]
    valid: bool
    mapped_lines: frozenset[int]


def import_flume(text: str, agent: str | None = None) -> Imported:
    """Turn a properties file into a definition. `agent` is needed where the file has several.

    ImportRefused where the file cannot be read, or no agent can be chosen.
    """
    report = Report()
    properties = _parsed(text)
    chosen = choose(properties, agent, report)
    for section in chosen.sections.pop("configfilters").values():
        _leave_filter(section, report)
    reduce_to_effective(chosen, report)
    check_numbers(chosen, report)
    traps.check_batches(chosen, report)
    definition = _Importer(chosen, report).definition()
    validation = validate_data(definition)
    own = [] if report.has("nothing_left") else map(report.located, validation.findings)
    findings = in_order([*report.findings, *own], properties)
    valid = validation.valid and not any(finding.is_error for finding in findings)
    return Imported(definition, findings, valid, frozenset(report.mapped_lines))


def _parsed(text: str) -> list[Property]:
    try:
        return parse(text)
    except MalformedError as error:
        finding = ImportFinding(
            path="",
            code="malformed",
            message=f"{error}.",
            line=error.line,
            suggestion="Fix the line.",
            done="Nothing was imported.",
        )
        raise ImportRefused([finding]) from None


def _leave_filter(section: Section, report: Report) -> None:
    for property_ in section.properties.values():
        message = f"The configuration filter {section.name} is not needed: Headgate resolves references on the host."
        report.note("config_filter", message, "It was omitted; what it gave became references.", about=property_)


class _Importer:
    def __init__(self, agent: Agent, report: Report) -> None:
        self.agent = agent
        self.report = report
        self.ends = channel_ends.split(agent, report)
        self.clocks = Clocks(agent, report)
        self.pipeline = names.pipeline_name(agent.name)
        self.channels = self._named("channels")
        self.groups: dict[str, str] = {}
        self.reads_kafka = any(
            section.get("type") in catalogue.SOURCES[0].names for section in agent.sections["sources"].values()
        )

    def definition(self) -> dict[str, Any]:
        """The definition, its keys in the order in which a person writes them."""
        if self.pipeline != self.agent.name:
            self._note_renamed("agent", self.agent.name, self.pipeline, "name")
        sources, sinks = self._named("sources"), self._named("sinks")
        groups = sink_groups(self.agent, sinks, self.report)
        definition = {
            "api_version": API_VERSION,
            "name": self.pipeline,
            "sources": {new: self._source(old, new) for old, new in sources.items()},
            "channels": {new: self._channel(old, new) for old, new in self.channels.items()},
            "sinks": {new: self._sink(old, new) for old, new in sinks.items()},
        }
        self.clocks.add(definition, sources, sinks)
        widen_batches(definition, self.channels, self.report)
        return definition | ({"sink_groups": groups} if groups else {})

    def _named(self, kind: str) -> dict[str, str]:
        given = Names()
        renamed = {name: given.give(name) for name in self.agent.listed[kind]}
        for old, new in renamed.items():
            if old != new:
                self._note_renamed(kind.removesuffix("s"), old, new, f"{kind}.{new}")
        return renamed

    def _note_renamed(self, what: str, old: str, new: str, place: str) -> None:
        message = f"The name of the {what} {old} has characters that names here do not have."
        self.report.note("renamed", message, f"It became {new}.", about=old, path=tuple(place.split(".")))

    def _source(self, old: str, new: str) -> dict[str, Any]:
        section = self.agent.sections["sources"][old]
        path = ("sources", new)
        channels = self._channels_of(section, path)
        draft, flume_type = self._start("source", section, path)
        made = routing.interceptors(section, path, self.report)
        selector = routing.selector(section, channels, path, self.report)
        if flume_type and flume_type.ours == "kafka":
            kafka.prefer_new_names(section, draft)
            reset = section.take("kafka.consumer.auto.offset.reset")
            if old in self.ends.sources:
                kafka.read_key(draft, headers_read(self.agent, made))
            else:
                kafka.read_headers(draft, section, headers_read(self.agent, made))
            self._fill(draft, section, flume_type)
            own_group = kafka.choose_group(
                draft, section, self.pipeline, self.groups, keeps_default=old in self.ends.sources
            )
            kafka.choose_start(draft, section, reset, own_group=own_group)
        else:
            read_file_groups(section, draft)
            self._fill(draft, section, flume_type)
        return draft.finished() | ({"interceptors": made} if made else {}) | {"selector": selector}

    def _channels_of(self, section: Section, path: tuple[str, str]) -> dict[str, str]:
        """The channels of a source, old names to new ones."""
        listing = section.take("channels")
        if listing is None:
            return {}
        self.report.mapped(listing, (*path, "selector", "channels"))
        return {name: self.channels[name] for name in items(listing.value) if name in self.channels}

    def _channel(self, old: str, new: str) -> dict[str, Any]:
        if old in self.ends.channels:
            return {"type": "direct"}
        section = self.agent.sections["channels"][old]
        draft, flume_type = self._start("channel", section, ("channels", new))
        if flume_type:
            traps.check_channel(section, flume_type, draft)
        self._fill(draft, section, flume_type)
        traps.fit_transactions(draft)
        return draft.finished()

    def _sink(self, old: str, new: str) -> dict[str, Any]:
        section = self.agent.sections["sinks"][old]
        channel = section.take("channel")
        draft, flume_type = self._start("sink", section, ("sinks", new))
        if channel is not None:
            draft.put("channel", self.channels[channel.value], channel)
        if flume_type and flume_type.ours == "kafka":
            if old not in self.ends.sinks:
                traps.check_topic_override(section, draft)
            if not self.reads_kafka and draft.accepts("key"):
                draft.keys["key"] = "header.key"
        if flume_type and flume_type.ours == "http":
            read_address(section, draft, f"{self.pipeline}-{new}")
            read_statuses(section, draft)
        if flume_type and flume_type.ours == "file":
            of_hdfs = flume_type.names[0] == "hdfs"
            if of_hdfs:
                read_place(section, draft, local_time=old in self.clocks.sinks)
                read_hdfs_rolling(section, draft)
            else:
                read_file_rolling(section, draft)
            read_format(section, draft, of_hdfs=of_hdfs)
        self._fill(draft, section, flume_type)
        return draft.finished()

    def _start(self, kind: Kind, section: Section, path: tuple[str, str]) -> tuple[Draft, FlumeType | None]:
        """The draft of a component. One that has no equivalent keeps Flume's type, so that validation refuses it."""
        written = section.take("type")
        name = written.value if written else ""
        flume_type = catalogue.find(kind, name)
        draft = Draft(kind, flume_type.ours if flume_type and flume_type.ours else name, path, self.report)
        if written:
            self.report.mapped(written, (*path, "type"))
        if flume_type is None or flume_type.ours is None:
            self._note_unsupported(kind, name, written, path, flume_type)
        elif flume_type.advice:
            message = f"The {kind} {name} works in another way here. {flume_type.advice}"
            self.report.note("differs", message, f"It became {flume_type.ours}.", about=written or "", path=path)
        return draft, flume_type if flume_type and flume_type.ours else None

    def _note_unsupported(
        self, kind: str, name: str, written: Property | None, path: tuple[str, str], known: FlumeType | None
    ) -> None:
        message = (
            f"There is no {kind} for Flume's {name}."
            if known
            else f"{name} is a class of its own, and Headgate runs no classes of Flume."
        )
        self.report.note(
            "unsupported_component" if known else "custom_class",
            message,
            "The definition has its type, and is invalid until you replace it.",
            about=written or "",
            path=path,
            suggestion=known.advice if known else f"Replace it by a {kind} of headgate components list.",
        )

    def _fill(self, draft: Draft, section: Section, flume_type: FlumeType | None) -> None:
        if flume_type is None:
            for property_ in section.properties.values():
                draft.no_equivalent(property_, "its component has none")
            return
        early = [name for name in flume_type.rules if name.startswith(("kafka.consumer.", "kafka.producer."))]
        early += [name for name in flume_type.needless if name.startswith("kafka.producer.")]
        held = {name: section.properties.pop(name) for name in early if name in section.properties}
        kafka.read_options(draft, section, f"{self.pipeline}-{draft.path[-1]}")
        section.properties.update(held)
        draft.read_all(section, flume_type)
