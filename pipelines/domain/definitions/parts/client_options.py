"""Settings that a definition may hand to the Kafka client: a list of allowed ones.

Client settings are code paths: `sasl.jaas.config` loads classes (CVE-2023-25194), OAUTHBEARER URLs read files and call
servers (CVE-2025-27817), `*.location` opens files, `*.class` names what to run. So a setting is allowed only when it is
on the list, spelt exactly so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator, WithJsonSchema

from pipelines.domain.base.findings import did_you_mean, listed, quote
from pipelines.domain.base.values import refuse

COMMON = frozenset(
    {
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "sasl.mechanism",
        "sasl.password",
        "sasl.username",
        "security.protocol",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.truststore.certificates",
        "ssl.truststore.type",
    }
)
CONSUMER = COMMON | {
    "check.crcs",
    "default.api.timeout.ms",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "isolation.level",
    "max.partition.fetch.bytes",
    "max.poll.records",
}
PRODUCER = COMMON | {"batch.size", "buffer.memory", "max.request.size", "metadata.max.idle.ms"}

SECRET_OPTIONS = frozenset({"sasl.password", "ssl.key.password", "ssl.keystore.key"})

PEM_OPTIONS = frozenset({"ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.truststore.certificates"})
"""Options whose values are PEM texts: the only ones with more than one line."""

SECRET_CAPABLE_OPTIONS = SECRET_OPTIONS | PEM_OPTIONS | {"sasl.username"}
"""Options that may refer to a secret. Brokers and their tools show others, such as `client.id`, to their users."""

_VALUES = {
    "security.protocol": {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"},
    "sasl.mechanism": {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"},
    "isolation.level": {"read_committed", "read_uncommitted"},
    "ssl.keystore.type": {"PEM"},
    "ssl.truststore.type": {"PEM"},
}

_OWNED = "Headgate sets it, so that every record is accounted for"
_REASONS = [
    (r"sasl\.jaas\.config", "it can load and run any class", "Write sasl.username and sasl.password."),
    (r"sasl\.oauthbearer\..*|sasl\.login\..*", "it makes the client read files or call servers", "Use SCRAM."),
    (r".*class(es)?(\..*)?|.*\.classes", "it names code to be loaded", "Remove it."),
    (r"config\.providers.*", "it reads files and variables without Headgate", "Use ${secret:NAME}."),
    (r".*\.location", "it makes the client open a file", "Put PEM text into ssl.truststore.certificates."),
    (r"ssl\.(engine|provider|.*manager).*|security\.providers", "it names code to be loaded", "Remove it."),
    (r"ssl\.endpoint\.identification.*", "it can switch off the check of the broker's name", "Remove it."),
    (r"bootstrap\.servers", "it has a key of its own", "Use bootstrap_servers."),
    (r"group\.id", "it has a key of its own", "Use group_id."),
    (r"linger\.ms|compression\.type", "it has a key of its own", "Use linger_ms or compression."),
    (r"delivery\.timeout\.ms|max\.block\.ms", "it has a key of its own", "Use write_timeout."),
    (r"auto\.offset\.reset", "a lost position must never be guessed", "Use start_from for the very first start."),
    (r"(enable\.)?auto\..*|acks|enable\.idempotence", _OWNED, "Remove it."),
    (r"max\.in\.flight.*|retries|transactional.*", _OWNED, "Remove it."),
    (r"(key|value)\.(de)?serializer.*", _OWNED, "Remove it."),
]


def forbidden_reason(key: str) -> tuple[str, str] | None:
    """Why a setting is refused, and what to do instead; None where it is merely not on the list."""
    normal = re.sub(r"\s", "", key).lower().removeprefix("kafka.")
    return next(((why, advice) for pattern, why, advice in _REASONS if re.fullmatch(pattern, normal)), None)


def _check_key(allowed: frozenset[str]) -> AfterValidator:
    def check(key: str) -> str:
        if key in allowed:
            return key
        reason = forbidden_reason(key)
        if reason is not None:
            return refuse("forbidden_option", f"The client option {quote(key)} is not allowed: {reason[0]}.", reason[1])
        name = key.strip().removeprefix("kafka.")
        suggestion = did_you_mean(name, allowed, otherwise="Remove it; docs/reference/definition.md has the list.")
        return refuse("forbidden_option", f"{quote(key)} is not on the list of allowed client options.", suggestion)

    return AfterValidator(check)


def _named_in_schema(allowed: frozenset[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": sorted(allowed)})


OptionScalar = str | int | float | bool

LONGEST_VALUE = 65_536
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _named(value: Any) -> str:
    """What a value is; never the value itself, which may be a secret."""
    return {list: "a list", dict: "a mapping", type(None): "nothing"}.get(type(value), "something else")


def _check_value(value: Any) -> OptionScalar:
    if not isinstance(value, str | int | float | bool):
        refuse(
            "wrong_type", f"A client option is text, a number or true/false, not {_named(value)}.", "Write one value."
        )
    if isinstance(value, str) and (len(value) > LONGEST_VALUE or CONTROL.search(value)):
        refuse("bad_option_value", "The value has control characters or is too long.", "Write plain text.")
    return value


def value_problems(options: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(key, message, suggestion) for each option whose value is not among those that can work."""
    for key, allowed in _VALUES.items():
        value = options.get(key)
        if isinstance(value, str) and value not in allowed and not value.startswith("${"):
            yield key, f"{key} cannot be {quote(value)}.", f"Use one of: {listed(allowed)}."


OptionValue = Annotated[
    OptionScalar, PlainValidator(_check_value), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
ConsumerOptions = dict[Annotated[str, _check_key(CONSUMER), _named_in_schema(CONSUMER)], OptionValue]
ProducerOptions = dict[Annotated[str, _check_key(PRODUCER), _named_in_schema(PRODUCER)], OptionValue]
