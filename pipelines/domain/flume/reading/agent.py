"""The agents of a file, each as Flume sees it: lists of components and the properties of each component."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipelines.domain.base.findings import listed, nearest
from pipelines.domain.flume.reading import placeholders
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import ImportFinding, ImportRefused, Report
from pipelines.domain.imports.section import Section

KINDS = ("sources", "channels", "sinks", "sinkgroups", "configfilters")


@dataclass
class Agent:
    """One agent: for each kind the listed names in their order, the list's property, and the sections by name."""

    name: str
    listed: dict[str, list[str]]
    lists: dict[str, Property]
    sections: dict[str, dict[str, Section]]
    properties: list[Property]

    @property
    def channel_of(self) -> dict[str, str]:
        """The channel of each sink that has one, by the sink's name."""
        return {name: channel for name, sink in self.sections["sinks"].items() if (channel := sink.get("channel"))}


def choose(properties: Iterable[Property], name: str | None, report: Report) -> Agent:
    """The agent of this name, or the only one; ImportRefused where that is not clear."""
    by_agent = _by_agent(_last_of_each(properties, report), report)
    agents = [agent for agent, own in by_agent.items() if any(_kind(property_) for property_ in own)]
    chosen = _chosen(agents, name)
    for other, own in by_agent.items():
        if other != chosen:
            _note_other(other, own, other in agents, report)
    return _agent(chosen, by_agent[chosen], report)


def _last_of_each(properties: Iterable[Property], report: Report) -> list[Property]:
    """Later properties replace earlier ones; names and values are trimmed; empty ones do not count."""
    last: dict[str, Property] = {}
    for written in properties:
        trimmed = Property(written.key.strip(), written.value.strip(), written.line)
        earlier = last.pop(trimmed.key, None)
        if earlier is not None:
            message = f"The property {trimmed.key} is written again on line {trimmed.line}."
            report.note("duplicate_property", message, "The last one counts, as in Flume.", about=earlier)
        last[trimmed.key] = trimmed
    return list(last.values())


def _by_agent(properties: list[Property], report: Report) -> dict[str, list[Property]]:
    """Split by the word before the first dot; Flume ignores what has no such word, no rest, or no value."""
    by_agent: dict[str, list[Property]] = defaultdict(list)
    for property_ in properties:
        agent, _, rest = property_.key.partition(".")
        problem = (
            ("empty_value", "The property has no value.")
            if not property_.value
            else ("agent_name_missing", "The property does not begin with the name of an agent.")
            if not agent or "." not in property_.key
            else ("property_name_missing", "Nothing follows the name of the agent.")
            if not rest
            else None
        )
        if problem is None:
            by_agent[agent].append(property_)
        else:
            report.note(*problem, "Flume ignores it; it was omitted.", about=property_)
    return by_agent


def _kind(property_: Property) -> str | None:
    kind = property_.key.split(".")[1]
    return kind if kind in KINDS[:3] else None


def _chosen(agents: list[str], name: str | None) -> str:
    known = f"The file has the agents {listed(agents)}." if agents else "The file has no agent."
    if name is None and len(agents) == 1:
        return agents[0]
    if name in agents:
        return str(name)
    if not agents:
        suggestion = "An agent's properties begin with its name: a1.sources = s1."
        raise _refused("no_agent", known, suggestion)
    if name is None:
        raise _refused("several_agents", known, f"Choose one: --agent {agents[0]}. Each gives a pipeline of its own.")
    near = nearest(name, agents)
    suggestion = f"Did you mean --agent {near}?" if near else f"Use one of: {listed(agents)}."
    raise _refused("unknown_agent", f"There is no agent {name}. {known}", suggestion)


def _refused(code: str, message: str, suggestion: str) -> ImportRefused:
    finding = ImportFinding(path="", code=code, message=message, suggestion=suggestion, done="Nothing was imported.")
    return ImportRefused([finding])


def _note_other(name: str, own: list[Property], is_agent: bool, report: Report) -> None:
    if is_agent:
        message = f"{len(own)} properties belong to the agent {name}."
        done = "They were omitted; one import makes one pipeline."
        report.note("other_agent", message, done, about=f"{name}.*", suggestion=f"Import it with --agent {name}.")
        return
    for property_ in own:
        message = f"{name} has no sources, channels or sinks, so it is no agent."
        report.note("not_an_agent", message, "Flume ignores it; it was omitted.", about=property_)


def _agent(name: str, own: list[Property], report: Report) -> Agent:
    filters = {
        property_.key.split(".")[2]: property_.value
        for property_ in own
        if property_.key.startswith(f"{name}.configfilters.") and property_.key.endswith(".type")
    }
    agent = Agent(name, {kind: [] for kind in KINDS}, {}, {kind: {} for kind in KINDS}, own)
    for property_ in own:
        _place(agent, _with_references(property_, filters, report), report)
    return agent


def _place(agent: Agent, property_: Property, report: Report) -> None:
    kind, _, rest = property_.key.removeprefix(f"{agent.name}.").partition(".")
    component, _, key = rest.partition(".")
    if kind in KINDS and not rest:
        agent.listed[kind] = list(dict.fromkeys(property_.value.split()))
        agent.lists[kind] = property_
        report.used(property_)
    elif kind in KINDS and component and key:
        prefix = f"{agent.name}.{kind}.{component}."
        agent.sections[kind].setdefault(component, Section(component, prefix)).properties[key] = property_
    else:
        message = f"{property_.key} is not a property of a source, channel, sink or group."
        report.note("not_a_component", message, "Flume ignores it; it was omitted.", about=property_)


def _with_references(property_: Property, filters: dict[str, str], report: Report) -> Property:
    translated = placeholders.translate(property_.value, filters)
    for variable in translated.variables:
        report.note(
            "environment_reference",
            f"The value comes from the environment variable {variable}.",
            f"It became ${{env:{variable}}}.",
            about=property_,
            suggestion=f"Allow {variable} on the host, or Headgate refuses the start.",
        )
    for secret in translated.secrets:
        report.note(
            "filter_reference",
            "A configuration filter gives the value.",
            f"It became ${{secret:{secret}}}.",
            about=property_,
            suggestion=f"headgate secrets set {secret}",
        )
    if translated.defaults_dropped:
        done = "The default was omitted; a reference that cannot be resolved refuses the start."
        report.note("reference_default", "The reference has a default.", done, about=property_)
    for unknown in translated.unknown:
        message = f"{unknown} is replaced by Flume and means nothing here."
        done = "It was kept as text, which validation refuses outside of regular expressions."
        report.note("unknown_reference", message, done, about=property_, suggestion="Write the value out.")
    return replace(property_, value=translated.text)
