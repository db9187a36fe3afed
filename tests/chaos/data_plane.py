"""Real agents without a control plane, for tests of the data plane: their pipelines, and processes that hang."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs.protocol import SparkSettings
from tests.agent.conftest import topics
from tests.agent.harness import Pipeline
from tests.fakes.http_servers import Asked

__all__ = ["MakeDefined", "events", "frozen", "make_defined", "silent_server", "topics"]

MakeDefined = Callable[..., Pipeline]


@pytest.fixture
def make_defined(tmp_path: Path, spark_settings: SparkSettings) -> Iterator[MakeDefined]:
    """A pipeline by the parts of its definition; its processes end with the test."""
    made: list[Pipeline] = []

    def make(name: str, **parts: Any) -> Pipeline:
        definition = {"api_version": "headgate/v1", "name": name, **parts}
        made.append(Pipeline(tmp_path / "state", definition, spark_settings))
        return made[-1]

    yield make
    for pipeline in made:
        pipeline.kill_all()


@contextmanager
def silent_server() -> Iterator[int]:
    """A port whose connections are made by the kernel and never answered."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield server.getsockname()[1]


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """SIGSTOP, and SIGCONT in the end."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def events(asked: Asked) -> list[dict[str, Any]]:
    """What a request of the http sink carried."""
    found: list[dict[str, Any]] = json.loads(asked.body)
    return found
