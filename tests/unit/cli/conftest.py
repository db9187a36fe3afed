"""What the tests of the command line share: a fake API, and calls of the program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controlplane.cli.base import client as client_module
from controlplane.cli.base import following, waiting
from tests.fakes.api import TOKEN, FakeApi, pipeline, serving


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    for module, name in ((following, "POLL_S"), (following, "FIRST_PAUSE_S"), (client_module, "PAUSE_S")):
        monkeypatch.setattr(module, name, 0.0)
    monkeypatch.setattr(waiting, "POLL_S", 0.1)
    with serving() as api:
        monkeypatch.setenv("HEADGATE_URL", api.url)
        monkeypatch.setenv("HEADGATE_TOKEN", TOKEN)
        yield api


@pytest.fixture
def orders(api: FakeApi) -> FakeApi:
    api.pipelines["orders"] = pipeline("orders")
    return api
