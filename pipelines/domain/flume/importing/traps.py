"""What in an agent of Flume loses or repeats events without a word, told while it is imported."""

from __future__ import annotations

from pipelines.domain.base.findings import dotted
from pipelines.domain.flume.importing import catalogue
from pipelines.domain.flume.importing.catalogue import FlumeType
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.flume.reading.agent import Agent
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_CAPACITIES = {"memory": (100, 100), "file": (1_000_000, 10_000)}
"""Flume's defaults of capacity and transactionCapacity, by our type of channel."""


def check_batches(agent: Agent, report: Report) -> None:
    """A source or sink whose batch is larger than a transaction of its channel is left out by Flume (since 1.10)."""
    for kind, singular in (("sources", "source"), ("sinks", "sink")):
        for name, section in agent.sections[kind].items():
            flume_type = catalogue.find(singular, section.get("type") or "")
            if flume_type is None or flume_type.batch is None:
                continue
            key, default = flume_type.batch
            batch = section.number(key, default=default)
            for channel in items(section.get("channels") or section.get("channel") or ""):
                _check_batch(agent, f"{singular} {name}", section, key, batch, channel, report)


def _check_batch(
    agent: Agent, component: str, section: Section, key: str, batch: int, channel: str, report: Report
) -> None:
    capacity = _transaction_capacity(agent.sections["channels"].get(channel))
    if capacity is None or batch <= capacity:
        return
    report.note(
        "batch_exceeds_transaction",
        f"The batch of the {component}, {batch}, is larger than a transaction of the "
        f"channel {channel}, {capacity}; Flume omits the {component} out.",
        "It was imported; Headgate fits batches to the channel.",
        about=section.properties.get(key) or f"{section.prefix}{key}",
    )


def _transaction_capacity(channel: Section | None) -> int | None:
    flume_type = catalogue.find("channel", channel.get("type") or "") if channel else None
    if channel is None or flume_type is None or flume_type.ours not in _CAPACITIES:
        return None
    return channel.number("transactionCapacity", default=_CAPACITIES[flume_type.ours][1])


def check_channel(section: Section, flume_type: FlumeType, draft: Draft) -> None:
    """Memory that forgets, and a capacity below that of a transaction."""
    if flume_type.ours == "memory":
        draft.report.note(
            "memory_channel_loss",
            f"The channel {section.name} is in memory; Flume loses it with the agent.",
            "Here a memory channel holds a batch that is read again after a crash; nothing is lost.",
            about=section.prefix.rstrip("."),
            path=draft.path,
            suggestion="Where the source can be read again, {type: direct} lets no channel hold another one back.",
        )
    _check_capacities(section, flume_type, draft)


def _check_capacities(section: Section, flume_type: FlumeType, draft: Draft) -> None:
    if flume_type.ours not in _CAPACITIES:
        return
    defaults = _CAPACITIES[flume_type.ours]
    capacity = section.number("capacity", default=defaults[0])
    transaction = section.number("transactionCapacity", default=defaults[1])
    if transaction <= capacity:
        return
    key = draft.accepts("capacity")
    written = section.take("capacity")
    if key and written:
        draft.put(key, transaction, written)
    elif key:
        draft.keys[key] = transaction
    draft.report.note(
        "capacity_below_transaction",
        f"The capacity of the channel {section.name}, {capacity}, is below that of a "
        f"transaction, {transaction}; Flume does not start the channel.",
        f"The capacity was raised to {transaction}." if key else "The capacity was omitted.",
        about=written or f"{section.prefix}capacity",
        path=draft.path,
    )


def fit_transactions(draft: Draft) -> None:
    """Our default of transaction_capacity is larger than Flume's; it is lowered where the capacity is below it."""
    capacity = draft.keys.get("capacity")
    key = draft.accepts("transaction_capacity")
    if key is None or capacity is None or key in draft.keys or draft.schema(key)["default"] <= capacity:
        return
    draft.keys[key] = capacity
    draft.report.note(
        "default_written_out",
        f"The capacity, {capacity}, is below the default of {key}.",
        f"{key} became {capacity}.",
        about=draft.report.places.get(dotted((*draft.path, "capacity")), ""),
        path=(*draft.path, key),
    )


def check_topic_override(section: Section, draft: Draft) -> None:
    """Flume's Kafka sink writes wherever the header `topic` says, and its Kafka source sets that header."""
    switch, header = section.take("allowTopicOverride"), section.take("topicHeader")
    if switch and switch.value.lower() == "false":
        draft.report.mapped(switch, (*draft.path, "topic"))
        if header:
            draft.no_equivalent(header, "no header chooses the topic")
        return
    name = header.value if header else "topic"
    about = header or switch or section.prefix.rstrip(".")
    if header and switch:
        draft.report.mapped(switch, (*draft.path, "topic"))
    draft.report.note(
        "topic_override",
        f"In Flume an event's header {name} chooses the topic; behind a Kafka source that is the "
        "topic it was read from, so that records loop.",
        "Every event goes to the topic of the definition.",
        about=about,
        path=(*draft.path, "topic"),
        suggestion=f"If the header is to choose: topic_header: {name}, with allowed_topics.",
    )
