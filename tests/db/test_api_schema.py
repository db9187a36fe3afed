"""Whatever is sent, the API answers as its description says, and never with an internal error."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

from controlplane.asgi import application
from pipelines.api.definitions import rehearsals
from pipelines.api.positions import positions
from pipelines.domain.base.roles import Role
from pipelines.services.access import access
from tests.chaos.extent import WHOLE
from tests.factories import PipelineFactory, RunFactory, UserFactory
from tests.settings import BASE_DIR

EXAMPLES = 10 if WHOLE else 3
DESCRIPTION = json.loads((BASE_DIR / "frontend" / "openapi.json").read_text())
DESCRIBED = schemathesis.openapi.from_dict(DESCRIPTION)
DESCRIBED.app = application
OPERATIONS = [(path, method) for path, item in DESCRIPTION["paths"].items() for method in item]
UNHEALTHY = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]


@pytest.fixture
def headers(transactional_db: None) -> dict[str, str]:
    """An admin's, with a pipeline and a run to ask about."""
    RunFactory.create(pipeline=PipelineFactory.create(name="orders"))
    token = access.create_token(user=UserFactory.create(role=Role.ADMIN), name="test", expires=None)
    return {"Authorization": f"Token {token}", "Host": "localhost"}


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal's child would start a JVM for every example."""
    nothing = {"channels": {}, "filtered": 0, "unrouted": [], "dead_letters": []}
    monkeypatch.setattr(rehearsals, "rehearse", lambda *_, **__: nothing)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No host is there that would look at positions."""
    monkeypatch.setattr(positions, "supervised", lambda _host: False)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_address_answers_as_described(headers: dict[str, str], path: str, method: str) -> None:
    @settings(max_examples=EXAMPLES, suppress_health_check=UNHEALTHY)
    @given(case=DESCRIBED[path][method].as_strategy())
    def ask(case: Any) -> None:
        case.path_parameters = {**case.path_parameters, **({"name": "orders"} if "{name}" in path else {})}
        case.call_and_validate(headers=headers, checks=[not_a_server_error, response_schema_conformance])

    ask()
