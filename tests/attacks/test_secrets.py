"""An operator reads no secret that its owner has not bound to his pipeline and to where it sends: over the API, at the
launch, by consumer groups, and through what an upgrade makes of stored secrets."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.access.secret_bindings import Purpose, SecretBinding, SecretUser
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import AuditRow, ExternalGroup, Pipeline, Run, Secret
from pipelines.services.access import secrets
from pipelines.services.base.audit import Actor
from pipelines.services.runs import runs
from tests.attacks.test_exposure import definition
from tests.db.test_schema_migrations import at, rows_of
from tests.factories import PipelineFactory, RevisionFactory, RunFactory
from workers.adapters.secrets import StoredSecrets, backends
from workers.ports import SecretValue, Unreadable
from workers.supervisor.background.external_groups import GroupWatch, Unresolved
from workers.supervisor.launch import launch, references
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("key_file")]
ANA = Actor("ana")
VALUE = "canary-7d11e0"
LISTENER = {"type": "http", "url": "https://evil.example/", "token": "${secret:s}"}
GOOD = {"type": "http", "url": "https://good.example/", "token": "${secret:s}"}
BOUND = {"pipelines": ["attack"], "destinations": ["good.example:443"]}
SECRET = "/api/v1/secrets/s"


@pytest.fixture
def stored(admin: APIClient) -> Secret:
    assert admin.put(SECRET, {"value": VALUE, **BOUND}, format="json").status_code == 201
    return Secret.objects.get()


def published(client: APIClient, sink: dict[str, Any]) -> Any:
    return client.post("/api/v1/pipelines", {"definition": definition(sink=sink)}, format="json")


def store(settings: Any, purpose: Purpose = Purpose.PIPELINES) -> StoredSecrets:
    return StoredSecrets(settings.HEADGATE.keyring, purpose)


def launcher(settings: Any, **more: Any) -> Launcher:
    made = References(backends({}, None, store(settings), store(settings, Purpose.CLUSTERS)), **more)
    return Launcher("alpha", Path("/state"), made, lambda: SparkSettings(classpath=[]))


def run_of(sink: dict[str, Any], name: str = "attack") -> Run:
    plain = Definition.model_validate({**definition(sink=sink), "name": name}).plain()
    pipeline = PipelineFactory.create(name=name)
    revision = RevisionFactory.create(pipeline=pipeline, number=7, definition=plain)
    Pipeline.objects.filter(pk=pipeline.pk).update(current_revision=revision)
    run: Run = RunFactory.create(pipeline=pipeline, revision=revision, host__name="alpha")
    return run


def test_a_listener_of_the_operator_gets_no_secret(stored: Secret, operator: APIClient) -> None:
    """On the old code the pipeline was stored, and its agent posted the value."""
    refused = published(operator, LISTENER)
    assert refused.status_code == 422
    (found,) = refused.json()["findings"]
    assert (found["path"], found["code"]) == ("sinks.out.token", "SECRET_NOT_BOUND")
    assert "headgate secrets bind s --destination evil.example:443" in found["suggestion"]
    assert not Pipeline.objects.exists()
    assert published(operator, GOOD).status_code == 201
    checked = operator.post("/api/v1/pipelines/validate", {"definition": definition(sink=LISTENER)}, format="json")
    assert checked.json()["valid"] is False


def test_all_findings_come_at_once(stored: Secret, operator: APIClient) -> None:
    other = {**definition(sink={**LISTENER, "url": "http://evil.example/"}), "name": "other"}
    answer = operator.post("/api/v1/pipelines", {"definition": other}, format="json")
    assert [found["code"] for found in answer.json()["findings"]] == [
        "SECRET_NOT_BOUND",
        "SECRET_NOT_BOUND",
        "SECRET_NOT_ENCRYPTED",
    ]


def test_what_was_published_before_is_checked_again_when_the_value_is_handed_over(
    stored: Secret, settings: Any
) -> None:
    good, bad = run_of(GOOD), run_of(LISTENER, "other")
    _, handover, versions = launcher(settings).launch(good)
    assert handover.values == {"${secret:s}": VALUE}
    assert versions == {"s": 1}
    with pytest.raises(references.Unresolved, match="not bound to other"):
        launcher(settings).launch(bad)
    with pytest.raises(references.Unresolved, match="not bound"):
        launcher(settings).to_inspect(Pipeline.objects.get(name="other"))
    found = launcher(settings).against(bad.pipeline, bad.revision.definition)
    assert [each.code for each in found] == ["SECRET_NOT_BOUND", "SECRET_NOT_BOUND"]
    secrets.bind(name="s", wanted=secrets.Wanted(destinations=["elsewhere.example:443"]), actor=ANA)
    with pytest.raises(references.Unresolved, match=r"not bound to good\.example:443"):
        launcher(settings).launch(good)


def test_a_secret_that_may_not_go_is_not_even_read(stored: Secret, settings: Any) -> None:
    asked: list[str] = []

    class Watched(StoredSecrets):
        def read(self, names: Collection[str]) -> Any:
            asked.extend(names)
            return super().read(names)

    bad = run_of(LISTENER, "other")
    made = References(backends({}, None, Watched(settings.HEADGATE.keyring)))
    resolved = made.resolve(bad.revision.definition, launch.asker(bad.pipeline, bad.revision.definition))
    assert (asked, resolved.values, resolved.handover().masked) == ([], {}, [])


def test_an_address_that_only_the_host_knows_is_checked_there(admin: APIClient, settings: Any) -> None:
    """`${env:}` in the address of a database: nothing shows at the publication, all of it at the launch."""
    admin.put(SECRET, {"value": VALUE, **BOUND}, format="json")
    dsn = "postgresql://u:${secret:s}@${env:DATABASE}/d?sslmode=require"
    run = run_of({"type": "postgres", "dsn": dsn, "table": "t"})
    for host, refused in (
        ("good.example:443", False),
        ("evil.example:443", True),
        ("good.example:443,evil.example", True),
    ):
        made = References(backends({"DATABASE": host}, None, store(settings)))
        found = made.resolve(run.revision.definition, launch.asker(run.pipeline, run.revision.definition))
        assert bool(found.findings) is refused, host
        assert bool(found.values) is not refused


def test_a_consumer_group_of_the_operator_gets_no_secret(stored: Secret, settings: Any) -> None:
    """On the old code the worker logged in at the operator's broker with the value."""
    options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.password": "${secret:s}"}
    group = ExternalGroup(name="g", bootstrap_servers="good.example:443", options=options, interval=60)
    watch = GroupWatch("alpha", None, References(backends({}, None, store(settings))), None)  # type: ignore[arg-type]
    with pytest.raises(Unresolved, match="not bound to consumer-groups/g"):
        watch._cluster(group)
    wanted = secrets.Wanted(pipelines=["consumer-groups/g"])
    secrets.bind(name="s", wanted=wanted, actor=ANA)
    assert watch._cluster(group).options["sasl.password"] == VALUE
    group.bootstrap_servers = "evil.example:443"
    with pytest.raises(Unresolved, match=r"not bound to evil\.example:443"):
        watch._cluster(group)


@pytest.mark.parametrize("purpose", [Purpose.RECEIVERS, Purpose.CLUSTERS])
def test_a_secret_of_another_purpose_does_not_exist_for_pipelines(
    purpose: Purpose, admin: APIClient, settings: Any
) -> None:
    """On the old code a pipeline could name the secret that signs webhooks, or that of a Spark cluster."""
    admin.put(SECRET, {"value": VALUE, "purpose": purpose}, format="json")
    for stores in ({Purpose.PIPELINES}, {Purpose.PIPELINES, Purpose.RECEIVERS, Purpose.CLUSTERS} - {purpose}):
        for each in stores:
            assert isinstance(store(settings, each).read({"s"})["s"], Unreadable)
    with pytest.raises(references.Unresolved, match="no secret s"):
        launcher(settings).launch(run_of(GOOD))


def test_a_secret_of_pipelines_does_not_exist_for_receivers_and_clusters(stored: Secret, settings: Any) -> None:
    for purpose in (Purpose.RECEIVERS, Purpose.CLUSTERS):
        assert isinstance(store(settings, purpose).read({"s"})["s"], Unreadable)


def test_one_name_is_three_secrets(admin: APIClient, settings: Any) -> None:
    for purpose in Purpose:
        body = {"value": f"{VALUE}-{purpose}", "purpose": purpose, **(BOUND if purpose == "pipelines" else {})}
        assert admin.put(SECRET, body, format="json").status_code == 201
    assert [store(settings, each).read({"s"})["s"] for each in Purpose] == [
        SecretValue(f"{VALUE}-{each}", 1, Secret.objects.get(purpose=each).updated_at) for each in Purpose
    ]
    assert len(admin.get("/api/v1/secrets").json()["results"]) == 3
    assert admin.delete(f"{SECRET}?purpose=receivers").status_code == 204
    assert sorted(Secret.objects.values_list("purpose", flat=True)) == ["clusters", "pipelines"]


@pytest.mark.parametrize(
    "binding",
    [
        {},
        {"pipelines": ["attack"]},
        {"destinations": ["good.example:443"]},
        {"pipelines": [], "destinations": []},
        {"pipelines": ["attack"], "destinations": ["*:443"]},
        {"pipelines": ["attack"], "destinations": ["good.example"]},
    ],
)
def test_a_new_secret_says_where_it_goes_or_is_refused(binding: dict[str, Any], admin: APIClient) -> None:
    refused = admin.put(SECRET, {"value": VALUE, **binding}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "secret_invalid")
    assert "--destination" in refused.json()["hint"]
    assert refused.json()["findings"]
    assert VALUE not in refused.content.decode()
    assert not Secret.objects.exists()


def test_bindings_are_changed_by_administrators_and_each_change_is_in_the_audit(
    stored: Secret, admin: APIClient, operator: APIClient
) -> None:
    wider = {"destinations": ["good.example:443", "evil.example:443"]}
    assert operator.patch(SECRET, wider, format="json").status_code == 403
    assert operator.put(SECRET, {"value": "x", **BOUND}, format="json").status_code == 403
    changed = admin.patch(SECRET, wider, format="json").json()
    assert (changed["pipelines"], changed["destinations"]) == (["attack"], wider["destinations"])
    row = AuditRow.objects.get(action="secret.bound")
    assert row.before == {"secret": "s", "purpose": "pipelines", **BOUND}
    assert row.after == {"secret": "s", "purpose": "pipelines", **BOUND, **wider}
    assert admin.patch(SECRET, {"pipelines": []}, format="json").status_code == 422
    assert admin.patch("/api/v1/secrets/none", wider, format="json").status_code == 404
    kept = admin.put(SECRET, {"value": "new"}, format="json").json()
    assert (kept["version"], kept["destinations"]) == (2, wider["destinations"])


def test_who_uses_a_secret_is_in_the_audit_with_each_change(stored: Secret, operator: APIClient) -> None:
    published(operator, GOOD)
    row = AuditRow.objects.get(action="secret.used_by")
    assert (row.pipeline_name, row.before, row.after) == (
        "attack",
        {"secrets": {}},
        {"secrets": {"s": ["sinks.out.token"]}},
    )
    body = {"definition": definition()}
    assert operator.post("/api/v1/pipelines/attack/revisions", body, format="json").status_code == 201
    row = AuditRow.objects.filter(action="secret.used_by").latest("id")
    assert (row.before, row.after) == ({"secrets": {"s": ["sinks.out.token"]}}, {"secrets": {}})
    body = {"definition": {**definition(), "description": "other"}}
    operator.post("/api/v1/pipelines/attack/revisions", body, format="json")
    assert AuditRow.objects.filter(action="secret.used_by").count() == 2


def test_the_list_shows_the_last_use_and_who_runs_with_an_older_version(
    stored: Secret, admin: APIClient, settings: Any
) -> None:
    run = run_of(GOOD)
    (listed,) = admin.get("/api/v1/secrets").json()["results"]
    assert (listed["last_used_at"], listed["outdated"]) == (None, [])
    *_, versions = launcher(settings).launch(run)
    runs.record_secrets(run=run, versions=versions)
    admin.put(SECRET, {"value": "new"}, format="json")
    (listed,) = admin.get("/api/v1/secrets").json()["results"]
    assert (listed["last_used_by"], listed["outdated"]) == (f"attack/{run.number}", ["attack"])
    assert listed["last_used_at"]
    status = admin.get("/api/v1/pipelines/attack/status").json()
    assert status["outdated_secrets"] == [{"name": "s", "running": 1, "current": 2}]
    assert VALUE not in json.dumps(listed)


LABELLED = {"pipelines": ["label:team=payments"], "destinations": ["good.example:443"]}


def test_labels_bind_the_secrets_of_a_team(admin: APIClient, settings: Any) -> None:
    run = run_of(GOOD)
    body = {"value": VALUE, "team": run.pipeline.team.name, **LABELLED}
    assert admin.put(SECRET, body, format="json").status_code == 201
    with pytest.raises(references.Unresolved, match="not bound to attack"):
        launcher(settings).launch(run)
    Pipeline.objects.update(labels={"team": "payments"})
    run = Run.objects.get()
    assert launcher(settings).launch(run)[1].values


def test_a_label_binds_no_secret_of_the_installation_anew(admin: APIClient, operator: APIClient) -> None:
    """Operators of every team label their pipelines. On the old code each of them had the secret by that."""
    refused = admin.put(SECRET, {"value": VALUE, **LABELLED}, format="json")
    assert refused.status_code == 422
    assert [(each["path"], each["code"]) for each in refused.json()["findings"]] == [
        ("pipelines[0]", "secret_label_needs_team")
    ]
    admin.put(SECRET, {"value": VALUE, **BOUND}, format="json")
    assert admin.patch(SECRET, {"pipelines": ["attack", *LABELLED["pipelines"]]}, format="json").status_code == 422
    Secret.objects.update(**LABELLED)
    assert admin.put(SECRET, {"value": "new"}, format="json").status_code == 200
    assert admin.patch(SECRET, {"pipelines": ["label:team=payments", "other"]}, format="json").status_code == 200
    labelled = {**definition(sink=GOOD), "labels": {"team": "payments"}}
    checked = operator.post("/api/v1/pipelines/validate", {"definition": labelled}, format="json").json()
    assert (checked["valid"], [(each["code"], each["severity"]) for each in checked["findings"]]) == (
        True,
        [("SECRET_BOUND_BY_LABEL", "warning")],
    )


def test_nothing_else_asks_the_store() -> None:
    """Who resolves references says for whom: there is no other way to a value."""
    with pytest.raises(TypeError):
        References(backends({}, None, None)).resolve({})  # type: ignore[call-arg,arg-type]
    unknown = References(backends({}, None, None), bindings=lambda _: {})  # type: ignore[arg-type]
    asker = references.listener(SecretUser(name="x"), "source/http")
    assert [each.code for each in unknown.resolve({"a": "${secret:s}"}, asker).findings] == ["UNRESOLVED_REFERENCE"]


def test_a_value_in_the_handover_needs_a_binding_of_its_own_name() -> None:
    binding = SecretBinding(pipelines=("x",), destinations=("source/http",))
    asked = References(backends({}, None, None), bindings=lambda _: {"other": binding})  # type: ignore[arg-type]
    asker = references.listener(SecretUser(name="x"), "source/http")
    assert asked.resolve({"a": "${secret:s}"}, asker).values == {}


PLAIN = {"sasl.password": "${secret:plain}"}
WATCHED = {"security.protocol": "SASL_SSL", "sasl.password": "${secret:watched}"}


@pytest.mark.django_db(transaction=True)
def test_an_upgrade_binds_each_secret_to_what_uses_it_so_that_nothing_stops(settings: Any) -> None:
    stamps = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    for apps in at(("pipelines", "0039_agents_users")):
        for name in ("http", "plain", "dsn", "both", "watched", "spark", "idle"):
            value = settings.HEADGATE.keyring().encrypt(VALUE if name != "dsn" else "postgresql://u:p@db.example/d")
            rows_of(apps, "Secret").create(name=name, ciphertext=value, **stamps)
        kafka = {"type": "kafka", "bootstrap_servers": "b1:9092,b2:9092", "topic": "t", "options": PLAIN}
        for name, sink in (
            ("web", {**GOOD, "token": "${secret:http}"}),
            ("plain", kafka),
            ("base", {"type": "postgres", "dsn": "${secret:dsn}", "table": "t"}),
            ("shared", {**GOOD, "token": "${secret:both}"}),
        ):
            plain = Definition.model_validate({**definition(sink=sink), "name": name}).plain()
            pipeline = rows_of(apps, "Pipeline").create(name=name, phase_since="2026-01-01T00:00:00Z")
            revision = rows_of(apps, "Revision").create(pipeline=pipeline, number=1, digest=name, definition=plain)
            rows_of(apps, "Pipeline").filter(pk=pipeline.pk).update(current_revision=revision)
        rows_of(apps, "Receiver").create(secrets=["${secret:both}"], events=[], **stamps)
        rows_of(apps, "Cluster").create(name="c", spec={"cluster_secret": "${secret:spark}"}, **stamps)
        rows_of(apps, "ExternalGroup").create(name="g", bootstrap_servers="b:1", options=WATCHED)
    found = {
        (row.purpose, row.name): (row.pipelines, row.destinations, row.unencrypted) for row in Secret.objects.all()
    }
    assert found == {
        ("pipelines", "http"): (["web"], ["good.example:443", "sink/http"], []),
        ("pipelines", "plain"): (["plain"], ["b1:9092", "b2:9092", "sink/kafka"], ["b1:9092", "b2:9092"]),
        ("pipelines", "dsn"): (["base"], ["sink/postgres"], ["sink/postgres"]),
        ("pipelines", "both"): (["shared"], ["good.example:443", "sink/http"], []),
        ("receivers", "both"): ([], [], []),
        ("pipelines", "watched"): (["consumer-groups/g"], ["b:1", "monitor/kafka"], []),
        ("clusters", "spark"): ([], [], []),
        ("pipelines", "idle"): ([], [], []),
    }
    assert AuditRow.objects.filter(action="secret.bound", actor="headgate").count() == len(found)
    for pipeline in Pipeline.objects.all():
        assert pipeline.current_revision is not None
        assert launcher(settings).against(pipeline, pipeline.current_revision.definition) == [], pipeline.name
        assert launcher(settings).to_inspect(pipeline)[1].values
    secrets.bind(name="plain", wanted=secrets.Wanted(pipelines=["plain"]), actor=ANA)
    refused = Pipeline.objects.get(name="plain")
    assert refused.current_revision is not None
    codes = {each.code for each in launcher(settings).against(refused, refused.current_revision.definition)}
    assert codes == {"SECRET_NOT_ENCRYPTED"}
