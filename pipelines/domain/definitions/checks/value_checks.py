"""Semantic findings about values: references and secrets, client options, start positions, deadlines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import PydanticCustomError

from pipelines.domain.base.findings import Finding, quote
from pipelines.domain.base.values import seconds
from pipelines.domain.definitions.checks.exposure_checks import client_options
from pipelines.domain.definitions.document.outline import Outline, error, warning
from pipelines.domain.definitions.document.references import ALWAYS_SECRET, REFERENCE, WRONG_REFERENCE, texts
from pipelines.domain.definitions.document.secret_fields import takes_secret
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.definitions.parts.client_options import SECRET_CAPABLE_OPTIONS, SECRET_OPTIONS, value_problems
from pipelines.domain.definitions.parts.component import Spec


def references_are_well_written(outline: Outline) -> Iterator[Finding]:
    """`${` begins a reference of a known kind; in a replacement it may also begin the name of a group."""
    for path, text in texts(outline.data):
        if path[-1] == "replace_string":
            continue
        for match in WRONG_REFERENCE.finditer(text):
            if not REFERENCE.fullmatch(match[0]):
                message = f"{quote(match[0])} is not a reference."
                suggestion = "Write ${secret:NAME}, ${vault:MOUNT/PATH#KEY}, ${env:NAME} or ${file:NAME}."
                yield error(path, "bad_reference", message, suggestion)


SECRET_KEYS = frozenset({"token", "password", "dsn", "private_key", "cluster_secret"})
"""Keys of components, beside their client options, whose values are never shown."""


_OF_CLUSTERS = ("placement", "launcher", "cluster_secret")
"""Refused with advice of its own, by `cluster_checks`."""


def secrets_stay_in_their_keys(outline: Outline) -> Iterator[Finding]:
    """A secret goes where it is never shown: into a key whose component says that it is made for one."""
    for path, text in texts(outline.data):
        referred = any(kind in ALWAYS_SECRET for kind, _ in REFERENCE.findall(text))
        if referred and path != _OF_CLUSTERS and not takes_secret(path, outline.data):
            message = "A secret is not allowed here, since logs, pages or records would show it."
            suggestion = (
                f"Use secrets in headers of a sink, in {', '.join(sorted(SECRET_KEYS))}, or in the client options "
                f"{', '.join(sorted(SECRET_CAPABLE_OPTIONS))}."
            )
            yield error(path, "secret_not_allowed", message, suggestion)


def passwords_are_references(outline: Outline) -> Iterator[Finding]:
    """A password is never written into a definition."""
    for path, options in client_options(outline):
        for key, value in options.items():
            secret = key in SECRET_OPTIONS or "password" in key.lower()
            if secret and not (isinstance(value, str) and REFERENCE.fullmatch(value)):
                message = f"The value of {quote(key)} is a secret and must not be part of the definition."
                yield error((*path, key), "literal_secret", message, 'Store it as a secret and write "${secret:NAME}".')
    for part in (*outline.sources, *outline.sinks):
        for name in ("token", "password"):
            if (text := part.text(name)) and not REFERENCE.fullmatch(text):
                message = f"The {name} is a secret and must not be part of the definition."
                suggestion = 'Store it as a secret and write "${secret:NAME}".'
                yield error((*part.path, name), "literal_secret", message, suggestion)
    for sink in outline.sinks:
        if re.match(r"[^:]+://[^/@]*:[^/@]+@", sink.text("dsn") or "") or "password=" in (sink.text("dsn") or ""):
            message = "The address has a password, which must not be part of the definition."
            yield error(
                (*sink.path, "dsn"), "literal_secret", message, 'Store the whole address and write "${secret:NAME}".'
            )
        private_key = sink.mapping("tls").get("private_key")
        if private_key and not REFERENCE.fullmatch(str(private_key)):
            message = "A private key must not be part of the definition."
            yield error((*sink.path, "tls", "private_key"), "literal_secret", message, 'Write "${secret:NAME}".')


def option_values_are_known(outline: Outline) -> Iterator[Finding]:
    """Options with a fixed set of values have one of them."""
    for path, options in client_options(outline):
        for key, message, suggestion in value_problems(options):
            yield error((*path, key), "unknown_value", message, suggestion)


def start_offsets_cover_the_topics(outline: Outline) -> Iterator[Finding]:
    """Explicit offsets name the topics that are read, all of them."""
    for source in outline.sources:
        offsets = source.mapping("start_from").get("offsets")
        topics = {mention.name for mention in source.names("topics")}
        if not isinstance(offsets, dict) or not topics:
            continue
        path = (*source.path, "start_from", "offsets")
        for topic in sorted(offsets.keys() - topics):
            message = f"The topic {quote(topic)} is not among the topics of this source."
            yield error((*path, topic), "unknown_topic", message, "Remove it, or add it to topics.")
        for topic in sorted(topics - offsets.keys()):
            message = f"There are no offsets for the topic {quote(topic)}."
            yield error(path, "missing_offsets", message, "List every partition of every topic.")


def deadlines_agree(outline: Outline) -> Iterator[Finding]:
    """Deadlines that depend on each other are in order."""
    written = outline.data.get("lifecycle")
    keys = written if isinstance(written, dict) else {}
    for smaller, larger, rule in _ORDERED:
        low, high = duration_at(keys, smaller, Lifecycle), duration_at(keys, larger, Lifecycle)
        if low is None or high is None or low < high or (low == high and rule == "at most"):
            continue
        if larger == "cancel_timeout" and high == 0:
            continue
        message = f"{smaller} ({low:g} s) must be {rule} {larger} ({high:g} s)."
        yield error(("lifecycle", smaller), "deadlines_disagree", message, f"Lower {smaller}, or raise {larger}.")


def the_watchdog_is_on(outline: Outline) -> Iterator[Finding]:
    """Whoever switches the last stage of a stop off knows what that means."""
    written = outline.data.get("lifecycle")
    if duration_at(written if isinstance(written, dict) else {}, "cancel_timeout", Lifecycle) == 0:
        message = (
            "The watchdog is disabled: a stop that a component ignores is interrupted every cancel_interval and never "
            "killed, so it can take forever."
        )
        yield warning(
            ("lifecycle", "cancel_timeout"),
            "watchdog_off",
            message,
            "Leave it at 3m, or stop such a pipeline by force (headgate force-stop).",
        )


_ORDERED = (
    ("heartbeat_interval", "heartbeat_timeout", "less than"),
    ("cancel_interval", "cancel_timeout", "at most"),
    ("restart_backoff", "restart_backoff_max", "at most"),
)


def duration_at(keys: dict[str, Any], key: str, model: type[Spec]) -> float | None:
    """Seconds at a key, the model's default where it is left out, None where it is badly written."""
    try:
        return seconds(keys.get(key, model.model_fields[key].default))
    except PydanticCustomError:
        return None


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (
    references_are_well_written,
    secrets_stay_in_their_keys,
    passwords_are_references,
    option_values_are_known,
    start_offsets_cover_the_topics,
    deadlines_agree,
    the_watchdog_is_on,
)
