"""Where a definition sends its secrets, and what may be bound as one: each reference with its component, its servers
and their encryption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pipelines.domain.access.uses import database_hosts, database_parts, reach_of
from pipelines.domain.base.findings import PathParts, dotted
from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.references import REFERENCE, bound_name, texts
from pipelines.domain.definitions.document.secret_fields import Place, place_of, takes_secret
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.client_options import SECRET_CAPABLE_OPTIONS
from pipelines.domain.definitions.parts.component import ComponentSpec, Spec

Server = tuple[str, int]

CLUSTER = "cluster"
"""Where the definition of a cluster stands beside that of a pipeline, and the component that it counts as."""
_REFERENCE = "HeadgateReference"
"""Stands for a reference where the client of a database reads its address."""
_ENCRYPTED_DATABASE = frozenset({"require", "verify-ca", "verify-full"})
_ENCRYPTED_KAFKA = frozenset({"SSL", "SASL_SSL"})
_PORTS = {"http": 80, "https": 443}


class Unknown(Exception):
    """What is written does not say where it leads."""


class SecretUse(Frozen):
    """A reference to a secret, or to what may be bound as one. `name`: under which it is bound. `servers` None: nothing
    says where it goes; empty: its component connects to nothing. `encrypted` None: nothing says. `own`: the secret is
    the whole address, so its owner has said where it goes. `hidden`: it stands where no log and no page shows it."""

    path: str
    name: str
    component: str
    servers: tuple[Server, ...] | None = ()
    encrypted: bool | None = True
    own: bool = False
    hidden: bool = True


def secret_uses(data: Mapping[str, Any], definition: Definition | None) -> list[SecretUse]:
    """Every reference in a definition, and in that of the cluster beside it. `definition`: the same, its
    references replaced where they can be; None where it is no valid one."""
    return [
        _use(path, text, bound_name(kind, name), place_of(path, data), definition).model_copy(
            update={"hidden": takes_secret(path, data)}
        )
        for path, text in texts(data)
        for kind, name in REFERENCE.findall(text)
    ]


def client_uses(data: Mapping[str, Any], resolved: Mapping[str, Any], component: str) -> list[SecretUse]:
    """The same of a client of Kafka: its `options`, and its `servers` or `bootstrap_servers`."""
    servers = str(resolved.get("servers", resolved.get("bootstrap_servers", "")))
    to = _servers_or_none("servers", servers), _kafka(resolved.get("options", {}))
    return [each.model_copy(update={"servers": to[0], "encrypted": to[1]}) for each in listening_uses(data, component)]


def listening_uses(data: Mapping[str, Any], component: str) -> list[SecretUse]:
    """The same of a component that connects to no server."""
    return [
        SecretUse(path=dotted(path), name=bound_name(kind, name), component=component, hidden=_is_hidden(path))
        for path, text in texts(data)
        for kind, name in REFERENCE.findall(text)
    ]


def _is_hidden(path: PathParts) -> bool:
    """Whether no client shows what stands there; of its own parts, those of the log-in alone."""
    return path[0] != "options" or path[-1] in SECRET_CAPABLE_OPTIONS


def _use(path: PathParts, text: str, name: str, place: Place | None, definition: Definition | None) -> SecretUse:
    if path[0] == CLUSTER:
        return SecretUse(path=dotted(path), name=name, component=CLUSTER)
    spec = _spec(definition, place) if definition and place else None
    if place is None or spec is None:
        return SecretUse(path=dotted(path), name=name, component="", servers=None, encrypted=None)
    return SecretUse(
        path=dotted(path),
        name=name,
        component=place.component,
        servers=_servers(spec),
        encrypted=_encrypts(spec),
        own=path[-1] == "dsn" and REFERENCE.fullmatch(text) is not None,
    )


def _spec(definition: Definition, place: Place) -> ComponentSpec | None:
    """What stands at a place; dead letters in Kafka without an address lie with the first Kafka source."""
    if place.kind == "dead_letter":
        return definition.dead_letter()
    found: Any = definition
    for part in place.path:
        found = getattr(found, str(part)) if isinstance(found, Spec) else found[part]
    return found if isinstance(found, ComponentSpec) else None


def _reaching(spec: ComponentSpec) -> Iterator[tuple[str, str]]:
    """What it connects to: how that is written, and the text."""
    for name, info in type(spec).model_fields.items():
        value, reach = getattr(spec, name), reach_of(info)
        if reach in {"servers", "url", "dsn"} and value is not None:
            yield from ((str(reach), str(each)) for each in (value if isinstance(value, list) else [value]))


def _servers(spec: ComponentSpec) -> tuple[Server, ...] | None:
    try:
        return tuple(server for reach, text in _reaching(spec) for server in _read(reach, text))
    except Unknown:
        return None


def _servers_or_none(reach: str, text: str) -> tuple[Server, ...] | None:
    try:
        return tuple(_read(reach, text))
    except Unknown:
        return None


def _read(reach: str, text: str) -> list[Server]:
    """The servers that a text names. Raises Unknown, also where clients could read it otherwise than we do."""
    if reach == "url":
        parts = urlsplit(text)
        if REFERENCE.search(parts.netloc) or not parts.hostname or parts.scheme not in _PORTS:
            raise Unknown
        return [(parts.hostname, parts.port or _PORTS[parts.scheme])]
    if reach == "dsn":
        return _of_database(text)
    if REFERENCE.search(text):
        raise Unknown
    pairs = [each.strip().rpartition(":") for each in text.split(",")]
    if not all(host and port.isdigit() for host, _, port in pairs):
        raise Unknown
    return [(host.strip("[]"), int(port)) for host, _, port in pairs]


def _of_database(dsn: str) -> list[Server]:
    marked = REFERENCE.sub(_REFERENCE, dsn)
    parts, servers = database_parts(marked), database_hosts(marked)
    if not servers or any(_REFERENCE in parts.get(key, "") for key in ("host", "hostaddr", "port")):
        raise Unknown
    return servers


def _encrypts(spec: ComponentSpec) -> bool | None:
    """Whether everything that it sends is encrypted; None where that depends on a reference."""
    found: list[bool | None] = []
    for reach, text in _reaching(spec):
        if reach == "url":
            found.append(urlsplit(text).scheme == "https")
        elif reach == "dsn":
            found.append(True if getattr(spec, "ca", None) else _database(text))
        else:
            found.append(_kafka(getattr(spec, "options", {})))
    return False if False in found else None if None in found else True


def _kafka(options: Mapping[str, Any]) -> bool | None:
    protocol = str(options.get("security.protocol", "PLAINTEXT"))
    return None if REFERENCE.search(protocol) else protocol in _ENCRYPTED_KAFKA


def _database(dsn: str) -> bool | None:
    """Libpq encrypts by default only where the server offers it."""
    parts = database_parts(REFERENCE.sub(_REFERENCE, dsn))
    mode = parts.get("sslmode", "prefer")
    return None if not parts or _REFERENCE in mode else mode in _ENCRYPTED_DATABASE
