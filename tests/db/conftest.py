"""A real server for what only a real server can show."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import uvicorn
from typer.testing import CliRunner, Result

from controlplane.asgi import application
from controlplane.cli.app import app
from pipelines.domain.base.roles import Role
from pipelines.services.access import access
from tests.factories import UserFactory
from tests.waiting import wait_for

Run = Callable[..., Result]
"""Runs a command line: its arguments, and `text` for its standard input."""
CommandLine = Callable[[str, Role], Run]


@dataclass(frozen=True)
class Server:
    """Where it listens, and a token of a viewer."""

    url: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the viewer."""
        return {"Authorization": f"Token {self.token}"}


@pytest.fixture
def server(transactional_db: None) -> Iterator[Server]:
    """An ASGI server in this process, on a free port, over the test's database."""
    uvicorn_server = uvicorn.Server(
        uvicorn.Config(application, port=0, lifespan="off", log_config=None, timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=uvicorn_server.run, daemon=True)
    thread.start()
    wait_for(lambda: uvicorn_server.started, "the server listens")
    port = uvicorn_server.servers[0].sockets[0].getsockname()[1]
    user = UserFactory.create(role=Role.VIEWER)
    yield Server(f"http://127.0.0.1:{port}", access.create_token(user=user, name="test", expires=None))
    uvicorn_server.should_exit = True
    thread.join(timeout=20)
    assert not thread.is_alive()


@pytest.fixture
def command_line(server: Server, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line of a new person with this name and role, against the real API."""

    def of(name: str, role: Role) -> Run:
        token = access.create_token(user=UserFactory.create(username=name, role=role), name="test", expires=None)
        monkeypatch.setenv("HEADGATE_URL", server.url)
        monkeypatch.setenv("HEADGATE_TOKEN", token)
        return lambda *arguments, text=None: CliRunner().invoke(app, list(arguments), input=text)

    return of
