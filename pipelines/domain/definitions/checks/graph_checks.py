"""Semantic findings about the graph: what no component can know alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from pipelines.domain.base.findings import Finding, PathParts, did_you_mean, dotted, quote
from pipelines.domain.definitions.document.outline import (
    Named,
    Outline,
    Part,
    error,
    optional,
    parts,
    required,
    selected,
    targets,
)


def channels_exist(outline: Outline) -> Iterator[Finding]:
    """Sinks and selectors mention channels of this definition."""
    mentions = [Named((*sink.path, "channel"), name) for sink in outline.sinks if (name := sink.text("channel"))]
    for source in outline.sources:
        mentions += [*selected(source), *optional(source)]
    for mention in mentions:
        if mention.name not in outline.channels:
            suggestion = did_you_mean(mention.name, outline.channels, otherwise="Add it to channels.")
            yield error(mention.path, "unknown_channel", f"There is no channel {quote(mention.name)}.", suggestion)


def channels_are_used(outline: Outline) -> Iterator[Finding]:
    """Every channel has a source and a sink."""
    delivered = {sink.text("channel") for sink in outline.sinks}
    fed = {name for source in outline.sources for name in targets(outline, source)}
    for name in sorted(outline.channels):
        path, shown = ("channels", name), quote(name)
        if name not in delivered:
            suggestion = "Add a sink for it, or remove the channel."
            yield error(path, "channel_without_sink", f"No sink delivers the channel {shown}.", suggestion)
        if name not in fed and outline.sources:
            suggestion = "Add it to a selector, or remove the channel."
            yield error(path, "channel_without_source", f"No source sends to the channel {shown}.", suggestion)


def sources_have_channels(outline: Outline) -> Iterator[Finding]:
    """Every source sends somewhere."""
    for source in outline.sources:
        if not targets(outline, source):
            message = f"The source {quote(source.name)} sends to no channel."
            yield error(source.path, "source_without_channel", message, "List channels in its selector.")


def optional_channels_are_selected(outline: Outline) -> Iterator[Finding]:
    """An optional channel is one of the selector's channels; one without any required channel is worth a warning."""
    for source in outline.sources:
        fed = targets(outline, source)
        for mention in optional(source):
            if mention.name in outline.channels - fed:
                message = f"The optional channel {quote(mention.name)} is not among the selector's channels."
                yield error(mention.path, "optional_not_selected", message, "Add it to channels, or remove it here.")
        if fed and not required(outline, source):
            yield Finding(
                path=dotted((*source.path, "selector", "optional")),
                code="no_required_channel",
                message=f"Every channel of the source {quote(source.name)} is optional, so no delivery is guaranteed.",
                suggestion="Leave at least one channel required.",
                severity="warning",
            )


def lists_name_each_once(outline: Outline) -> Iterator[Finding]:
    """Topics, a selector's channels and a group's sinks are listed once. Optional channels may repeat, as in Flume."""
    mentions = [
        m for source in outline.sources for m in (*source.names("topics"), *source.names("selector", "channels"))
    ]
    mentions += [m for group in outline.groups for m in group.names("sinks")]
    seen: set[tuple[PathParts, str]] = set()
    for mention in mentions:
        place = (mention.path[:-1], mention.name)
        if place in seen:
            yield error(mention.path, "repeated", f"{quote(mention.name)} is listed twice.", "Remove one of them.")
        seen.add(place)


def sinks_share_channels_in_groups(outline: Outline) -> Iterator[Finding]:
    """Two sinks on one channel belong to one sink group."""
    grouped = {mention.name: group.name for group in outline.groups for mention in group.names("sinks")}
    by_channel: dict[str, list[Part]] = defaultdict(list)
    for sink in outline.sinks:
        if channel := sink.text("channel"):
            by_channel[channel].append(sink)
    for channel, (first, *others) in by_channel.items():
        for sink in others:
            if sink.name not in grouped or grouped.get(first.name) != grouped[sink.name]:
                message = (
                    f"The sinks {quote(first.name)} and {quote(sink.name)} both deliver the channel {quote(channel)}."
                )
                suggestion = "Give each sink a channel of its own, or put both into one sink group."
                yield error((*sink.path, "channel"), "shared_channel", message, suggestion)


def groups_are_whole(outline: Outline) -> Iterator[Finding]:
    """A group's sinks exist, deliver one channel, and are in no other group."""
    sinks = {sink.name: sink for sink in outline.sinks}
    owners: dict[str, str] = {}
    for group in outline.groups:
        channels = {sinks[m.name].text("channel") for m in group.names("sinks") if m.name in sinks} - {None}
        if len(channels) > 1:
            message = f"The sinks of the group {quote(group.name)} deliver different channels."
            yield error((*group.path, "sinks"), "mixed_channels", message, "Give all its sinks the same channel.")
        for mention in group.names("sinks"):
            if mention.name not in sinks:
                suggestion = did_you_mean(mention.name, sinks, otherwise="Add it to sinks.")
                yield error(mention.path, "unknown_sink", f"There is no sink {quote(mention.name)}.", suggestion)
            owner = owners.setdefault(mention.name, group.name)
            if owner != group.name:
                message = f"The sink {quote(mention.name)} is already in the group {quote(owner)}."
                yield error(mention.path, "sink_in_two_groups", message, "Remove it from one of them.")


def groups_ids_are_distinct(outline: Outline) -> Iterator[Finding]:
    """Two sources cannot mirror their positions to one consumer group."""
    owners: dict[str, str] = {}
    for source in outline.sources:
        group_id = source.text("group_id")
        if group_id and owners.setdefault(group_id, source.name) != source.name:
            message = f"The source {quote(owners[group_id])} already uses the group {quote(group_id)}."
            yield error((*source.path, "group_id"), "duplicate_group_id", message, "Give each source its own group.")


def topics_do_not_loop(outline: Outline) -> Iterator[Finding]:
    """A topic that is read is not written by the same pipeline."""
    for source in outline.sources:
        for mention in source.names("topics"):
            for sink in outline.sinks:
                if sink.text("type") == "kafka" and sink.text("topic") == mention.name:
                    yield _loop(source, sink, mention.name)


def channel_topics_are_their_own(outline: Outline) -> Iterator[Finding]:
    """The topic of a channel is read and written by that channel alone."""
    taken = {m.name: f"the source {quote(s.name)} reads it" for s in outline.sources for m in s.names("topics")}
    for sink in outline.sinks:
        if sink.text("type") == "kafka" and (topic := sink.text("topic")):
            taken[topic] = f"the sink {quote(sink.name)} writes it"
    for channel in parts(outline.data, "channels"):
        topic = channel.text("topic")
        if channel.text("type") != "kafka" or topic is None:
            continue
        if topic in taken:
            message = f"The topic {quote(topic)} is not exclusive to this channel: {taken[topic]}."
            yield error((*channel.path, "topic"), "shared_topic", message, "Give the channel a topic of its own.")
        taken[topic] = f"the channel {quote(channel.name)} uses it"


def _loop(source: Part, sink: Part, topic: str) -> Finding:
    certain = bool(_servers(source) & _servers(sink))
    condition = "" if certain else " If both addresses are of one cluster, records loop forever."
    return Finding(
        path=dotted((*sink.path, "topic")),
        code="topic_loop",
        message=f"The topic {quote(topic)} is also read by the source {quote(source.name)}.{condition}",
        suggestion="Write to another topic.",
        severity="error" if certain else "warning",
    )


def _servers(part: Part) -> set[str]:
    return {server.strip().lower() for server in (part.text("bootstrap_servers") or "").split(",")} - {""}


def file_sinks_have_own_directories(outline: Outline) -> Iterator[Finding]:
    """Two file sinks do not write to one directory."""
    owners: dict[str, str] = {}
    for sink in outline.sinks:
        path = (sink.text("path") or "").rstrip("/") if sink.text("type") == "file" else ""
        if path and owners.setdefault(path, sink.name) != sink.name:
            message = f"The sink {quote(owners[path])} already writes to {quote(path)}."
            yield error((*sink.path, "path"), "shared_directory", message, "Give each its own directory.")


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (
    channels_exist,
    channels_are_used,
    sources_have_channels,
    optional_channels_are_selected,
    lists_name_each_once,
    sinks_share_channels_in_groups,
    groups_are_whole,
    groups_ids_are_distinct,
    topics_do_not_loop,
    channel_topics_are_their_own,
    file_sinks_have_own_directories,
)
