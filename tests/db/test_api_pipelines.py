"""Pipelines through the API."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
import yaml
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, MigrationKind, MigrationStage, OperationState, Phase
from pipelines.domain.definitions.checks.validate import validate_text
from pipelines.domain.definitions.document.spec import Definition
from pipelines.models import (
    AuditRow,
    Delivery,
    Evacuation,
    Event,
    IdempotencyKey,
    Migration,
    MigrationApproval,
    Operation,
    Pipeline,
    Receiver,
    Revision,
    Run,
    RunNumber,
)
from pipelines.selectors.runs.runs import next_number
from pipelines.services.base.audit import Actor
from pipelines.services.hosts import evacuations
from pipelines.services.migration import migrations, steps
from tests.factories import (
    HostFactory,
    LedgerBatchFactory,
    OperationFactory,
    PipelineFactory,
    PositionFactory,
    RunFactory,
    UserFactory,
    definition_data,
    now,
)
from tests.settings import BASE_DIR

pytestmark = pytest.mark.django_db
LIST = "/api/v1/pipelines"


def create(client: APIClient, name: str = "orders", **headers: str) -> Any:
    return client.post(LIST, {"definition": definition_data(name)}, format="json", headers=headers)


def test_a_definition_becomes_a_stopped_pipeline_with_revision_1(operator: APIClient) -> None:
    response = create(operator)

    assert response.status_code == 201, response.content
    body = response.json()
    assert response.headers["Location"] == "/api/v1/pipelines/orders"
    assert response.headers["ETag"] == body["etag"]
    assert (body["phase"], body["desired_state"], body["revision"]) == ("STOPPED", "STOPPED", 1)
    assert body["definition"]["sources"]["shop"]["topics"] == ["orders-in"]
    assert validate_text(body["definition_yaml"]).definition == Definition.model_validate(body["definition"])
    assert Event.objects.get().kind == "pipeline.created"
    assert AuditRow.objects.get().action == "pipeline.create"


@pytest.mark.parametrize("text", [yaml.safe_dump(definition_data()), json.dumps(definition_data())])
def test_a_definition_may_be_text_in_json_or_the_body_itself(operator: APIClient, text: str) -> None:
    inside = operator.post("/api/v1/pipelines/validate", {"definition": text}, format="json")
    whole = operator.post("/api/v1/pipelines/validate", text, content_type="application/yaml")

    assert inside.json()["valid"]
    assert inside.json()["digest"] == whole.json()["digest"]
    assert not Pipeline.objects.exists()


def test_a_wrong_definition_is_refused_with_every_finding(operator: APIClient) -> None:
    wrong = definition_data(delivery={"trigger_interval_ms": -1}, labells={})
    response = operator.post(LIST, {"definition": wrong}, format="json")

    assert response.status_code == 422
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"] == "urn:headgate:problem:definition_invalid"
    assert {"delivery.trigger_interval_ms", "labells"} <= {finding["path"] for finding in problem["findings"]}
    assert not Pipeline.objects.exists()


def test_a_taken_name_is_a_conflict_that_names_the_way_out(operator: APIClient) -> None:
    create(operator)
    response = create(operator)

    assert response.status_code == 409
    assert response.json()["code"] == "name_taken"
    assert "/orders/revisions" in response.json()["hint"]


@pytest.mark.parametrize("number", [1, 50])
def test_a_list_costs_the_same_number_of_queries_however_long(
    viewer: APIClient, django_assert_num_queries: DjangoAssertNumQueries, number: int
) -> None:
    for each in range(number):
        pipeline = PipelineFactory.create(name=f"p{each:02}", phase=Phase.RUNNING)
        RunFactory.create(pipeline=pipeline, observed={"at": 1.0, "queries": [], "components": [], "live": {}})
        OperationFactory.create(pipeline=pipeline)

    with django_assert_num_queries(4):  # role, pipelines, hosts, read-only mode
        body = viewer.get(LIST).json()

    assert len(body["results"]) == number
    assert body["results"][0]["operation"]["kind"] == "start"


def test_pages_follow_each_other_without_gap_or_repetition(viewer: APIClient) -> None:
    made = {"a-c", "ab", "a1", "a", "a-1", "b0", "b-z"}  # collations differ in where a hyphen stands
    for each in made:
        PipelineFactory.create(name=each)
    names: list[str] = []
    following: str | None = LIST + "?limit=2"
    while following:
        body = viewer.get(following).json()
        names += [pipeline["name"] for pipeline in body["results"]]
        following = f"{LIST}?limit=2&cursor={body['next']}" if body["next"] else None

    assert (len(names), set(names)) == (7, made)
    assert names == [pipeline["name"] for pipeline in viewer.get(LIST).json()["results"]]


def test_a_foreign_cursor_is_refused(viewer: APIClient) -> None:
    for each in range(3):
        RunFactory.create(pipeline__name=f"p{each}")
    cursor = viewer.get(LIST, {"limit": 1}).json()["next"]

    assert viewer.get("/api/v1/events", {"cursor": cursor}).json()["code"] == "cursor_invalid"
    assert viewer.get(LIST, {"cursor": "x" + cursor}).status_code == 400
    assert viewer.get(LIST, {"limit": 1001}).json()["findings"][0]["path"] == "limit"


def test_a_list_is_filtered_by_phase_label_and_words(viewer: APIClient) -> None:
    PipelineFactory.create(name="a", labels={"team": "payments"}, phase=Phase.RUNNING)
    PipelineFactory.create(name="b", labels={"team": "search"}, description="Orders of the shop")

    def names(**query: str) -> list[str]:
        return [each["name"] for each in viewer.get(LIST, query).json()["results"]]

    assert names(phase="RUNNING") == ["a"]
    assert names(label="team:search") == ["b"]
    assert names(label="team") == ["a", "b"]
    assert names(label="team__contains:x") == []
    assert names(q="ORDERS") == ["b"]


def test_details_change_only_with_the_etag_that_was_read(operator: APIClient) -> None:
    create(operator)
    tag = operator.get(f"{LIST}/orders").headers["ETag"]

    def patch(**headers: str) -> Any:
        return operator.patch(f"{LIST}/orders", {"description": "New"}, format="json", headers=headers)

    assert patch().status_code == 428
    assert patch(**{"If-Match": '"77"'}).status_code == 412
    assert patch(**{"If-Match": "nonsense"}).status_code == 412
    changed = patch(**{"If-Match": tag})
    assert (changed.status_code, changed.json()["description"]) == (200, "New")
    assert patch(**{"If-Match": tag}).json()["code"] == "changed_meanwhile"
    assert patch(**{"If-Match": "*"}).status_code == 200


def test_a_body_with_several_faults_gets_them_all(operator: APIClient) -> None:
    create(operator)
    wrong = {"description": 5, "label": {}, "labels": {"a b": "x"}}
    problem = operator.patch(f"{LIST}/orders", wrong, format="json", headers={"If-Match": "*"}).json()

    assert problem["code"] == "body_invalid"
    assert {finding["path"].split("[")[0].split(".")[0] for finding in problem["findings"]} == {
        "description",
        "label",
        "labels",
    }


def test_the_same_idempotency_key_creates_once_and_answers_twice(operator: APIClient) -> None:
    first = create(operator, **{"Idempotency-Key": "k1"})
    again = create(operator, **{"Idempotency-Key": "k1"})
    other = create(operator, name="other", **{"Idempotency-Key": "k1"})

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["Location"] == first.headers["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert Pipeline.objects.count() == 1


def test_what_failed_is_not_kept_under_its_key(operator: APIClient) -> None:
    wrong = {"definition": definition_data(labells={})}
    for _ in range(2):
        response = operator.post(LIST, wrong, format="json", headers={"Idempotency-Key": "k1"})
        assert response.status_code == 422

    assert not IdempotencyKey.objects.exists()
    assert create(operator, **{"Idempotency-Key": "k1"}).status_code == 201


def test_a_key_belongs_to_its_user(operator: APIClient, admin: APIClient) -> None:
    assert create(operator, **{"Idempotency-Key": "k1"}).status_code == 201
    assert create(admin, name="other", **{"Idempotency-Key": "k1"}).status_code == 201


def test_a_revision_is_numbered_and_the_same_definition_again_is_no_new_one(operator: APIClient) -> None:
    create(operator)
    url = f"{LIST}/orders/revisions"
    changed = {"definition": definition_data(description="v2"), "note": "why"}

    assert operator.post(url, {"definition": definition_data()}, format="json").status_code == 200
    second = operator.post(url, changed, format="json")
    assert (second.status_code, second.json()["number"], second.json()["note"]) == (201, 2, "why")
    assert operator.post(url, changed, format="json").status_code == 200
    assert [each["number"] for each in operator.get(url).json()["results"]] == [2, 1]
    assert operator.get(f"{LIST}/orders").json()["description"] == "v2"
    diff = operator.get(f"{url}/2/diff").json()
    assert diff == {
        "from": 1,
        "to": 2,
        "changes": [{"path": "description", "op": "change", "old": "", "new": "v2"}],
    }
    assert operator.get(f"{url}/9").json()["code"] == "revision_not_found"


@pytest.mark.parametrize(
    ("phase", "desired"), [(Phase.RUNNING, DesiredState.RUNNING), (Phase.STOPPED, DesiredState.RUNNING)]
)
def test_no_revision_is_taken_while_it_is_not_stopped(operator: APIClient, phase: Phase, desired: DesiredState) -> None:
    create(operator)
    Pipeline.objects.update(phase=phase, desired_state=desired)
    response = operator.post(
        f"{LIST}/orders/revisions", {"definition": definition_data(description="x")}, format="json"
    )

    assert (response.status_code, response.json()["code"]) == (409, "pipeline_not_stopped")
    assert Revision.objects.count() == 1


def test_a_revision_of_another_name_is_refused(operator: APIClient) -> None:
    create(operator)
    response = operator.post(f"{LIST}/orders/revisions", {"definition": definition_data("other")}, format="json")

    assert response.json()["findings"][0]["code"] == "name_differs"


def test_deleting_keeps_the_books_and_frees_the_name(admin: APIClient, operator: APIClient) -> None:
    create(operator)
    pipeline = Pipeline.objects.get()
    run = RunFactory.create(pipeline=pipeline, host=HostFactory.create(), state="ENDED", number=4)
    LedgerBatchFactory.create(run=run)
    PositionFactory.create(pipeline=pipeline)

    assert operator.delete(f"{LIST}/orders").status_code == 403
    assert admin.delete(f"{LIST}/orders").status_code == 204

    assert admin.get(f"{LIST}/orders").status_code == 404
    assert create(operator).status_code == 201
    archived = admin.get("/api/v1/archived-pipelines").json()["results"]
    assert [(each["name"], each["runs"]) for each in archived] == [("orders", 1)]
    assert pipeline.batches.count() == 1
    assert next_number("orders") == 5


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.PAUSED, Phase.STOPPING, Phase.UNKNOWN, Phase.BACKOFF])
def test_what_is_not_stopped_cannot_be_deleted(admin: APIClient, phase: Phase) -> None:
    PipelineFactory.create(name="orders", phase=phase)
    assert admin.delete(f"{LIST}/orders").json()["code"] == "pipeline_not_stopped"


@pytest.mark.parametrize("phase", [Phase.BLOCKED, Phase.FAILED])
def test_what_was_blocked_or_failed_is_deleted_once_no_process_lives(admin: APIClient, phase: Phase) -> None:
    pipeline = PipelineFactory.create(name="orders", phase=phase, desired_state=DesiredState.RUNNING)
    run = RunFactory.create(pipeline=pipeline)
    assert admin.delete(f"{LIST}/orders").status_code == 409

    Run.objects.filter(id=run.pk).update(state="ENDED")
    assert admin.delete(f"{LIST}/orders").status_code == 204


def test_purging_wants_the_name_typed_and_leaves_only_the_last_run_number(
    admin: APIClient, operator: APIClient
) -> None:
    create(operator)
    pipeline = Pipeline.objects.get()
    LedgerBatchFactory.create(
        run=RunFactory.create(pipeline=pipeline, host=HostFactory.create(), number=4, state="ENDED")
    )
    OperationFactory.create(pipeline=pipeline, state=OperationState.SUCCEEDED)
    admin.delete(f"{LIST}/orders")
    url = f"/api/v1/archived-pipelines/{pipeline.id}"

    assert operator.delete(f"{url}?confirm=orders").status_code == 403
    assert admin.delete(url).json()["code"] == "confirmation_differs"
    assert admin.delete(f"{url}?confirm=orders").status_code == 204

    assert not Pipeline.objects.exists()
    assert not Operation.objects.exists()
    assert RunNumber.objects.get().last == 4
    assert next_number("orders") == 5
    assert admin.delete(f"{url}?confirm=orders").status_code == 404


def abandoned(pipeline: Pipeline, **more: Any) -> Migration:
    """A migration that was begun, and given up before anything had changed."""
    ana = Actor("ana")
    made = migrations.create(
        pipeline=pipeline, kind=MigrationKind.HOST, spec={"host": "beta"}, reason="x", actor=ana, **more
    )
    made = migrations.approve(migration=made, named=made.plan_hash, actor=ana)
    made = migrations.advance(migration=made, named=made.plan_hash, actor=ana)
    made = migrations.abort(migration=made, reason="no", actor=ana)
    steps.conclude(migration=made)
    assert made.stage == MigrationStage.ABORTED
    return made


def test_purging_takes_migrations_along_also_where_one_takes_another_back(admin: APIClient) -> None:
    HostFactory.create(name="beta")
    pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    run = RunFactory.create(pipeline=pipeline)
    evacuated = evacuations.start(host="alpha", at_once=1, go_on=False, reason="x", actor=Actor("ana"))
    abandoned(pipeline, reverts=abandoned(pipeline), evacuation=evacuated)
    times = {"created_at": now(), "created_by": "ana"}
    hook = Receiver.objects.create(url="https://example.test", updated_at=now(), updated_by="ana", **times)
    Delivery.objects.create(receiver=hook, event=Event.objects.filter(pipeline=pipeline)[0], created_at=now())
    Run.objects.filter(pk=run.pk).update(state="ENDED")
    Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    assert admin.delete(f"{LIST}/orders").status_code == 204

    assert admin.delete(f"/api/v1/archived-pipelines/{pipeline.id}?confirm=orders").status_code == 204

    for model in (Migration, MigrationApproval, Delivery, Revision, Run, Pipeline):
        assert not model.objects.exists(), model
    assert not Event.objects.exclude(pipeline=None).exists()
    assert AuditRow.objects.filter(action="migration.advance", pipeline_name="orders").count() == 2
    assert Evacuation.objects.filter(pk=evacuated.pk).exists()


def test_a_pipeline_that_does_not_exist_is_a_problem_in_words(viewer: APIClient) -> None:
    response = viewer.get(f"{LIST}/nothing")

    assert (response.status_code, response.json()["code"]) == (404, "pipeline_not_found")
    assert "nothing" in response.json()["detail"]


def test_unknown_and_invalid_query_parameters_are_refused_all_at_once(viewer: APIClient) -> None:
    response = viewer.get(LIST, {"lable": "team:shop", "phase": "ASLEEP", "page": "2", "q": "x\0", "limit": "0"})

    assert (response.status_code, response.json()["code"]) == (400, "query_invalid")
    findings = {finding["path"]: finding for finding in response.json()["findings"]}
    assert {path: finding["code"] for path, finding in findings.items()} == {
        "lable": "unknown_parameter",
        "phase": "enum",
        "page": "unknown_parameter",
        "q": "nul_character",
        "limit": "greater_than_equal",
    }
    assert findings["lable"]["suggestion"] == 'Did you mean "label"?'


def test_no_address_accepts_a_query_parameter_that_it_does_not_declare(admin: APIClient) -> None:
    description = json.loads((BASE_DIR / "frontend" / "openapi.json").read_text())
    page = APIClient()
    login = {"username": UserFactory.create(role=Role.ADMIN).username, "password": "correct horse battery"}
    assert page.post("/api/v1/session", login, format="json").status_code == 200
    for path, item in description["paths"].items():
        for method in item:
            address = path
            for each in item[method].get("parameters", []):
                number = UUID(int=1) if each["schema"].get("format") == "uuid" else 1
                address = address.replace(f"{{{each['name']}}}", str(number))
            client = page if path.startswith("/api/v1/session/") else admin  # those answer no token
            response = getattr(client, method)(f"{address}?no-such=1", format="json")
            findings = [finding["path"] for finding in response.json()["findings"]]
            assert (response.status_code, findings) == (400, ["no-such"]), (method, path)
    assert admin.get("/api/v1/schema?no-such=1").status_code == 400
    assert admin.get("/api/v1/events?no-such=1", HTTP_ACCEPT="text/event-stream").status_code == 400


def test_an_unknown_method_stays_one_whatever_the_parameters_are(admin: APIClient) -> None:
    assert admin.put(f"{LIST}?no-such=1", {}, format="json").status_code == 405
    assert admin.options(LIST).status_code == 200


def test_the_list_can_be_of_one_host(viewer: APIClient) -> None:
    PipelineFactory.create(name="here", host=HostFactory.create(name="alpha"))
    PipelineFactory.create(name="there", host=HostFactory.create(name="beta"))
    PipelineFactory.create(name="nowhere", host=None)

    def names(host: str) -> list[str]:
        return [found["name"] for found in viewer.get(LIST, {"host": host}).json()["results"]]

    assert (names("alpha"), names("beta"), names("gamma")) == (["here"], ["there"], [])
    assert names("") == ["here", "nowhere", "there"]
