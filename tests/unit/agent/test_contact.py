"""Connections to the servers of a Spark cluster: what each shows, and what is said where none is there."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.hosts.connection_tests import ConnectionState, StandaloneCluster
from tests.unit.agent.test_unreachable_brokers import closed_port
from workers.adapters import surveys
from workers.adapters.processes import Child
from workers.adapters.surveys import ChildSparkClusters
from workers.agent.spark import contact, standalone
from workers.ports import ConnectionFailed


@pytest.fixture
def listening() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def a_page(*workers: dict[str, Any]) -> dict[str, Any]:
    return {"workers": list(workers), "activeapps": [{"id": "app-1"}]}


def a_worker(number: int, state: str = "ALIVE") -> dict[str, Any]:
    return {"id": f"w{number}", "state": state, "cores": 4, "coresused": 1, "webuiaddress": "http://w"}


@pytest.fixture
def master(listening: str, request: pytest.FixtureRequest) -> Iterator[ClusterSpec]:
    """A master whose page says what the test gives it."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(request.param).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield ClusterSpec(master=f"spark://{listening}", master_ui=f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("master", [a_page(a_worker(1), a_worker(2), a_worker(3, "DEAD"))], indirect=True)
def test_a_standalone_master_shows_its_workers_and_cores(master: ClusterSpec) -> None:
    found = contact.test(master)
    assert found.state == ConnectionState.REACHABLE
    assert found.standalone == StandaloneCluster(workers=2, dead_workers=1, cores=8, free_cores=6, applications=1)
    (server,) = found.servers
    assert server.reached
    assert 0 < server.milliseconds < 3000
    assert found.unchecked == [
        "The Spark version: a start checks it.",
        "The connection from executors back to the driver: a start checks it.",
    ]


@pytest.mark.parametrize("master", [a_page(a_worker(3, "DEAD"))], indirect=True)
def test_a_master_without_workers_is_of_no_use(master: ClusterSpec) -> None:
    found = contact.test(master)
    assert (found.state, found.code) == (ConnectionState.FAILED, "NO_WORKERS")
    assert "Start workers" in found.hint


@pytest.mark.parametrize("master", ["no page of Spark"], indirect=True)
def test_what_a_foreign_page_does_not_tell_is_said_to_be_unchecked(master: ClusterSpec) -> None:
    found = contact.test(master)
    assert (found.state, found.standalone) == (ConnectionState.REACHABLE, None)
    assert found.unchecked[0].startswith("Workers and cores")
    assert "is not a page of Spark" in found.unchecked[0]


def test_a_closed_port_is_named_with_its_cause_and_advice() -> None:
    port = closed_port()
    found = contact.test(ClusterSpec(master=f"spark://127.0.0.1:{port}"))
    assert (found.state, found.code, found.hint) == (ConnectionState.FAILED, "MASTER_UNREACHABLE", contact.ADVICE)
    assert f"127.0.0.1:{port}" in found.message
    assert "refused" in found.message.lower()


def test_one_master_of_several_is_enough_and_the_other_is_shown(listening: str) -> None:
    closed = closed_port()
    spec = ClusterSpec(master=f"spark://127.0.0.1:{closed},{listening}", master_ui=f"http://127.0.0.1:{closed}")
    found = contact.test(spec)
    assert found.state == ConnectionState.REACHABLE
    assert [each.reached for each in found.servers] == [False, True]
    assert found.unchecked[0].startswith("Workers and cores")


def test_a_page_that_takes_a_connection_and_stays_quiet_is_that_of_a_hung_master(
    listening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standalone, "TIMEOUT", 0.2)
    found = contact.test(ClusterSpec(master=f"spark://{listening}", master_ui=f"http://{listening}"))
    assert (found.state, found.code) == (ConnectionState.FAILED, "MASTER_UNREACHABLE")
    assert "does not answer" in found.message


def test_yarn_names_no_server_and_is_never_called_reachable() -> None:
    found = contact.test(ClusterSpec(master="yarn"))
    assert (found.state, found.servers) == (ConnectionState.NOT_CHECKED, [])
    assert "YARN" in found.unchecked[0]


def test_of_kubernetes_the_connection_alone_is_checked(listening: str) -> None:
    found = contact.test(ClusterSpec(master=f"k8s://https://{listening}"))
    assert found.state == ConnectionState.REACHABLE
    assert found.unchecked[0].startswith("The certificate, the login and the rights")


def test_a_child_makes_the_test_and_answers(listening: str) -> None:
    found = ChildSparkClusters(seconds=60.0).test(ClusterSpec(master=f"k8s://https://{listening}"))
    assert [each.server for each in found.servers] == [listening]


def in_place_of_the_module(monkeypatch: pytest.MonkeyPatch, *argv: str) -> None:
    """Another program makes the test."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    monkeypatch.setattr(surveys, "_child", lambda _: Child(argv, None, passed_on=("PATH",), **pipes))


def test_a_child_that_hangs_is_ended_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    in_place_of_the_module(monkeypatch, "sleep", "60")
    begun = time.monotonic()
    with pytest.raises(ConnectionFailed) as caught:
        ChildSparkClusters(seconds=0.3).test(ClusterSpec(master="yarn"))
    assert caught.value.code == "CLUSTER_TIMED_OUT"
    assert time.monotonic() - begun < 30


def test_a_child_that_dies_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    in_place_of_the_module(monkeypatch, "sh", "-c", "cat; echo no luck >&2; exit 3")
    with pytest.raises(ConnectionFailed, match="ended with 3: no luck"):
        ChildSparkClusters().test(ClusterSpec(master="yarn"))
