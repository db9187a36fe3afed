"""What is reached is checked when it is used: links that come after the check, and names that lead elsewhere later."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from pipelines.domain.access.reach import AllowedNetwork, AllowedRoot, ReachPolicy
from pipelines.domain.base.addresses import Address, address_of
from tests.fakes.http_servers import Asked, Reply, serving
from workers.agent.base import reach
from workers.agent.http.requests import Connection, RequestFailed, Requests
from workers.agent.postgres.connection import AddressRefused, Database
from workers.agent.spark.executor_writer import Deadline


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, ReachPolicy]:
    data, state = tmp_path / "data", tmp_path / "state"
    data.mkdir()
    state.mkdir()
    (state / "key").write_text("secret")
    return data, state, ReachPolicy(roots=(AllowedRoot(path=str(tmp_path)),), never=(str(state),))


def test_a_link_that_replaces_a_file_is_not_read(places: tuple[Path, Path, ReachPolicy]) -> None:
    data, state, policy = places
    (data / "log").write_text("line\n")
    with reach.opened_for_reading(str(data / "log"), policy) as file:
        assert file.read() == b"line\n"
    (data / "log").unlink()
    (data / "log").symlink_to(state / "key")
    with pytest.raises(reach.OutOfReach):
        reach.opened_for_reading(str(data / "log"), policy)


def test_a_link_that_replaces_a_directory_lets_nothing_be_deleted_or_renamed(
    places: tuple[Path, Path, ReachPolicy],
) -> None:
    data, state, policy = places
    (data / "in").symlink_to(state)
    with pytest.raises(reach.OutOfReach):
        reach.unlink(str(data / "in" / "key"), policy)
    with pytest.raises(reach.OutOfReach):
        reach.rename(str(data / "in" / "key"), str(data / "in" / "key.COMPLETED"), policy)
    with pytest.raises(reach.OutOfReach):
        reach.require_path(data / "in" / "new", policy)
    assert os.listdir(state) == ["key"]  # noqa: PTH208
    (data / "done").write_text("")
    reach.rename(str(data / "done"), str(data / "done.1"), policy)
    reach.unlink(str(data / "done.1"), policy)
    assert not (data / "done.1").exists()


def test_a_named_pipe_does_not_hold_the_agent(places: tuple[Path, Path, ReachPolicy]) -> None:
    data, _, policy = places
    os.mkfifo(data / "pipe")
    with reach.opened_for_reading(str(data / "pipe"), policy) as pipe:
        assert pipe.read() == b""


def send(url: str, policy: ReachPolicy) -> int:
    requests = Requests(Connection((url,), reach=policy))
    try:
        return requests.send("POST", "", b"x", Deadline.after(5)).status
    finally:
        requests.close()


def test_a_name_that_leads_inside_after_the_start_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str, port: int) -> list[Address]:
        address = address_of("127.0.0.1")
        assert address is not None
        return [address]

    monkeypatch.setattr(reach, "look_up", look_up)
    with serving(lambda asked: Reply(200)) as server:
        url = server.url.replace("127.0.0.1", "innocent.example")
        with pytest.raises(RequestFailed, match="loopback"):
            send(url, ReachPolicy())
        assert server.seen == []
        assert send(url, ReachPolicy(networks=(AllowedNetwork(target="127.0.0.0/8"),))) == 200


@pytest.mark.parametrize(
    ("dsn", "connected"),
    [
        ("postgresql://u@innocent.example/db", {"host": "innocent.example", "hostaddr": "10.1.1.1", "port": "5432"}),
        ("postgresql://u@a.example:1,b.example:2/db", {"hostaddr": "10.1.1.1,10.1.1.1", "port": "1,2"}),
        ("postgresql://u@a.example,b.example/db?port=7", {"host": "a.example,b.example", "port": "7,7"}),
        ("postgresql://u@a.example/db?hostaddr=10.2.2.2", {"host": "a.example", "hostaddr": "10.2.2.2"}),
        ("hostaddr=10.2.2.2 dbname=db", {"host": "10.2.2.2", "hostaddr": "10.2.2.2"}),
    ],
)
def test_a_database_is_connected_to_at_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, dsn: str, connected: dict[str, str]
) -> None:
    meant, asked = {"innocent.example": "10.1.1.1", "a.example": "10.1.1.1", "b.example": "10.1.1.1"}, {}

    def look_up(host: str, port: int) -> list[Address]:
        address = address_of(meant.get(host, host))
        assert address is not None
        return [address]

    def connect(conninfo: str, **parts: object) -> None:
        asked.update(parts)
        raise psycopg.OperationalError("not here")

    monkeypatch.setattr(reach, "look_up", look_up)
    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(psycopg.OperationalError, match="not here"), Database(dsn, reach=ReachPolicy()).connected():
        pass
    assert connected.items() <= asked.items()

    asked.clear()
    meant.update(dict.fromkeys((*meant, "10.2.2.2"), "169.254.169.254"))
    with pytest.raises(reach.OutOfReach), Database(dsn, reach=ReachPolicy()).connected():
        pass
    assert asked == {}


@pytest.mark.parametrize("dsn", ["host=a,b,c port=1,2", "host=a,b hostaddr=10.1.1.1,10.1.1.2,10.1.1.3"])
def test_a_database_whose_servers_cannot_be_told_apart_is_not_connected_to(dsn: str) -> None:
    with pytest.raises(AddressRefused), Database(dsn, reach=ReachPolicy()).connected():
        pass


def test_no_redirect_is_followed() -> None:
    inner: list[Asked] = []

    def note(asked: Asked) -> Reply:
        inner.append(asked)
        return Reply(200)

    with serving(note) as inside, serving(lambda asked: Reply(307, headers={"Location": inside.url})) as outside:
        assert send(outside.url, ReachPolicy(networks=(AllowedNetwork(target="127.0.0.1"),))) == 307
    assert inner == []
