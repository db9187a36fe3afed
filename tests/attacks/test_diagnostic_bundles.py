"""A diagnostic bundle goes to people who are trusted with no secret: none is inside, wherever it was planted."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from pydantic import SecretStr
from rest_framework.test import APIClient

from pipelines.models import Event, Pipeline
from tests.db.test_secrets import BOUND, refer
from tests.factories import DeadLetterFactory, EventFactory, HostFactory, OperationFactory, PipelineFactory, RunFactory

pytestmark = pytest.mark.django_db
STORED = "stored-canary/1 é"
EARLIER = "earlier-canary-2"
IN_LOG = "log-canary-3"
IN_ENVIRONMENT = "environment-canary-4"
IN_URL = "url-canary-5"
IN_SETTINGS = "settings-canary-6"
IN_BODY = "body-canary-7"
HEADER = "header-canary-8"
ALLOWED = "allowed-canary-9"
CANARIES = (
    STORED,
    quote(STORED, safe=""),
    EARLIER,
    IN_LOG,
    IN_ENVIRONMENT,
    IN_URL,
    IN_SETTINGS,
    IN_BODY,
    HEADER,
    ALLOWED,
)

LOG = f"""2026-03-01T10:00:00.000Z INFO driver 7 connecting with {STORED} and {quote(STORED, safe="")}
2026-03-01T10:00:01.000Z ERROR driver 7 failed
Traceback (most recent call last):
  postgres://shop:{IN_URL}@db/shop refused {EARLIER}
  POST https://hooks.example.com/ Authorization: Bearer {HEADER}
  X-Api-Key: {HEADER}
  sasl.jaas.config=PlainLoginModule required username="u" password="{IN_LOG}";
  environment: AWS_SECRET_ACCESS_KEY={IN_ENVIRONMENT}, plain {IN_ENVIRONMENT}, allowed {ALLOWED}
  redis {IN_SETTINGS}
"""


@pytest.fixture
def orders(key_file: Path, admin: APIClient, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A pipeline around which secrets lie."""
    for name, value in (("shop", STORED), ("earlier", EARLIER)):
        assert admin.put(f"/api/v1/secrets/{name}", {"value": value, **BOUND}, format="json").status_code == 201
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", IN_ENVIRONMENT)
    monkeypatch.setenv("SHOP_PLACE", ALLOWED)
    changed = {"redis_url": SecretStr(f"redis://:{IN_SETTINGS}@127.0.0.1:1/0"), "env_references": ["SHOP_PLACE"]}
    monkeypatch.setattr(settings, "HEADGATE", settings.HEADGATE.model_copy(update=changed))
    pipeline: Pipeline = PipelineFactory.create(name="orders", host=HostFactory.create(name="alpha", responding=True))
    refer(pipeline, "shop")
    run = RunFactory.create(
        pipeline=pipeline,
        number=7,
        run_dir=str(settings.HEADGATE.state / "runs" / "orders" / "attacked"),
        secret_versions={"earlier": 1},
        exit_reason=f"postgres://shop:{IN_URL}@db/shop refused {STORED}",
    )
    Path(run.run_dir, "stacks").mkdir(parents=True, exist_ok=True)
    Path(run.run_dir, "agent.log").write_text(LOG)
    DeadLetterFactory.create(run=run, body=IN_BODY.encode())
    EventFactory.create(pipeline=pipeline, message=f"password={IN_LOG} {STORED}")
    OperationFactory.create(pipeline=pipeline, message=f"Authorization: Basic {HEADER}")
    return pipeline


def inside(client: APIClient, address: str) -> str:
    """Names and contents of all files of a bundle."""
    response = client.get(f"/api/v1/{address}")
    assert response.status_code == 200
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert archive.testzip() is None
        return "\n".join(name + archive.read(name).decode() for name in archive.namelist())


@pytest.mark.parametrize("address", ["pipelines/orders/diagnostics", "diagnostics"])
def test_no_secret_is_in_a_bundle_wherever_it_was_planted(orders: Pipeline, admin: APIClient, address: str) -> None:
    text = inside(admin, address)
    assert [canary for canary in CANARIES if canary in text] == []
    assert "[redacted]" in text


def test_the_texts_around_them_are_kept(orders: Pipeline, admin: APIClient) -> None:
    text = inside(admin, "pipelines/orders/diagnostics")
    assert "Traceback (most recent call last):" in text
    assert "${secret:shop}" in text
    assert "@db/shop refused" in text


def test_the_planted_secrets_are_where_the_bundle_reads(orders: Pipeline, admin: APIClient) -> None:
    run = orders.runs.get()
    log = admin.get(f"/api/v1/runs/{run.pk}/log").json()["text"]
    assert [canary for canary in CANARIES if canary not in log] == [IN_BODY]
    assert STORED in str(Event.objects.filter(pipeline=orders).values_list("message", flat=True))


def test_without_the_keys_of_the_store_the_manifest_says_what_it_could_not_search_for(
    orders: Pipeline, admin: APIClient, key_file: Path
) -> None:
    key_file.unlink()
    assert "The secret store is unavailable" in inside(admin, "pipelines/orders/diagnostics")
