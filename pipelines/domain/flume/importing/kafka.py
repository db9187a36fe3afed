"""Kafka in Flume: client settings, log-ins, groups and where to begin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipelines.domain.base.findings import dotted, listed
from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.definitions.parts.client_options import (
    CONSUMER,
    PRODUCER,
    SECRET_OPTIONS,
    forbidden_reason,
    value_problems,
)
from pipelines.domain.flume.importing.draft import Draft, is_secret
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.section import Section

DEFAULT_GROUP = "flume"

_PAIR = re.compile(r"(\w+)\s*=\s*\"((?:[^\"\\]|\\.)*)\"")
_MODULE_WITH_PASSWORD = re.compile(r"\.(Plain|Scram)LoginModule\s")
_STORES = re.compile(r"ssl\.(trust|key)store\.(location|password|type)")
_PREFIXES: Mapping[str, frozenset[str]] = {"kafka.consumer.": CONSUMER, "kafka.producer.": PRODUCER}
_GROUP = re.compile(r"[A-Za-z0-9._-]{1,249}")


def read_options(draft: Draft, section: Section, secret_prefix: str) -> None:
    """Client settings: those that are allowed, passwords as references, a finding for each of the others.

    A channel reads and writes with the same settings.
    """
    if draft.accepts("options") is None:
        return
    both = CONSUMER & PRODUCER if draft.path[0] == "channels" else None
    for prefix, one in _PREFIXES.items():
        family, allowed = section.below(prefix), one if both is None else both
        for name, property_ in family.properties.items():
            _read_option(draft, name, property_, allowed, secret_prefix)


def _read_option(draft: Draft, name: str, property_: Property, allowed: frozenset[str], secret_prefix: str) -> None:
    if name == "sasl.jaas.config":
        _read_login(draft, property_, secret_prefix)
    elif _STORES.fullmatch(name) and (name not in allowed or any(value_problems({name: property_.value}))):
        _leave_store(draft, name, property_)
    elif name not in allowed:
        reason = forbidden_reason(name)
        why, advice = reason or ("it is not on the list of allowed client settings", "Remove it.")
        draft.report.note(
            "forbidden_option",
            f"The client setting {name} is not imported: {why}.",
            "It was omitted.",
            about=property_,
            path=(*draft.path, "options"),
            suggestion=advice,
        )
    elif name in SECRET_OPTIONS or is_secret(property_):
        _put_secret(draft, name, property_, property_.value, secret_prefix)
    else:
        _put(draft, name, property_.value, property_)


def _put(draft: Draft, name: str, value: str, property_: Property) -> None:
    options: dict[str, Any] = draft.keys.setdefault("options", {})
    options[name] = value
    draft.report.mapped(property_, (*draft.path, "options", name))


def _put_secret(draft: Draft, name: str, property_: Property, value: str, secret_prefix: str) -> None:
    """A reference in the place of a password; a value that is a reference already stays."""
    if REFERENCE.fullmatch(value):
        _put(draft, name, value, property_)
        return
    secret = f"{secret_prefix}-{name.replace('.', '-')}"
    _put(draft, name, f"${{secret:{secret}}}", property_)
    draft.report.note(
        "secret_not_copied",
        f"{property_.key} holds a password or key in the clear.",
        f"It was not copied; ${{secret:{secret}}} replaces it.",
        about=property_,
        path=(*draft.path, "options", name),
        suggestion=f"headgate secrets set {secret}",
    )


def _read_login(draft: Draft, property_: Property, secret_prefix: str) -> None:
    """A JAAS log-in with user name and password, as the two settings that Headgate has for it."""
    pairs = dict(_PAIR.findall(property_.value))
    if not _MODULE_WITH_PASSWORD.search(property_.value) or not {"username", "password"} <= pairs.keys():
        draft.report.note(
            "unsupported_login",
            "The log-in is not one with user name and password.",
            "It was omitted.",
            about=property_,
            path=(*draft.path, "options"),
            suggestion="Use SCRAM: sasl.mechanism, sasl.username and sasl.password.",
        )
        return
    _put(draft, "sasl.username", pairs["username"], property_)
    _put_secret(draft, "sasl.password", property_, pairs["password"], secret_prefix)


def _leave_store(draft: Draft, name: str, property_: Property) -> None:
    side = "ssl.truststore.certificates" if "trust" in name else "ssl.keystore.certificate.chain and ssl.keystore.key"
    code = "secret_not_copied" if name.endswith("password") else "forbidden_option"
    draft.report.note(
        code,
        f"{name} belongs to a Java key store, which Headgate does not open.",
        "It was not copied.",
        about=property_,
        path=(*draft.path, "options"),
        suggestion=f"Put the certificates as PEM into {side}.",
    )


def prefer_new_names(section: Section, draft: Draft) -> None:
    """Flume reads a topic pattern before a list of topics."""
    if "kafka.topics.regex" not in section.properties:
        return
    for name in ("kafka.topics", "topic"):
        if (property_ := section.take(name)) is not None:
            message = "There is a pattern of topics too, and Flume reads only that."
            draft.report.note("superseded", message, "It was omitted.", about=property_)


def choose_group(
    draft: Draft, section: Section, pipeline: str, groups: dict[str, str], *, keeps_default: bool = False
) -> bool:
    """A group of its own for every source: the written one, unless it is Flume's default or somebody else's.

    A channel keeps the default, whose committed offsets say what no sink has taken yet. Says whether it is the group
    that Flume has.
    """
    component = str(draft.path[-1])
    written = draft.keys.get("group_id")
    property_ = draft.report.places.get(dotted((*draft.path, "group_id")))
    about = property_ or f"{section.prefix}kafka.consumer.group.id"
    own = f"headgate.{pipeline}"
    own = own if own not in groups else f"{own}.{component}"
    if keeps_default and written is None and DEFAULT_GROUP not in groups:
        written = draft.keys["group_id"] = DEFAULT_GROUP
        draft.report.note(
            "default_group",
            f"The channel names no group, so Flume reads it with the group {DEFAULT_GROUP}, as every agent does.",
            f"group_id is {DEFAULT_GROUP}, whose committed offsets say where Flume stopped.",
            about=about,
            path=(*draft.path, "group_id"),
            suggestion=f"Stop every agent that reads the topic with the group {DEFAULT_GROUP} before the first start.",
        )
    elif not keeps_default and (written is None or written == DEFAULT_GROUP):
        written = own
        draft.report.note(
            "default_group",
            f"The group is {DEFAULT_GROUP}, which all agents share that name none: they would split "
            "each other's records.",
            f"The group became {own}.",
            about=about,
            path=(*draft.path, "group_id"),
        )
    elif written is None or written in groups:
        written = written or DEFAULT_GROUP
        message = f"The source {groups[written]} reads with the group {written} already."
        draft.report.note(
            "shared_group",
            message,
            f"The group became {own}; each source reads all of its topics.",
            about=about,
            path=(*draft.path, "group_id"),
        )
        written = own
    kept = written != own or written == draft.keys.get("group_id")
    groups[written] = component
    draft.keys["group_id"] = written
    return kept


_STARTS = {
    "earliest": "the first start reads all that the topics have, and repeats what Flume has delivered.",
    "latest": "the first start skips what was not read since Flume was stopped.",
    "group": "the first start continues at the group's committed offsets, and is blocked where there are none.",
}


def choose_start(draft: Draft, section: Section, reset: Property | None, *, own_group: bool) -> None:
    """`auto.offset.reset` says where the very first start begins, and nothing any more after that.

    Where it is not written, Flume's own group is taken over, and without one everything is read.
    """
    path = (*draft.path, "start_from")
    value = reset.value.lower() if reset else ""
    chosen = value if value in ("earliest", "latest") else "group" if own_group else "earliest"
    draft.keys["start_from"] = chosen
    if reset:
        draft.report.mapped(reset, path)
    why = (
        f"auto.offset.reset is {value}; Flume uses it for the first start and whenever positions are lost."
        if value == chosen
        else "auto.offset.reset names no place, so Flume starts at the end, or fails, when positions are lost."
    )
    draft.report.note(
        "start_from_chosen",
        why,
        f"start_from is {chosen}: {_STARTS[chosen]}",
        path=path,
        about=reset or f"{section.prefix}kafka.consumer.auto.offset.reset",
        suggestion="Decide it before the first start: earliest, latest, a time, offsets, or group to continue where "
        "Flume stopped. A position that is lost later blocks the pipeline and is never guessed.",
    )


def read_key(draft: Draft, used: frozenset[str] | None) -> None:
    """A Kafka channel sets the header key alone; it is set where something reads it, or may."""
    if used is None or "key" in used:
        draft.put("key_header", "key")


def read_headers(draft: Draft, section: Section, used: frozenset[str] | None) -> None:
    """Flume sets five headers on every event. Those are set that somebody reads, or all where nobody knows (None)."""
    prefixes = {"topic": "topicHeader", "timestamp": "timestampHeader"}
    switched = section.take("setTopicHeader")
    if switched:
        draft.report.mapped(switched, (*draft.path, "topic_header"))
    left: list[str] = []
    for name in _HEADERS:
        key = draft.accepts(f"{name}_header")
        written = section.take(prefixes.get(name, ""))
        header = written.value if written else name
        if key is None or (name == "topic" and switched and switched.value.lower() == "false"):
            if written:
                draft.no_equivalent(written, "the header is switched off")
        elif written or used is None or header in used:
            draft.put(key, header, *([written] if written else []))
        else:
            left.append(name)
    if left:
        draft.report.note(
            "headers_left_out",
            f"Flume also sets the headers {listed(left)}, which nothing in this agent reads.",
            "They are not set, which is faster.",
            about=section.prefix.rstrip("."),
            path=draft.path,
            suggestion="Name them, as in topic_header: topic, if a consumer after the sinks reads them.",
        )


_HEADERS = ("topic", "partition", "offset", "key", "timestamp")
