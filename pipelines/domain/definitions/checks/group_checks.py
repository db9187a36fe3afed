"""Semantic findings about sink groups: what a processor needs to know of the members it chooses among."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pipelines.domain.base.findings import Finding, PathParts, did_you_mean, quote
from pipelines.domain.definitions.document.outline import Outline, Part, error


def default_processor_has_one_sink(outline: Outline) -> Iterator[Finding]:
    """The default processor cannot choose."""
    for group in outline.groups:
        if group.mapping("processor").get("type", "default") == "default" and len(group.names("sinks")) > 1:
            message = f"The default processor of the group {quote(group.name)} takes one sink, not several."
            suggestion = "Leave one sink in the group, or choose failover or load_balance."
            yield error((*group.path, "sinks"), "one_sink_only", message, suggestion)


def load_balance_has_several_sinks(outline: Outline) -> Iterator[Finding]:
    """There is nothing to balance among one sink; Flume refuses it, too."""
    for group in outline.groups:
        members = list(dict.fromkeys(mention.name for mention in group.names("sinks")))
        if group.mapping("processor").get("type") == "load_balance" and len(members) == 1:
            message = f"The group {quote(group.name)} balances the load of one sink, {quote(members[0])}."
            suggestion = "Add another sink to the group, or remove the group: a sink without one gets every batch."
            yield error((*group.path, "sinks"), "several_sinks_needed", message, suggestion)


def priorities_name_the_members(outline: Outline) -> Iterator[Finding]:
    """Each sink of a failover group has a priority, and nothing else has."""
    for group, priorities, path in _failover_groups(outline):
        members = [mention.name for mention in group.names("sinks")]
        for name in priorities:
            if name not in members:
                message = f"{quote(name)} has a priority and is not a sink of the group {quote(group.name)}."
                suggestion = did_you_mean(name, members, otherwise="Remove it, or add it to sinks.")
                yield error((*path, name), "unknown_sink", message, suggestion)
        for name in dict.fromkeys(members):
            if name not in priorities:
                message = f"The sink {quote(name)} of the group {quote(group.name)} has no priority."
                suggestion = f"Add one that no other sink has, for example {quote(name)}: {_free(priorities)}."
                yield error(path, "missing_priority", message, suggestion)


def priorities_differ(outline: Outline) -> Iterator[Finding]:
    """Of two sinks with one priority Flume drops one with a warning; nobody could say which."""
    for _, priorities, path in _failover_groups(outline):
        owners: dict[int, str] = {}
        for name, priority in priorities.items():
            if not isinstance(priority, int) or isinstance(priority, bool):
                continue
            owner = owners.setdefault(priority, name)
            if owner != name:
                message = f"The sinks {quote(owner)} and {quote(name)} both have the priority {priority}."
                suggestion = f"Give each a priority of its own; {_free(priorities)} is free."
                yield error((*path, name), "duplicate_priority", message, suggestion)


def _failover_groups(outline: Outline) -> Iterator[tuple[Part, dict[str, Any], PathParts]]:
    for group in outline.groups:
        processor = group.mapping("processor")
        priorities = processor.get("priorities")
        if processor.get("type") == "failover" and isinstance(priorities, dict):
            yield group, priorities, (*group.path, "processor", "priorities")


def _free(priorities: dict[str, Any]) -> int:
    """The smallest positive number that is not taken."""
    taken = {value for value in priorities.values() if isinstance(value, int)}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (
    default_processor_has_one_sink,
    load_balance_has_several_sinks,
    priorities_name_the_members,
    priorities_differ,
)
