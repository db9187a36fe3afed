"""The text of a definition is kept beside each revision: through the API, change requests, migrations and the CLI."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.definitions.document.source_text import text_digest
from pipelines.domain.definitions.document.spec import Definition
from pipelines.foundation.errors import Invalid
from pipelines.models import AuditRow, Event, Pipeline, Revision
from pipelines.services.base import host_tasks
from pipelines.services.base.audit import Actor
from pipelines.services.definitions.definitions import add_revision
from tests.attacks.test_governance import client_of, two_approve
from tests.db.conftest import CommandLine
from tests.factories import HostFactory, RunFactory, definition_data

pytestmark = pytest.mark.django_db
LIST = "/api/v1/pipelines"
ORDERS = f"{LIST}/orders"
REVISIONS = f"{ORDERS}/revisions"


def written(**changes: Any) -> str:
    """A definition as its author would write it: comments, an order and quotes of its own."""
    data = yaml.safe_dump(definition_data("orders", **changes), sort_keys=True, default_flow_style=None)
    return f"# Orders of the shop.\n{data}# Ask payments before you change the topic.\n"


FIRST, SECOND = written(), written(description="with returns")


def post(client: APIClient, path: str, body: Any) -> Any:
    return client.post(path, body, format="json")


@pytest.fixture
def orders(operator: APIClient) -> APIClient:
    """An operator, and a pipeline of theirs whose first revision was written by hand."""
    assert operator.post(LIST, FIRST, content_type="application/yaml").status_code == 201
    return operator


def test_text_comes_back_as_it_was_sent_and_of_each_revision_its_own(orders: APIClient) -> None:
    published = post(orders, REVISIONS, {"definition": SECOND, "note": "returns"})
    assert (published.status_code, published.json()["definition_yaml"]) == (201, SECOND)
    shown = orders.get(ORDERS).json()
    assert (shown["definition_yaml"], shown["as_written"]) == (SECOND, True)
    older = orders.get(f"{REVISIONS}/1").json()
    assert (older["definition_yaml"], older["as_written"]) == (FIRST, True)
    again = post(orders, REVISIONS, {"definition": older["definition_yaml"], "note": "back to revision 1"})
    assert (again.status_code, again.json()["number"], again.json()["definition_yaml"]) == (201, 3, FIRST)


def test_a_definition_sent_as_an_object_is_rendered_without_defaults(operator: APIClient) -> None:
    assert post(operator, LIST, {"definition": definition_data("orders")}).status_code == 201
    shown = operator.get(ORDERS).json()
    assert shown["as_written"] is False
    assert yaml.safe_load(shown["definition_yaml"]) == definition_data("orders")
    assert post(operator, REVISIONS, {"definition": shown["definition_yaml"]}).status_code == 200


def test_comments_alone_are_kept_while_the_pipeline_runs(orders: APIClient) -> None:
    Pipeline.objects.update(phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    before = orders.get(ORDERS).json()
    reworded = FIRST.replace("Ask payments", "Ask billing")
    answer = post(orders, REVISIONS, {"definition": reworded})
    assert (answer.status_code, answer.json()["number"], answer.json()["definition_yaml"]) == (200, 1, reworded)
    assert orders.get(ORDERS).json()["definition_yaml"] == reworded
    row = AuditRow.objects.get(action="revision.reword")
    assert [row.before["text_digest"], row.after["text_digest"]] == [text_digest(FIRST), text_digest(reworded)]  # type: ignore[index]
    assert row.before["digest"] == row.after["digest"]  # type: ignore[index]
    assert Event.objects.get(kind="revision.reworded").data["revision"] == 1
    stale = orders.post(REVISIONS, {"definition": FIRST}, format="json", headers={"If-Match": before["etag"]})
    assert stale.status_code == 412
    assert Revision.objects.get().source_text == reworded


def test_the_same_definition_without_text_leaves_the_text(orders: APIClient) -> None:
    same = orders.get(ORDERS).json()["definition"]
    assert post(orders, REVISIONS, {"definition": same}).status_code == 200
    assert orders.get(ORDERS).json()["definition_yaml"] == FIRST
    assert not AuditRow.objects.filter(action="revision.reword").exists()


def test_the_audit_has_the_digest_of_the_text(orders: APIClient) -> None:
    assert AuditRow.objects.get(action="pipeline.create").after["text_digest"] == text_digest(FIRST)  # type: ignore[index]
    post(orders, REVISIONS, {"definition": SECOND})
    assert AuditRow.objects.get(action="revision.create").after["text_digest"] == text_digest(SECOND)  # type: ignore[index]


def test_a_credential_in_a_comment_is_refused_at_its_line(orders: APIClient) -> None:
    answer = post(orders, REVISIONS, {"definition": f"# sasl.password: hunter2\n{SECOND}"})
    assert answer.status_code == 422
    assert [(each["code"], each["line"]) for each in answer.json()["findings"]] == [("secret_in_comment", 1)]
    assert Revision.objects.count() == 1


def test_a_text_of_another_definition_is_refused(orders: APIClient) -> None:
    definition = Definition.model_validate(definition_data("orders", description="one"))
    with pytest.raises(Invalid) as refused:
        add_revision(pipeline=Pipeline.objects.get(), definition=definition, text=SECOND, note="", actor=Actor("ana"))
    assert [each.code for each in refused.value.findings] == ["text_differs"]
    assert Revision.objects.count() == 1


def test_a_change_request_publishes_the_text_that_was_approved(orders: APIClient) -> None:
    two_approve()
    ana = client_of("ana")
    made = post(
        ana,
        f"{ORDERS}/change-requests",
        {"kind": "publish", "arguments": {"definition": SECOND}, "reason": "returns"},
    ).json()
    for name in ("ben", "cleo"):
        post(client_of(name), f"{ORDERS}/change-requests/{made['id']}/approve", {"hash": made["hash"]})
    assert post(ana, f"{ORDERS}/change-requests/{made['id']}/apply", {}).status_code == 200
    assert orders.get(ORDERS).json()["definition_yaml"] == SECOND


@pytest.fixture
def running(orders: APIClient, monkeypatch: pytest.MonkeyPatch) -> APIClient:
    """It runs on alpha, where its definition pins it; there is a host beta."""
    monkeypatch.setattr(host_tasks, "QUEUED", 0)
    HostFactory.create(responding=True)
    HostFactory.create(name="beta", responding=True)
    pinned = f"{FIRST}placement:\n  host: alpha  # beside the broker\n"
    assert post(orders, REVISIONS, {"definition": pinned}).status_code == 201
    Pipeline.objects.update(phase=Phase.RUNNING, desired_state=DesiredState.RUNNING, host="alpha")
    pipeline = Pipeline.objects.get()
    RunFactory.create(pipeline=pipeline, revision=pipeline.current_revision)
    return orders


def migrated(client: APIClient, kind: str, spec: dict[str, Any]) -> Revision:
    """The revision of a migration that was approved and started."""
    body = {"pipeline": "orders", "kind": kind, "spec": spec, "reason": "a test"}
    answer = post(client, "/api/v1/migrations", body)
    assert answer.status_code == 201, answer.json()
    made = answer.json()
    for action in ("approve", "advance"):
        answer = post(client, f"/api/v1/migrations/{made['id']}/{action}", {"hash": made["plan_hash"]})
        assert answer.status_code < 300, answer.json()
    return Revision.objects.order_by("-number")[0]


def test_a_migration_to_a_new_definition_keeps_its_text(running: APIClient) -> None:
    text = written(placement={"host": "alpha"}, description="migrated")
    found = migrated(running, "revision", {"definition": text})
    assert (found.number, found.source_text) == (3, text)
    assert running.get(f"{REVISIONS}/3").json()["definition_yaml"] == text


def test_a_migration_to_another_host_changes_the_host_in_the_text(running: APIClient) -> None:
    found = migrated(running, "host", {"host": "beta"})
    assert found.definition["placement"]["host"] == "beta"
    assert '"beta"  # beside the broker' in found.source_text
    assert found.source_text.startswith("# Orders of the shop.\n")


@pytest.mark.django_db(transaction=True)
def test_the_command_line_keeps_comments_both_ways(command_line: CommandLine) -> None:
    run = command_line("eva", Role.OPERATOR)
    assert run("apply", "-f", "-", text=FIRST).stdout == "orders: created\n"
    assert run("show", "orders", "--definition").stdout == FIRST
    assert run("show", "orders", "--definition", "-o", "yaml").stdout == FIRST
    assert run("apply", "-f", "-", text=SECOND).stdout == "orders: revision 2\n"
    reworded = f"{SECOND}# once more\n"
    words = "orders: text of revision 2 changed; the definition is the same\n"
    assert run("apply", "-f", "-", text=reworded).stdout == words
    assert run("apply", "-f", "-", text=reworded).stdout == "orders: unchanged (revision 2)\n"
    assert run("show", "orders", "--definition").stdout == reworded
    assert run("show", "orders", "--definition", "--revision", "1").stdout == FIRST
    whole = run("show", "orders", "--definition", "--defaults").stdout
    assert "drain_timeout" in whole
    assert "#" not in whole
    assert run("apply", "-f", "-", text=run("show", "orders", "--definition", "-o", "json").stdout).exit_code == 0
    assert run("show", "orders", "--revision", "1").exit_code == 2
