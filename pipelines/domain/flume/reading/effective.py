"""What Flume would run of an agent: the components that survive its validation, and a finding for each that does not.

FlumeConfiguration and AbstractConfigurationProvider of 1.11 drop what is wrong with a line in the log and start the
rest. The import leaves out the same, and says so.
"""

from __future__ import annotations

from pipelines.domain.flume.reading.agent import Agent
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_DROPPED = "Flume omits it with a line in its log and starts the rest; it was omitted here too."
_SINGULAR = {"sources": "source", "channels": "channel", "sinks": "sink", "sinkgroups": "sink group"}


def reduce_to_effective(agent: Agent, report: Report) -> None:
    """Take out of the agent whatever Flume would not run."""
    for kind in _SINGULAR:
        _drop_unlisted(agent, kind, report)
        _drop_unwritten(agent, kind, report)
        if kind != "sinkgroups":
            _drop_without_type(agent, kind, report)
    _drop_sources_without_channel(agent, report)
    _drop_sinks_without_channel(agent, report)
    _drop_unconnected_channels(agent, report)
    _refuse_nothing(agent, report)


def _refuse_nothing(agent: Agent, report: Report) -> None:
    """Where Flume would start nothing, the file is no agent yet."""
    if any(agent.listed[kind] for kind in ("sources", "channels", "sinks")):
        return
    report.note(
        "nothing_left",
        f"Flume would start nothing of the agent {agent.name}.",
        "The definition is empty.",
        about=agent.name,
        severity="error",
        suggestion="Correct what the warnings name: a source lists its channels, a sink names one.",
    )


def _drop_unlisted(agent: Agent, kind: str, report: Report) -> None:
    for name in agent.sections[kind].keys() - set(agent.listed[kind]):
        section = agent.sections[kind].pop(name)
        _note(section, kind, "not_listed", f"is not listed in {agent.name}.{kind}", report)


def _drop_unwritten(agent: Agent, kind: str, report: Report) -> None:
    for name in [name for name in agent.listed[kind] if name not in agent.sections[kind]]:
        agent.listed[kind].remove(name)
        message = f"The {_SINGULAR[kind]} {name} is listed and has no properties."
        report.note("listed_without_config", message, _DROPPED, about=agent.lists[kind])


def _drop_without_type(agent: Agent, kind: str, report: Report) -> None:
    for name in [name for name in agent.listed[kind] if agent.sections[kind][name].get("type") is None]:
        _note(_removed(agent, kind, name), kind, "missing_type", "has no type", report)


def _drop_sources_without_channel(agent: Agent, report: Report) -> None:
    for name in list(agent.listed["sources"]):
        section = agent.sections["sources"][name]
        property_ = section.properties.get("channels")
        wanted = items(property_.value) if property_ else []
        unknown = [channel for channel in wanted if channel not in agent.listed["channels"]]
        if property_ is None or len(unknown) == len(wanted):
            code = "unknown_channel" if unknown else "no_channel"
            advice = f"Write {agent.name}.sources.{name}.channels with a channel of {agent.name}.channels."
            _note(_removed(agent, "sources", name), "sources", code, "has no channel that exists", report, advice)
            continue
        for channel in unknown:
            message = f"The source {name} names the channel {channel}, which there is not."
            done = "Flume omits the channel with a line in its log; it was omitted here too."
            report.note("unknown_channel", message, done, about=property_)


def _drop_sinks_without_channel(agent: Agent, report: Report) -> None:
    for name in list(agent.listed["sinks"]):
        channel = agent.sections["sinks"][name].get("channel")
        if channel not in agent.listed["channels"]:
            code = "unknown_channel" if channel else "no_channel"
            advice = f"Write {agent.name}.sinks.{name}.channel with a channel of {agent.name}.channels."
            _note(_removed(agent, "sinks", name), "sinks", code, "has no channel that exists", report, advice)


def _drop_unconnected_channels(agent: Agent, report: Report) -> None:
    fed = {
        channel for section in agent.sections["sources"].values() for channel in items(section.get("channels") or "")
    }
    drained = {section.get("channel") for section in agent.sections["sinks"].values()}
    for name in [name for name in agent.listed["channels"] if name not in fed | drained]:
        section = _removed(agent, "channels", name)
        _note(section, "channels", "unconnected_channel", "has neither a source nor a sink", report)


def _removed(agent: Agent, kind: str, name: str) -> Section:
    agent.listed[kind].remove(name)
    return agent.sections[kind].pop(name)


def _note(section: Section, kind: str, code: str, what: str, report: Report, advice: str = "") -> None:
    """One finding for each of its lines, so that none is lost silently."""
    message = f"The {_SINGULAR[kind]} {section.name} {what}."
    for property_ in _by_line(section):
        report.note(code, message, _DROPPED, about=property_, suggestion=advice)


def _by_line(section: Section) -> list[Property]:
    return sorted(section.properties.values(), key=lambda property_: property_.line)
