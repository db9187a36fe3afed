"""The secret store: services, API and roles. The canary is looked for in every answer, row and event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core import serializers
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from controlplane.environment import Environment
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.diff import diff
from pipelines.foundation.keyring import Keyring
from pipelines.models import AuditRow, Event, IdempotencyKey, Pipeline, Secret
from tests.factories import PipelineFactory, definition_data
from workers.adapters.secrets import StoredSecrets
from workers.ports import SecretValue, Unreadable

pytestmark = pytest.mark.django_db
CANARY = "canary-1f0b9c"
SECRETS = "/api/v1/secrets"
BOUND = {"pipelines": ["*"], "destinations": ["broker:9092"]}


def refer(pipeline: Pipeline, *names: str) -> None:
    """Let the pipeline's current definition refer to secrets."""
    assert pipeline.current_revision is not None
    keys = ("sasl.password", "ssl.key.password")
    options = {key: "${secret:" + name + "}" for key, name in zip(keys, names, strict=False)}
    pipeline.current_revision.definition["sources"]["shop"]["options"] = options
    pipeline.current_revision.save()


def put(client: APIClient, name: str, value: str = CANARY) -> Any:
    return client.put(f"{SECRETS}/{name}", {"value": value, **BOUND}, format="json")


def everything_stored() -> str:
    rows = [row for model in (Secret, AuditRow, Event, IdempotencyKey, Pipeline) for row in model.objects.all()]
    return str(serializers.serialize("json", rows))


def test_a_value_goes_in_and_never_comes_out(key_file: Path, admin: APIClient, operator: APIClient) -> None:
    created = put(admin, "kafka/shop.password")
    assert (created.status_code, created.json()["version"], created.json()["used_by"]) == (201, 1, [])
    replaced = put(admin, "kafka/shop.password", CANARY + "-2")
    assert (replaced.status_code, replaced.json()["version"], replaced.json()["updated_by"]) == (200, 2, "admin")
    listed = operator.get(SECRETS)
    assert [(s["name"], s["version"], s["readable"]) for s in listed.json()["results"]] == [
        ("kafka/shop.password", 2, True)
    ]
    assert [row.action for row in AuditRow.objects.order_by("id")] == ["secret.created", "secret.replaced"]
    assert Event.objects.filter(kind="secret.replaced", actor="admin").exists()
    for text in (created.content, replaced.content, listed.content, everything_stored().encode()):
        assert CANARY.encode() not in text
    assert admin.get(f"{SECRETS}/kafka/shop.password").status_code == 405


@pytest.mark.parametrize(
    "body", [{}, {"value": ""}, {"value": 7}, {"value": ["canary"]}, {"value": "canary\0"}, {"value": "canary", "x": 1}]
)
def test_what_cannot_be_a_value_is_refused_without_showing_it(key_file: Path, admin: APIClient, body: Any) -> None:
    answer = admin.put(f"{SECRETS}/shop", body, format="json")
    assert answer.status_code == 422
    assert answer.json()["findings"]
    assert b"canary" not in answer.content
    assert not Secret.objects.exists()


def test_half_a_character_is_refused(key_file: Path, admin: APIClient) -> None:
    answer = admin.put(f"{SECRETS}/shop", '{"value": "canary \\ud800"}', content_type="application/json")
    assert (answer.status_code, b"canary" in answer.content) == (422, False)


def test_roles(key_file: Path, admin: APIClient, operator: APIClient, viewer: APIClient) -> None:
    assert viewer.get(SECRETS).status_code == 403
    assert operator.get(SECRETS).status_code == 200
    assert put(operator, "shop").status_code == 403
    assert operator.post(f"{SECRETS}/rotate", {}, format="json").status_code == 403
    put(admin, "shop")
    assert operator.delete(f"{SECRETS}/shop").status_code == 403
    assert Secret.objects.count() == 1


def test_a_closed_store_says_what_to_do_and_all_else_works(admin: APIClient, settings: Any, tmp_path: Path) -> None:
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"secret_key_file": tmp_path / "none"})
    for answer in (put(admin, "shop"), admin.post(f"{SECRETS}/rotate", {}, format="json")):
        assert (answer.status_code, answer.json()["code"]) == (409, "secret_store_closed")
        assert "add-secret-key" in answer.json()["hint"]
    assert admin.get(SECRETS).json() == {"results": [], "next": None}
    Secret.objects.create(name="shop", ciphertext="x", created_at="2026-01-01T00:00Z", updated_at="2026-01-01T00:00Z")
    assert admin.get(SECRETS).json()["results"][0]["readable"] is None
    assert admin.delete(f"{SECRETS}/shop").status_code == 204


def test_a_key_file_that_others_may_read_closes_the_store(key_file: Path, admin: APIClient) -> None:
    key_file.chmod(0o644)
    answer = put(admin, "shop")
    assert answer.json()["code"] == "secret_store_closed"
    assert "chmod 600" in answer.json()["hint"]


def test_the_list_names_the_pipelines_in_a_fixed_number_of_queries(
    key_file: Path, operator: APIClient, admin: APIClient
) -> None:
    for number in range(3):
        put(admin, f"s{number}")
    refer(PipelineFactory.create(name="orders"), "s0", "s1")
    refer(PipelineFactory.create(name="clicks"), "s0")
    PipelineFactory.create(name="plain")
    with CaptureQueriesContext(connection) as few:
        results = operator.get(SECRETS).json()["results"]
    assert [secret["used_by"] for secret in results] == [["clicks", "orders"], ["orders"], []]
    for number in range(10):
        put(admin, f"t{number}")
        refer(PipelineFactory.create(), f"t{number}")
    with CaptureQueriesContext(connection) as many:
        assert len(operator.get(SECRETS).json()["results"]) == 13
    assert len(many) == len(few)


def test_the_list_has_pages(key_file: Path, admin: APIClient) -> None:
    for number in range(3):
        put(admin, f"s{number}")
    first = admin.get(SECRETS, {"limit": 2}).json()
    second = admin.get(SECRETS, {"limit": 2, "cursor": first["next"]}).json()
    assert [s["name"] for s in [*first["results"], *second["results"]]] == ["s0", "s1", "s2"]


def test_a_secret_in_use_is_deleted_only_by_force(key_file: Path, admin: APIClient) -> None:
    put(admin, "shop")
    refer(PipelineFactory.create(name="orders"), "shop")
    refused = admin.delete(f"{SECRETS}/shop")
    assert (refused.status_code, refused.json()["code"]) == (409, "secret_in_use")
    assert refused.json()["used_by"] == ["orders"]
    assert "orders" in refused.json()["detail"]
    assert "every later start is refused" in refused.json()["hint"]
    assert admin.delete(f"{SECRETS}/shop?force=true").status_code == 204
    assert not Secret.objects.exists()
    row = AuditRow.objects.get(action="secret.deleted")
    assert row.after == {"secret": "shop", "purpose": "pipelines", "used_by": ["orders"], "receivers": []}
    assert admin.delete(f"{SECRETS}/shop").status_code == 404


def test_an_older_revision_or_a_deleted_pipeline_uses_nothing(key_file: Path, admin: APIClient) -> None:
    put(admin, "shop")
    pipeline = PipelineFactory.create(name="orders")
    refer(pipeline, "shop")
    admin.delete("/api/v1/pipelines/orders")
    assert admin.get(SECRETS).json()["results"][0]["used_by"] == []


def test_keys_are_exchanged_without_a_moment_in_which_nothing_is_readable(key_file: Path, admin: APIClient) -> None:
    put(admin, "shop")
    put(admin, "lake", "other")
    old = key_file.read_text()
    call_command("add_secret_key", file=key_file)
    new = key_file.read_text().splitlines()[0]
    assert all(secret["readable"] for secret in admin.get(SECRETS).json()["results"])
    assert admin.post(f"{SECRETS}/rotate", {}, format="json").json() == {"rotated": 2, "unreadable": []}
    key_file.write_text(new)
    listed = admin.get(SECRETS).json()["results"]
    assert [(s["readable"], s["version"]) for s in listed] == [(True, 1), (True, 1)]
    assert Keyring([new]).decrypt(Secret.objects.get(name="shop").ciphertext) == CANARY
    key_file.write_text(old)
    assert not any(secret["readable"] for secret in admin.get(SECRETS).json()["results"])


def test_what_a_lost_key_encrypted_is_named_and_the_rest_is_rotated(key_file: Path, admin: APIClient) -> None:
    put(admin, "lost")
    key_file.write_text(Fernet.generate_key().decode())
    put(admin, "kept")
    before = Secret.objects.get(name="lost").ciphertext
    done = admin.post(f"{SECRETS}/rotate", {}, format="json")
    assert done.json() == {"rotated": 1, "unreadable": ["lost"]}
    assert Secret.objects.get(name="lost").ciphertext == before
    assert [s["readable"] for s in admin.get(SECRETS).json()["results"]] == [True, False]
    assert (put(admin, "lost").status_code, put(admin, "lost").json()["readable"]) == (200, True)


def test_a_host_reads_all_names_in_one_query_and_says_why_it_cannot(key_file: Path, admin: APIClient) -> None:
    put(admin, "lost")
    key_file.write_text(Fernet.generate_key().decode())
    put(admin, "a")
    put(admin, "b", "other")
    store = StoredSecrets(Environment(secret_key_file=key_file).keyring)
    with CaptureQueriesContext(connection) as queries:
        found = store.read({"a", "b", "lost", "missing"})
    assert len(queries) == 1
    texts = [each.text for each in (found["a"], found["b"]) if isinstance(each, SecretValue)]
    assert texts == [CANARY, "other"]
    lost, missing = found["lost"], found["missing"]
    assert isinstance(lost, Unreadable)
    assert isinstance(missing, Unreadable)
    assert "no key of this host decrypts the secret lost" in lost.reason
    assert missing.hint == "Store it: `headgate secrets set missing --pipeline NAME --destination HOST:PORT`."
    key_file.unlink()
    closed = store.read({"a"})["a"]
    assert isinstance(closed, Unreadable)
    assert "unavailable" in closed.reason


def test_validation_and_differences_show_references_as_they_are() -> None:
    def shop(name: str) -> Any:
        data = definition_data()
        data["sources"]["shop"]["options"] = {"sasl.password": "${secret:" + name + "}"}
        validation = validate_data(data)
        assert validation.definition is not None
        return validation.definition

    (change,) = diff(shop("old"), shop("new"))
    assert (change.old, change.new) == ("${secret:old}", "${secret:new}")
    assert "${secret:old}" in json.dumps(shop("old").plain())


def test_a_key_is_not_made_where_the_environment_holds_the_keys(settings: Any, tmp_path: Path) -> None:
    keys = Environment(secret_keys=Fernet.generate_key().decode())
    settings.HEADGATE = keys
    with pytest.raises(CommandError, match="HEADGATE_SECRET_KEYS"):
        call_command("add_secret_key", file=keys.key_file)
