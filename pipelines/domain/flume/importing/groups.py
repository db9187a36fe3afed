"""Sink groups: their members, and the processor that chooses among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pipelines.domain.base.findings import listed
from pipelines.domain.flume.importing import catalogue
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.flume.reading.agent import Agent
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.names import Names
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

DEFAULT_PENALTY_MS = 30_000


def sink_groups(agent: Agent, sinks: Mapping[str, str], report: Report) -> dict[str, Any]:
    """The groups by new name, given the sinks' new names by old ones."""
    names, owners = Names(), dict[str, str]()
    made: dict[str, Any] = {}
    for name in agent.listed["sinkgroups"]:
        section = agent.sections["sinkgroups"].get(name)
        if section is None:
            continue
        new_name = names.give(name)
        members = _members(section, new_name, sinks, owners, report)
        path = ("sink_groups", new_name)
        if members:
            made[new_name] = {"sinks": [sinks[member] for member in members]}
            made[new_name]["processor"] = _processor(section, members, sinks, path, report)
        else:
            message = f"The group {name} has no sinks."
            abouts: list[Property | str] = [*section.properties.values()]
            for about in abouts or [section.prefix.rstrip(".")]:
                report.note("group_without_sinks", message, "It was omitted, as Flume does.", about=about)
    return made | _competing(agent, sinks, owners, names, report)


def _competing(
    agent: Agent, sinks: Mapping[str, str], owners: Mapping[str, str], names: Names, report: Report
) -> dict[str, Any]:
    """Groups for sinks that Flume lets take turns at one channel, each event going to whoever comes first."""
    by_channel: dict[str, list[str]] = defaultdict(list)
    for old in sinks:
        by_channel[agent.channel_of[old]].append(old)
    made: dict[str, Any] = {}
    for channel, members in by_channel.items():
        if len(members) == 1 or any(member in owners for member in members):
            continue
        name = names.give(channel)
        made[name] = {"sinks": [sinks[member] for member in members], "processor": {"type": "load_balance"}}
        report.note(
            "competing_sinks",
            f"The sinks {listed(members)} share the channel {channel}: each event goes to one.",
            f"They became the group {name}, which takes them in turn.",
            about=f"{agent.name}.channels.{channel}",
            path=("sink_groups", name),
            suggestion="Give each a channel of its own where all should get every event.",
        )
    return made


def _members(
    section: Section, new_name: str, sinks: Mapping[str, str], owners: dict[str, str], report: Report
) -> list[str]:
    listing = section.take("sinks")
    members: list[str] = []
    for name in dict.fromkeys(items(listing.value)) if listing else ():
        if name not in sinks:
            message = f"The group {section.name} names the sink {name}, which there is not."
            report.note("unknown_sink", message, "It was omitted from the group, as Flume does.", about=listing or "")
        elif name in owners:
            message = f"The sink {name} is in the group {owners[name]} already."
            done = f"It stays in {owners[name]}; Flume keeps it in one of them too."
            report.note("sink_in_two_groups", message, done, about=listing or "")
        else:
            owners[name] = section.name
            members.append(name)
    if listing:
        report.mapped(listing, ("sink_groups", new_name, "sinks"))
    return members


def _processor(
    section: Section, members: list[str], sinks: Mapping[str, str], path: tuple[str, str], report: Report
) -> dict[str, Any]:
    family = section.below("processor.")
    _leave(section, report, "a group has sinks and a processor")
    written = family.take("type")
    name = written.value if written else "default"
    flume_type = catalogue.find("processor", name)
    draft = Draft(
        "processor", flume_type.ours if flume_type and flume_type.ours else name, (*path, "processor"), report
    )
    if written:
        report.mapped(written, (*draft.path, "type"))
    if flume_type is None:
        report.note(
            "custom_class",
            f"{name} is a sink processor of its own, and Headgate runs no classes of Flume.",
            "The definition has its name, and is invalid until you replace it.",
            about=written or "",
            path=draft.path,
            suggestion="Use failover or load_balance.",
        )
    if draft.keys["type"] == "failover":
        _priorities(family, members, sinks, draft)
        _check_penalty(family, draft)
    draft.read_all(family, flume_type or catalogue.FlumeType("processor", (name,), None))
    return draft.finished()


def _priorities(family: Section, members: list[str], sinks: Mapping[str, str], draft: Draft) -> None:
    """Unique priorities for all: written ones first; Flume gives a missing one -1, -2 and so on, and drops a sink whose
    priority another one has (FailoverSinkProcessor.configure)."""
    written = family.below("priority.")
    if draft.accepts("priorities") is None:
        _leave(written, draft.report, "failover is not available")
        return
    priorities: dict[str, int] = {}
    numbered = {member: _priority(written.take(member)) for member in members}
    lowest = 0
    for member in members:
        property_, number = numbered[member]
        if number is None:
            lowest -= 1
            number = lowest
            _note_missing(member, number, property_, draft)
        free = _free(number, set(priorities.values()) | _later(numbered, members, member))
        if number in priorities.values():
            _note_duplicate(member, number, free, property_, draft)
            number = free
        priorities[member] = number
        if property_:
            draft.report.mapped(property_, (*draft.path, "priorities", sinks[member]))
    draft.keys["priorities"] = {sinks[member]: priorities[member] for member in members}
    for property_ in written.properties.values():
        draft.no_equivalent(property_, "no sink of the group has this name")


def _later(numbered: Mapping[str, tuple[Property | None, int | None]], members: list[str], member: str) -> set[int]:
    following = members[members.index(member) + 1 :]
    return {number for name in following if (number := numbered[name][1]) is not None}


def _priority(property_: Property | None) -> tuple[Property | None, int | None]:
    try:
        return property_, int(property_.value) if property_ else None
    except ValueError:
        return property_, None


def _free(wanted: int, used: set[int]) -> int:
    while wanted in used:
        wanted -= 1
    return wanted


def _note_missing(member: str, number: int, property_: Property | None, draft: Draft) -> None:
    what = "no whole number as" if property_ else "no"
    draft.report.note(
        "missing_priority",
        f"The sink {member} has {what} priority.",
        f"It got {number}, as Flume gives it.",
        about=property_ or f"processor.priority.{member}",
        path=(*draft.path, "priorities"),
        suggestion="Write the order that is meant.",
    )


def _note_duplicate(member: str, number: int, free: int, property_: Property | None, draft: Draft) -> None:
    draft.report.note(
        "duplicate_priority",
        f"The sink {member} has the priority {number} of another one, so Flume leaves one "
        "of them out, whichever comes later in a hash table.",
        f"Both are in the group; {member} got {free}.",
        about=property_ or f"processor.priority.{member}",
        path=(*draft.path, "priorities"),
        suggestion="Write the order that is meant.",
    )


def _check_penalty(family: Section, draft: Draft) -> None:
    written = family.properties.get("maxpenalty")
    if written is None or (written.value.isdecimal() and int(written.value) > 0):
        return
    family.take("maxpenalty")
    draft.put("max_penalty_ms", DEFAULT_PENALTY_MS, written)
    draft.report.note(
        "bad_value",
        f"maxpenalty is not a number of milliseconds; Flume warns and takes {DEFAULT_PENALTY_MS}.",
        f"max_penalty_ms became {DEFAULT_PENALTY_MS}.",
        about=written,
        path=(*draft.path, "max_penalty_ms"),
    )


def _leave(section: Section, report: Report, reason: str) -> None:
    for property_ in list(section.properties.values()):
        if not property_.key.startswith(f"{section.prefix}processor."):
            report.note(
                "no_equivalent", f"{property_.key} has no equivalent: {reason}.", "It was omitted.", about=property_
            )
            section.properties.pop(property_.key.removeprefix(section.prefix), None)
