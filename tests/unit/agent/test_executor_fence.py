"""The fence: no run goes on while executors of an earlier one may write, and none waits longer than it said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.definitions.parts.launchers import PlacedLauncher
from pipelines.domain.runs import protocol
from workers.agent.spark import standalone
from workers.agent.spark.fence import Application, Fence

APPLICATION = "app-1"


class Pages(HTTPServer):
    """A master and its worker on one port, whose looks are answered in their order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page = f"http://127.0.0.1:{self.server_port}"
        self.answers: list[dict[str, Any]] = []

    def then(self, *, application: bool, executor: bool, alive: bool = True) -> None:
        """What one look finds: the master's page, then the worker's."""
        worker = {
            "id": "worker-1",
            "state": "ALIVE" if alive else "DEAD",
            "webuiaddress": self.page,
            "cores": 2,
            "coresused": 1,
        }
        master = {"workers": [worker], "activeapps": [{"id": APPLICATION}] if application else []}
        self.answers.append(master)
        if alive and not application:
            self.answers.append({"executors": [{"appid": APPLICATION}] if executor else []})


class _Handler(BaseHTTPRequestHandler):
    server: Pages

    def do_GET(self) -> None:
        body = json.dumps(self.server.answers.pop(0)).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def pages() -> Iterator[Pages]:
    server = Pages()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(10)


def noted(directory: Path, master: str, *, page: str | None = None, fence: float = 60.0) -> Fence:
    found = Fence(directory)
    found.note(
        APPLICATION,
        1,
        PlacedLauncher(type="spark", cluster="a", executor_fence=fence, on=ClusterSpec(master=master, master_ui=page)),
    )
    return found


def test_it_waits_until_neither_master_nor_worker_has_the_application(tmp_path: Path, pages: Pages) -> None:
    said: list[str] = []
    pages.then(application=True, executor=True)
    fence = noted(tmp_path, "spark://a:1", page=pages.page)
    pages.then(application=True, executor=True)
    pages.then(application=False, executor=True)
    pages.then(application=False, executor=False)
    fence.wait(said.append)
    assert not pages.answers
    assert said == [f"waiting for the executors of run 1 ({APPLICATION}): the cluster still has them"]
    assert not list(tmp_path.iterdir())


def test_a_worker_that_cannot_be_asked_counts_as_unknown(pages: Pages) -> None:
    pages.then(application=False, executor=False, alive=False)
    with pytest.raises(standalone.Silent, match="not alive"):
        standalone.is_gone(pages.page, APPLICATION)


def test_a_worker_that_was_dead_before_the_application_began_is_not_asked(tmp_path: Path, pages: Pages) -> None:
    pages.then(application=True, executor=False, alive=False)
    fence = noted(tmp_path, "spark://a:1", page=pages.page, fence=3600)
    pages.then(application=False, executor=False, alive=False)
    fence.wait(lambda why: pytest.fail(why))
    assert not pages.answers


def test_a_cluster_that_cannot_say_costs_the_fence_and_no_more(tmp_path: Path) -> None:
    said: list[str] = []
    noted(tmp_path, "yarn", fence=0.3).wait(said.append)
    assert len(said) == 1
    assert not list(tmp_path.iterdir())


def test_the_clock_goes_on_when_the_waiting_run_is_restarted(tmp_path: Path) -> None:
    fence = noted(tmp_path, "yarn", fence=3600)
    application = Application.load(tmp_path / "1.json")
    assert application is not None
    started = {"since": protocol.boottime() - 3601, "boot_id": protocol.boot_id()}
    application.model_copy(update=started).store(tmp_path / "1.json")
    fence.wait(lambda _: None)
    assert not list(tmp_path.iterdir())


def test_the_clock_begins_again_after_a_reboot(tmp_path: Path) -> None:
    said: list[str] = []
    fence = noted(tmp_path, "yarn", fence=0.3)
    application = Application.load(tmp_path / "1.json")
    assert application is not None
    application.model_copy(update={"since": -3600.0, "boot_id": "another"}).store(tmp_path / "1.json")
    fence.wait(said.append)
    assert len(said) == 1, "what the clock said before says nothing of now"


def test_an_application_with_nothing_in_hand_is_forgotten(tmp_path: Path) -> None:
    fence = noted(tmp_path, "yarn", fence=3600)
    fence.forget(1)
    fence.wait(lambda _: pytest.fail("it waits"))
