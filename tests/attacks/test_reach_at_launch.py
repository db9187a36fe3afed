"""What a definition reaches is checked on the host before it starts, with its references replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from pipelines.domain.access.reach import AllowedRoot, ReachPolicy
from pipelines.domain.access.secret_bindings import SecretBinding
from pipelines.domain.access.uses import database_hosts
from pipelines.domain.base.findings import Finding
from pipelines.domain.runs.protocol import SparkSettings
from tests.attacks.test_exposure import definition
from tests.factories import PipelineFactory
from workers.adapters.secrets import backends
from workers.ports import SecretValue
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db
VALUES = {"token": "a-token-of-the-sink", "orders": "postgresql://u:a-password@127.0.0.1:6379/x?sslmode=require"}
EVERYWHERE = SecretBinding(pipelines=("*",), destinations=("hook.example.com:443", "127.0.0.1:6379"))


class Stored:
    """A store of secrets that counts how often it is asked."""

    def __init__(self) -> None:
        self.times = 0

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue]:
        self.times += 1
        return {name: SecretValue(VALUES[name]) for name in names}


def against(parts: dict[str, Any], policy: ReachPolicy, store: Stored) -> list[Finding]:
    references = References(backends({}, None, store), bindings=lambda names: dict.fromkeys(names, EVERYWHERE))
    launcher = Launcher(
        "alpha", Path("/state"), references, lambda: SparkSettings(classpath=[]), reach=lambda _teams: policy
    )
    return launcher.against(PipelineFactory.create(name="attack"), definition(**parts))


def test_a_secret_in_a_definition_hides_no_link_in_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "data" / "out").symlink_to(tmp_path / "state")
    policy = ReachPolicy(roots=(AllowedRoot(path=str(tmp_path / "data")),), never=(str(tmp_path / "state"),))
    parts = {
        "channel": {"type": "direct"},
        "sink": {"type": "http", "url": "https://hook.example.com/x", "token": "${secret:token}"},
        "letters": {"type": "file", "path": str(tmp_path / "data" / "out")},
    }
    store = Stored()
    found = against(parts, policy, store)
    assert [each.path for each in found] == ["errors.dead_letter.path"]
    assert store.times == 1


def test_a_server_that_a_secret_names_is_checked_and_not_told() -> None:
    parts = {"sink": {"type": "postgres", "dsn": "${secret:orders}", "table": "t"}}
    (found,) = against(parts, ReachPolicy(), Stored())
    assert (found.path, found.code) == ("sinks.out.dsn", "ADDRESS_NOT_ALLOWED")
    assert "127.0.0.1" not in found.message


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u@good.example/db#?host=evil.example",
        "postgresql://u@good.example/db?host=evil.example",
        "postgresql://u@good.example:5433/db?hostaddr=10.0.0.1",
        "postgresql://u@[::1]:6379/db",
        "postgresql://u@a.example,b.example:5433/db?port=5433,6379",
        "postgresql://u%40x@evil%2eexample/db",
        "postgresql://u@good.example/db?user=x&host=",
    ],
)
def test_the_hosts_of_a_database_are_those_that_its_client_connects_to(dsn: str) -> None:
    asked = conninfo_to_dict(dsn)
    wanted = {name for key in ("host", "hostaddr") for name in str(asked.get(key) or "").split(",") if name}
    assert {host for host, _ in database_hosts(dsn)} == wanted


def test_a_port_is_read_as_the_client_of_a_database_reads_it() -> None:
    """Libpq takes a sign before the number: otherwise the policy saw 5432, and the agent connected to 6379."""
    assert database_hosts("postgresql://u@good.example/db?port=%2B6379") == [("good.example", 6379)]
    assert database_hosts("postgresql://u@good.example/db?port=%C2%B2") == [("good.example", 5432)]


def test_an_address_that_is_no_text_names_no_host() -> None:
    assert database_hosts("postgresql://u@%ff/db") == []
