"""What a definition reaches: every key of every component is known, and what is not allowed is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from django.conf import settings
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from pipelines.domain.access.on_host import on_this_host
from pipelines.domain.access.reach import AllowedNetwork, AllowedRoot, ReachPolicy
from pipelines.domain.access.reach_rules import network_problem, root_problem
from pipelines.domain.access.uses import AddressUse, PathUse, reach_findings, reach_of, uses
from pipelines.domain.base.addresses import address_of
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import Spec
from tests.attacks.test_exposure import definition

COMPONENTS = {component.kind for component in registry.all()}
BAIT = ("/etc/shadow", "/run/redis.sock", "file:///etc/shadow", "127.0.0.1:6379", "http://169.254.169.254/latest")


def strings_of(kind: type[Spec], path: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in kind.model_fields.items():
        yield f"{path}.{name}", info
        for inner in specs_in(info.annotation):
            if inner.__module__.startswith("pipelines.") and getattr(inner, "kind", "") not in COMPONENTS:
                yield from strings_of(inner, f"{path}.{name}")


def specs_in(annotation: Any) -> Iterator[type[Spec]]:
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        yield annotation
    for each in get_args(annotation):
        yield from specs_in(each)


def takes_bait(info: FieldInfo) -> bool:
    annotation: Any = info.annotation
    for rule in reversed(info.metadata):
        annotation = Annotated[annotation, rule]
    adapter = TypeAdapter(annotation)
    for bait in BAIT:
        for value in (bait, [bait], {"a": bait}, {bait: bait}):
            try:
                adapter.validate_python(value)
            except (ValidationError, TypeError):
                continue
            return True
    return False


KNOWN_TEXTS = {line.strip() for line in Path(__file__).with_name("texts_without_reach.txt").read_text().splitlines()}


def keys() -> Iterator[tuple[str, FieldInfo]]:
    """Every key of a definition: those of each component, and those beside its components."""
    yield from strings_of(Definition, "definition")
    for component in registry.all():
        yield from strings_of(component, f"{component.kind}.{component.type_name()}")


def undeclared() -> set[str]:
    return {place for place, info in keys() if reach_of(info) is None and takes_bait(info)}


def test_every_key_that_could_hold_a_path_or_an_address_says_what_it_reaches() -> None:
    assert undeclared() == KNOWN_TEXTS


def declared() -> dict[str, str]:
    return {place: reach for place, info in keys() if (reach := reach_of(info))}


SOURCE = {"type": "sequence"}
KAFKA = {"bootstrap_servers": "SERVER", "topic": "t"}
READS = {"type": "kafka", "bootstrap_servers": "SERVER", "topics": ["t"], "group_id": "g", "start_from": "latest"}
FILES = {
    "source.taildir.file_groups.directory": {
        "source": {"type": "taildir", "file_groups": {"a": {"directory": "PATH", "pattern": "a"}}}
    },
    "source.spooldir.directory": {"source": {"type": "spooldir", "directory": "PATH", "completed": "delete"}},
    "source.http.tls_certificate": {
        "source": {"type": "http", "port": 1, "tls_certificate": "PATH", "tls_key": "/data/key.pem"}
    },
    "source.http.tls_key": {
        "source": {"type": "http", "port": 1, "tls_certificate": "/data/cert.pem", "tls_key": "PATH"}
    },
    "sink.file.path": {"sink": {"type": "file", "path": "PATH"}},
    "dead_letter.file.path": {"letters": {"type": "file", "path": "PATH"}},
    "definition.placement.launcher.storage": {
        "placement": {"launcher": {"type": "spark", "cluster": "analytics", "storage": "PATH"}}
    },
}
SERVERS = {
    "source.kafka.bootstrap_servers": {"source": READS},
    "channel.kafka.bootstrap_servers": {"channel": {"type": "kafka", **KAFKA}},
    "sink.kafka.bootstrap_servers": {"sink": {"type": "kafka", **KAFKA}},
    "dead_letter.kafka.bootstrap_servers": {"letters": {"type": "kafka", **KAFKA}},
    "sink.http.url": {"sink": {"type": "http", "url": "http://SERVER/x"}},
    "sink.opensearch.hosts": {"sink": {"type": "opensearch", "hosts": ["https://SERVER"], "index": "i"}},
    "sink.postgres.dsn": {"sink": {"type": "postgres", "dsn": "postgresql://u@SERVER/db", "table": "t"}},
}


def filled(template: Any, **values: str) -> Any:
    if isinstance(template, dict):
        return {key: filled(value, **values) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(each, **values) for each in template]
    if isinstance(template, str):
        for name, value in values.items():
            template = template.replace(name, value)
    return template


def valid(parts: dict[str, Any]) -> Definition:
    validation = validate_data(definition(**parts))
    assert validation.definition is not None, validation.findings
    return validation.definition


def test_the_attacks_cover_every_declared_key() -> None:
    assert {*FILES, *SERVERS, "source.http.bind"} == set(declared())


DATA = ReachPolicy(roots=(AllowedRoot(path="/data"), AllowedRoot(path="/tmp/headgate-*")), never=("/data/state",))


@pytest.mark.parametrize("key", FILES)
@pytest.mark.parametrize("path", ["/state/secret_key", "/data/state/secret_key", "/etc/shadow", "/proc/self", "/dev/x"])
def test_no_path_key_reaches_what_is_not_allowed(key: str, path: str) -> None:
    (found,) = reach_findings(valid(filled(FILES[key], PATH=path)), DATA)
    assert found.code == "PATH_NOT_ALLOWED"
    assert found.suggestion


@pytest.mark.parametrize("key", FILES)
@pytest.mark.parametrize("path", ["/data/in", "/tmp/headgate-orders/x"])
def test_every_path_key_reaches_what_is_allowed(key: str, path: str) -> None:
    assert reach_findings(valid(filled(FILES[key], PATH=path)), DATA) == []


def test_whatever_is_allowed_own_and_system_paths_never_are() -> None:
    everything = ReachPolicy(roots=(AllowedRoot(path="/"),), never=("/srv/headgate",))
    for path in ("/srv/headgate", "/srv/headgate/keys", "/proc/1/environ", "/sys/x", "/dev/sda", "/etc/shadow"):
        assert everything.path_problem(path, "read"), path
    assert not everything.path_problem("/srv/headgate-data", "write")
    certificates = ReachPolicy(roots=(AllowedRoot(path="/etc/ssl", mode="read"),))
    assert not certificates.path_problem("/etc/ssl/ca.pem", "read")
    assert certificates.path_problem("/etc/ssl/ca.pem", "write")
    assert certificates.path_problem("/etc/shadow", "read")


def test_completed_files_are_only_deleted_where_writing_is_allowed() -> None:
    reading = ReachPolicy(roots=(AllowedRoot(path="/data", mode="read"),))
    spool = {"type": "spooldir", "directory": "/data/in"}
    assert reach_findings(valid({"source": {**spool, "completed": "keep"}}), reading) == []
    for completed in ("delete", "rename"):
        assert len(reach_findings(valid({"source": {**spool, "completed": completed}}), reading)) == 1


@pytest.mark.parametrize("key", FILES)
def test_a_link_in_an_allowed_root_leads_nowhere_else(key: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "data" / "link").symlink_to(tmp_path / "state")
    policy = ReachPolicy(roots=(AllowedRoot(path=str(tmp_path / "data")), AllowedRoot(path="/data")))
    linked = valid(filled(FILES[key], PATH=f"{tmp_path}/data/link/key"))
    assert reach_findings(linked, policy) == []
    assert [found.code for found in on_this_host(linked, policy)] == ["PATH_NOT_ALLOWED"]
    assert on_this_host(valid(filled(FILES[key], PATH=f"{tmp_path}/data/in")), policy) == []


INNER = ["127.0.0.1:6379", "169.254.169.254:80", "[::1]:6379", "[fe80::1]:1", "0.0.0.0:80", "localhost:6379"]
INNER += ["[::ffff:127.0.0.1]:6379", "[64:ff9b::a9fe:a9fe]:80", "[fd00:ec2::254]:80", "224.0.0.1:1"]


@pytest.mark.parametrize("key", SERVERS)
@pytest.mark.parametrize("server", INNER)
def test_no_address_key_reaches_this_machine_or_metadata(key: str, server: str) -> None:
    assert {found.code for found in reach_findings(valid(filled(SERVERS[key], SERVER=server)), ReachPolicy())} == {
        "ADDRESS_NOT_ALLOWED"
    }


@pytest.mark.parametrize("key", SERVERS)
def test_a_name_that_leads_inside_is_refused_on_the_host(key: str) -> None:
    found = valid(filled(SERVERS[key], SERVER="innocent.example:8080"))
    inside, outside = address_of("169.254.169.254"), address_of("93.184.216.34")
    assert inside is not None
    assert outside is not None
    assert reach_findings(found, ReachPolicy()) == []
    assert on_this_host(found, ReachPolicy(), lambda *_: [outside]) == []
    assert len(on_this_host(found, ReachPolicy(), lambda *_: [outside, inside])) == 1
    wild = ReachPolicy(networks=(AllowedNetwork(target="*.example"),))
    assert len(on_this_host(found, wild, lambda *_: [inside])) == 1


@pytest.mark.parametrize("key", SERVERS)
def test_with_a_list_nothing_else_is_reached(key: str) -> None:
    listed = ReachPolicy(networks=(AllowedNetwork(target="10.1.0.0/16", ports="9092"),), listed_only=True)
    assert reach_findings(valid(filled(SERVERS[key], SERVER="10.1.2.3:9092")), listed) == []
    for server in ("10.1.2.3:9093", "10.2.2.3:9092"):
        assert len(reach_findings(valid(filled(SERVERS[key], SERVER=server)), listed)) == 1


@pytest.mark.parametrize("key", SERVERS)
def test_servers_of_headgate_are_never_reached(key: str) -> None:
    own = ReachPolicy(networks=(AllowedNetwork(target="127.0.0.0/8"),), own=("127.0.0.1 6379",))
    assert len(reach_findings(valid(filled(SERVERS[key], SERVER="127.0.0.1:6379")), own)) == 1
    assert reach_findings(valid(filled(SERVERS[key], SERVER="127.0.0.1:6380")), own) == []


def test_every_host_of_a_list_counts() -> None:
    several = valid(filled(SERVERS["source.kafka.bootstrap_servers"], SERVER="b1:9092,169.254.169.254:80"))
    assert len(reach_findings(several, ReachPolicy())) == 1
    dsn = "postgresql://db.example,127.0.0.1:6379/x"
    found = valid(filled(SERVERS["sink.postgres.dsn"], **{"u@SERVER/db": "db.example,127.0.0.1:6379/x"}))
    assert [(use.host, use.port) for use in uses(found) if isinstance(use, AddressUse)] == [
        ("db.example", 5432),
        ("127.0.0.1", 6379),
    ], dsn


@pytest.mark.parametrize(
    "url", ["file:///etc", "local:///etc", "har:///etc", "ftp://127.0.0.1/x", "http://127.0.0.1/x"]
)
def test_other_file_systems_of_hadoop_are_refused(url: str) -> None:
    codes = {found.code for found in validate_data(definition(sink={"type": "file", "path": url})).findings}
    assert codes == {"invalid_path"}


def test_paths_of_a_definition_are_found_with_their_modes() -> None:
    spool = valid({"source": {"type": "spooldir", "directory": "/data/in"}})
    assert uses(spool) == [PathUse("sources.in.directory", "/data/in", "write")]


@pytest.mark.parametrize("path", ["data", "/data/../etc", "/a,b", "/proc/self", "/dev", "/da*ta/x", "//data", ""])
def test_such_roots_cannot_be_allowed(path: str) -> None:
    assert root_problem(path, "read")


@pytest.mark.parametrize("target", ["10.0.0.0/99", "1.2.3", "a b", "*", "x.*", "http://host", "-x"])
def test_such_networks_cannot_be_allowed(target: str) -> None:
    assert network_problem(target, "*")


@pytest.mark.parametrize("ports", ["0", "65536", "a", "1-", "80,", "1;2"])
def test_such_ports_cannot_be_allowed(ports: str) -> None:
    assert network_problem("host", ports)


def test_this_installation_is_never_reached() -> None:
    never = settings.HEADGATE.never_reached
    code = Path(__file__).resolve().parents[2]
    for path in (settings.HEADGATE.state, settings.HEADGATE.key_file, code / "workers", code / ".venv"):
        assert ReachPolicy(roots=(AllowedRoot(path="/"),), never=tuple(never)).path_problem(str(path), "read")
    assert "127.0.0.1 1" in settings.HEADGATE.own_servers
    assert f"127.0.0.1 {settings.HEADGATE.web_port}" in settings.HEADGATE.own_servers
