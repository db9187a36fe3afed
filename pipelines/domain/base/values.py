"""The types that the keys of a definition are made of: names, durations, memory, addresses.

Each refuses a bad value with a code and a suggestion of its own, and describes itself in the JSON Schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from pipelines.domain.base.findings import quote

LONGEST_DURATION_S = 7 * 24 * 3600.0
SMALLEST_DRIVER_MEMORY_MIB = 512
LARGEST_DRIVER_MEMORY_MIB = 1024 * 1024

_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(ms|s|m|h|d)")
_MEMORY = re.compile(r"([0-9]{1,7})([mMgG])")
_SIZE = re.compile(r"([0-9]{1,12})\s?(|B|KiB|MiB|GiB|TiB)")
_SIZE_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
LARGEST_SIZE = 1 << 50
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def refuse(code: str, message: str, suggestion: str = "") -> NoReturn:
    """Raise the error that becomes a finding with this code, message and suggestion."""
    raise PydanticCustomError(code, "{message}", {"message": message, "suggestion": suggestion})


@dataclass(frozen=True)
class Syntax:
    """Annotation for a string: all of it must match `pattern`, which `rule` says in words."""

    code: str
    pattern: str
    rule: str

    def check(self, value: str) -> str:
        """Return the value, or refuse it with the rule as suggestion."""
        if not re.fullmatch(self.pattern, value):
            refuse(self.code, f"{quote(value)} has an invalid form.", self.rule)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^(?:{self.pattern})$"}


def seconds(value: Any) -> float:
    """Read a duration: a number of seconds, or a number with ms, s, m, h or d."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _bounded_seconds(float(value), value)
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        refuse(
            "bad_duration", f"{quote(value)} is not a duration.", 'Write seconds as a number, or "250ms", "60s", "5m".'
        )
    return _bounded_seconds(round(float(match[1]) * _UNIT_SECONDS[match[2]], 6), value)


def _bounded_seconds(duration: float, written: object) -> float:
    if not 0 <= duration <= LONGEST_DURATION_S:
        refuse("out_of_range", f"The duration {quote(written)} is out of range.", "Use between 0 and 7 days.")
    return duration


def _memory(value: Any) -> str:
    match = _MEMORY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        refuse(
            "bad_memory", f"{quote(value)} is not an amount of memory.", 'Write mebibytes or gibibytes: "512m", "2g".'
        )
    mebibytes = int(match[1]) * (1024 if match[2] in "gG" else 1)
    if not SMALLEST_DRIVER_MEMORY_MIB <= mebibytes <= LARGEST_DRIVER_MEMORY_MIB:
        refuse(
            "out_of_range",
            f"The driver memory {value} is out of range: Spark does not start with less than 512m.",
            f'Use between "{SMALLEST_DRIVER_MEMORY_MIB}m" and "{LARGEST_DRIVER_MEMORY_MIB // 1024}g".',
        )
    return f"{mebibytes}m"


def byte_size(value: Any) -> int:
    """Read a number of bytes: a whole number, or one with KiB, MiB, GiB or TiB."""
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None and (not isinstance(value, int) or isinstance(value, bool)):
        refuse("bad_size", f"{quote(value)} is not a number of bytes.", 'Write bytes as a number, or "64KiB", "2GiB".')
    size = int(value) if match is None else int(match[1]) * _SIZE_UNITS[match[2]]
    if not 0 <= size <= LARGEST_SIZE:
        refuse("out_of_range", f"The size {quote(value)} is out of range.", "Use between 0 and 1024 TiB.")
    return size


def epoch_milliseconds(value: Any) -> int:
    """Read an instant: RFC 3339 with an offset, or milliseconds since 1970."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and _RFC3339.fullmatch(value):
        try:
            return max(0, round(datetime.fromisoformat(value.upper()).timestamp() * 1000))
        except (ValueError, OverflowError):
            pass
    refuse(
        "bad_timestamp",
        f"{quote(value)} is not an instant.",
        'Write RFC 3339 with an offset, "2026-01-31T12:00:00Z", or milliseconds since 1970.',
    )


_ADDRESS = r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}))"
_SERVER = re.compile(rf"{_ADDRESS}:([0-9]{{1,5}})")
_REFERENCES_ONLY = re.compile(r"\$\{(?:env|file):[A-Za-z0-9][A-Za-z0-9._/-]{0,127}\}")
_HIGHEST_PORT = 65535


def _bootstrap_servers(value: str) -> str:
    if _REFERENCES_ONLY.fullmatch(value):
        return value
    servers = [server.strip() for server in value.split(",")]
    for server in servers:
        match = _SERVER.fullmatch(server)
        if match is None or not 1 <= int(match[1]) <= _HIGHEST_PORT:
            refuse(
                "bad_address",
                f"{quote(server)} is not the address of a broker.",
                'Write "host:port", several with commas between.',
            )
    return ",".join(servers)


_DURATION_SCHEMA = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^[0-9.]+ ?(ms|s|m|h|d)$"}]
}

PipelineName = Annotated[
    str,
    Syntax(
        "invalid_name",
        r"[a-z0-9][a-z0-9-]{0,62}",
        "Use lower-case letters, digits and hyphens, starting with a letter or digit, at most 63 characters.",
    ),
]
ComponentName = Annotated[
    str,
    Syntax(
        "invalid_name",
        r"[a-z0-9][a-z0-9_-]{0,62}",
        "Use lower-case letters, digits, - and _, starting with a letter or digit, at most 63 characters.",
    ),
]
HostName = Annotated[
    str,
    Syntax(
        "invalid_name",
        r"[a-z0-9][a-z0-9.-]{0,252}",
        'Use "any", or the name of a host as the hosts page shows it: lower-case letters, digits, dots and hyphens.',
    ),
]
LabelKey = Annotated[
    str,
    Syntax(
        "invalid_name",
        r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}",
        "Use letters, digits, dots, slashes, hyphens and underscores, at most 63 characters.",
    ),
]
LabelValue = Annotated[str, Field(max_length=256)]
Topic = Annotated[
    str,
    Syntax(
        "invalid_topic",
        r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}",
        "A Kafka topic has letters, digits, dots, hyphens and underscores, at most 249 characters.",
    ),
]
GroupId = Annotated[
    str,
    Syntax(
        "invalid_group",
        r"[A-Za-z0-9._-]{1,249}",
        "Use letters, digits, dots, hyphens and underscores, at most 249 characters.",
    ),
]
HeaderName = Annotated[
    str,
    Syntax(
        "invalid_header",
        r"[A-Za-z0-9_.:/-]{1,128}",
        "Use letters, digits and _ . : / -, at most 128 characters.",
    ),
]
DirectoryPath = Annotated[
    str,
    Syntax(
        "invalid_path",
        r"(?!.*(?:^|/)\.{1,2}(?:/|$))/[^\x00-\x1f\x7f:]{1,1023}",
        "Use an absolute path on the owning host, without . or .. as a part, without colons and control characters.",
    ),
]
BootstrapServers = Annotated[str, AfterValidator(_bootstrap_servers)]
PartitionNumber = Annotated[
    str, Syntax("invalid_partition", r"0|[1-9][0-9]{0,8}", "A partition is a number: 0, 1, 2 and so on.")
]
Duration = Annotated[float, BeforeValidator(seconds), WithJsonSchema(_DURATION_SCHEMA, mode="validation")]
ByteSize = Annotated[
    int,
    BeforeValidator(byte_size),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+ ?(B|KiB|MiB|GiB|TiB)?$"}]},
        mode="validation",
    ),
]
DriverMemory = Annotated[str, BeforeValidator(_memory), WithJsonSchema({"type": "string", "pattern": "^[0-9]+[mMgG]$"})]
Instant = Annotated[
    int,
    BeforeValidator(epoch_milliseconds),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "minimum": 0}]}),
]
