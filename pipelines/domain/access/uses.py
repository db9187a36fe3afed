"""What a definition would reach: every path and every address in it, found by what its keys say of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic.fields import FieldInfo

from pipelines.domain.access.reach import ALLOW_NETWORK, ALLOW_ROOT, Mode, ReachPolicy
from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.component import Spec

PATH_NOT_ALLOWED = "PATH_NOT_ALLOWED"
ADDRESS_NOT_ALLOWED = "ADDRESS_NOT_ALLOWED"
_PORTS = {"http": 80, "https": 443, "hdfs": 8020, "webhdfs": 9870, "swebhdfs": 9871, "ofs": 9862}
_POSTGRES = 5432


@dataclass(frozen=True)
class PathUse:
    """A path that is read or written at a place of a definition."""

    path: str
    value: str
    mode: Mode


@dataclass(frozen=True)
class AddressUse:
    """A host and port that are connected to at a place of a definition."""

    path: str
    host: str
    port: int


Use = PathUse | AddressUse


def reach_of(info: FieldInfo) -> str | None:
    """What a field says that its value reaches; None where it says nothing."""
    extra = info.json_schema_extra
    found = extra.get("reach") if isinstance(extra, dict) else None
    return str(found) if found is not None else None


def uses(definition: Definition) -> list[Use]:
    """Every path and address, those in references apart, whose values only the host knows."""
    found: list[Use] = []
    for section in ("sources", "channels", "sinks"):
        for name, spec in getattr(definition, section).items():
            found += _of_spec(f"{section}.{name}", spec)
    launcher = _of_spec("placement.launcher", definition.placement.launcher)
    return [*found, *_of_spec("errors.dead_letter", definition.errors.dead_letter), *launcher]


def _of_spec(path: str, spec: Spec) -> Iterator[Use]:
    for name, info in type(spec).model_fields.items():
        value, place = getattr(spec, name), f"{path}.{name}"
        if reach := reach_of(info):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, str) and not REFERENCE.search(each):
                    yield from _of_value(place, reach, each, spec)
        yield from _inside(place, value)


def _inside(place: str, value: Any) -> Iterator[Use]:
    if isinstance(value, Spec):
        yield from _of_spec(place, value)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _inside(f"{place}.{key}", each)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _inside(f"{place}[{number}]", each)


def _of_value(place: str, reach: str, value: str, spec: Spec) -> Iterator[Use]:
    if reach in ("read", "write"):
        yield from _of_path(place, value, "write" if reach == "write" else "read")
    elif reach == "completed":
        yield from _of_path(place, value, "read" if getattr(spec, "completed", "") == "keep" else "write")
    elif reach == "servers":
        yield from servers(place, value)
    elif reach == "url":
        yield from _of_url(place, value)
    elif reach == "dsn":
        yield from (AddressUse(place, host, port) for host, port in database_hosts(value))


def _of_path(place: str, value: str, mode: Mode) -> Iterator[Use]:
    if value.startswith("/"):
        yield PathUse(place, value, mode)
    else:
        yield from _of_url(place, value)


def _of_url(place: str, value: str) -> Iterator[Use]:
    parts = urlsplit(value)
    port = parts.port or _PORTS.get(parts.scheme)
    if parts.hostname and port:
        yield AddressUse(place, parts.hostname, port)


def servers(place: str, value: str) -> list[AddressUse]:
    """The servers of Kafka that a list names."""
    return [AddressUse(place, *_server(each)) for each in value.split(",")]


def _server(server: str) -> tuple[str, int]:
    host, _, port = server.strip().rpartition(":")
    return host.strip("[]"), int(port)


def database_parts(dsn: str) -> dict[str, str]:
    """The parts of an address of PostgreSQL, read by its client's own parser; empty where that cannot read it."""
    from psycopg import ProgrammingError  # loads libpq, which few definitions need
    from psycopg.conninfo import conninfo_to_dict

    try:
        return {key: str(value) for key, value in conninfo_to_dict(dsn).items() if value is not None}
    except (ProgrammingError, UnicodeDecodeError):
        return {}


def database_hosts(dsn: str) -> list[tuple[str, int]]:
    """The hosts and ports of such an address: `host`, which TLS is checked against, and `hostaddr`, which is connected
    to."""
    parts = database_parts(dsn)
    ports = parts.get("port", "").split(",")
    lists = [parts[key].split(",") for key in ("host", "hostaddr") if key in parts]
    return [
        (name, _number(ports[min(number, len(ports) - 1)]))
        for names in lists
        for number, name in enumerate(names)
        if name
    ]


def _number(port: str) -> int:
    """As the client reads it: `+6379` is a number."""
    try:
        return int(port)
    except ValueError:
        return _POSTGRES


def reach_findings(definition: Definition, policy: ReachPolicy) -> list[Finding]:
    """A finding for each path and address that the policy does not allow, as far as it shows without the host."""
    found = []
    for use in uses(definition):
        if isinstance(use, PathUse):
            problem = policy.path_problem(use.value, use.mode)
        else:
            problem = policy.host_problem(use.host, use.port)
        if problem:
            found.append(finding(use, problem))
    return found


def finding(use: Use, problem: str) -> Finding:
    """The finding at a path or address that is not allowed."""
    if isinstance(use, PathUse):
        return Finding(path=use.path, code=PATH_NOT_ALLOWED, message=problem, suggestion=ALLOW_ROOT)
    return Finding(path=use.path, code=ADDRESS_NOT_ALLOWED, message=problem, suggestion=ALLOW_NETWORK)
