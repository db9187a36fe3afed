"""A secret of a team does not exist for other teams: on every route, in findings, at the launch, and for receivers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.document.spec import Definition
from pipelines.models import AuditRow, Delivery, Event, ExternalGroup, Pipeline, Receiver, Run, Secret, Team
from pipelines.selectors.access.secrets import outdated_of
from tests.attacks.test_exposure import definition
from tests.attacks.test_secrets import BOUND, GOOD, VALUE, launcher, store
from tests.attacks.two_teams import user
from tests.factories import PipelineFactory, RevisionFactory, RunFactory
from tests.fakes.receivers import FakePosts, FakeSecrets, Time, happen, receiver, sender, turn
from workers.adapters.secrets import backends
from workers.ports import SecretValue, Unreadable
from workers.supervisor.background.external_groups import GroupWatch, Unresolved
from workers.supervisor.launch import references
from workers.supervisor.launch.launch import asker
from workers.supervisor.launch.references import References

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("key_file")]
SECRET = "/api/v1/secrets/s"
EVERYWHERE = {"pipelines": ["*", "consumer-groups/*", "label:team=payments"], "destinations": BOUND["destinations"]}
HOOK = {"value": "whsec_" + "QUJD" * 11, "purpose": "receivers"}


def put(client: APIClient, name: str = "s", /, **body: Any) -> Any:
    return client.put(f"/api/v1/secrets/{name}", {"value": VALUE, **EVERYWHERE, **body}, format="json")


def run_of(team: Team, sink: Mapping[str, Any] = GOOD, name: str = "attack") -> Run:
    """A run of a pipeline of this team that says that it is of payments."""
    plain = Definition.model_validate({**definition(sink=dict(sink)), "name": name}).plain()
    pipeline = PipelineFactory.create(name=name, team=team, labels={"team": "payments"})
    revision = RevisionFactory.create(pipeline=pipeline, number=7, definition=plain)
    Pipeline.objects.filter(pk=pipeline.pk).update(current_revision=revision)
    run: Run = RunFactory.create(pipeline=pipeline, revision=revision, host__name="alpha")
    return run


def without_names(answer: Any) -> tuple[int, str]:
    text = answer.content.decode().replace("/none", "/s").replace("secret none", "secret s")
    return answer.status_code, text.partition('"request_id"')[0]


def test_an_administrator_of_a_team_stores_binds_replaces_and_deletes_its_secrets(payments: Team) -> None:
    """On the old code each of these needed an administrator of all teams."""
    admin = user(payments)
    made = put(admin)
    assert (made.status_code, made.json()["team"]) == (201, "payments")
    changed = admin.patch(SECRET, {"pipelines": ["attack"]}, format="json")
    assert (changed.status_code, changed.json()["pipelines"]) == (200, ["attack"])
    assert put(admin, value="new").json()["version"] == 2
    assert admin.put(SECRET, HOOK, format="json").status_code == 201
    assert admin.delete(f"{SECRET}?purpose=receivers").status_code == 204
    assert admin.delete(SECRET).status_code == 204
    rows = AuditRow.objects.filter(action__startswith="secret.").values_list("team", flat=True)
    assert (len(rows), set(rows)) == (6, {"payments"})
    assert set(Event.objects.filter(kind__startswith="secret.").values_list("team", flat=True)) == {payments.pk}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.ADMIN])
def test_a_secret_of_another_team_is_not_found_on_any_route(role: Role, payments: Team, risk: Team) -> None:
    put(user(payments))
    user(payments).put(SECRET, HOOK, format="json")
    run_of(risk)
    other = user(risk, role=role)
    for method, query, body in (
        ("get", "", None),
        ("options", "", None),
        ("patch", "", {"pipelines": ["*"]}),
        ("patch", "", {"team": "risk"}),
        ("delete", "", None),
        ("delete", "?force=true", None),
        ("delete", "?purpose=receivers", None),
    ):
        there, nothing = (
            getattr(other, method)(f"/api/v1/secrets/{name}{query}", body, format="json") for name in ("s", "none")
        )
        assert there.status_code == 404, method
        assert without_names(there) == without_names(nothing)
    if role >= Role.OPERATOR:
        for query in ("", "?team=payments", "?team=none"):
            assert other.get(f"/api/v1/secrets{query}").json()["results"] == []
    refused = put(other)
    if role < Role.ADMIN:
        assert without_names(refused) == without_names(put(other, "none"))
    else:
        assert (refused.status_code, refused.json()["code"]) == (409, "secret_name_taken")
        assert "payments" not in refused.content.decode()
    assert other.post("/api/v1/secrets/rotate", {}, format="json").status_code == 403
    assert put(other, team="payments").status_code in {403, 404}
    assert Secret.objects.filter(team=payments, version=1).count() == 2


def test_who_is_operator_of_a_team_changes_none_of_its_secrets(payments: Team) -> None:
    put(user(payments))
    operator = user(payments, role=Role.OPERATOR)
    assert [each["name"] for each in operator.get("/api/v1/secrets").json()["results"]] == ["s"]
    for answer in (put(operator), operator.patch(SECRET, {}, format="json"), operator.delete(SECRET)):
        assert answer.status_code == 403


def test_the_installations_secrets_stay_with_administrators_of_all_teams(admin: APIClient, risk: Team) -> None:
    assert put(admin, **BOUND).json()["team"] is None
    own = user(risk)
    assert own.delete(SECRET).status_code == 404
    run_of(risk)
    assert [each["name"] for each in own.get("/api/v1/secrets").json()["results"]] == ["s"]
    assert put(own).status_code == 403
    assert own.patch(SECRET, {"team": "risk"}, format="json").status_code == 403
    assert own.delete(f"{SECRET}?force=true").status_code == 403
    assert Secret.objects.get().team is None


@pytest.mark.parametrize("name", ["vault:kv/risk/db#password", "env:PASSWORD", "file:risk/password"])
def test_what_hosts_read_for_every_team_is_given_to_one_by_administrators_of_all(
    name: str, admin: APIClient, payments: Team
) -> None:
    """Who could bind the password of risk to payments could take it."""
    own, address, body = user(payments), f"/api/v1/secrets/{name.replace('#', '%23')}", {"team": "payments"}
    assert own.put(address, {**EVERYWHERE, **body}, format="json").status_code == 403
    made = admin.put(address, {**EVERYWHERE, **body}, format="json")
    assert (made.status_code, made.json()["team"]) == (201, "payments")
    assert own.patch(address, {"pipelines": ["attack"]}, format="json").status_code == 200
    assert own.delete(address).status_code == 403
    assert admin.delete(address).status_code == 204


def test_validation_says_nothing_of_a_secret_of_another_team(payments: Team, risk: Team) -> None:
    """On the old code SECRET_NOT_BOUND told that a secret of this name is there."""
    put(user(payments), pipelines=["elsewhere"])
    operator = user(risk, role=Role.OPERATOR)
    for name in ("s", "none"):
        data = definition(sink={**GOOD, "url": "http://evil.example/", "token": f"${{secret:{name}}}"})
        checked = operator.post("/api/v1/pipelines/validate", {"definition": data}, format="json").json()
        assert (checked["valid"], checked["findings"]) == (True, [])
        data["name"] = f"{name}-orders"
        assert operator.post("/api/v1/pipelines", {"definition": data}, format="json").status_code == 201
    own = user(payments, role=Role.OPERATOR)
    refused = own.post("/api/v1/pipelines", {"definition": definition(sink=GOOD)}, format="json").json()
    assert {each["code"] for each in refused["findings"]} == {"SECRET_NOT_BOUND"}


def test_the_host_gives_it_to_pipelines_of_its_team_alone(payments: Team, risk: Team, settings: Any) -> None:
    """Neither patterns nor labels reach beyond the team. On the old code both had the value."""
    put(user(payments))
    assert launcher(settings).launch(run_of(payments, name="own"))[1].values == {"${secret:s}": VALUE}
    foreign = run_of(risk)
    missing = run_of(risk, {**GOOD, "token": "${secret:none}"}, "missing")
    told = []
    for run, name in ((foreign, "s"), (missing, "none")):
        resolved = launcher(settings).references.resolve(
            run.revision.definition, asker(run.pipeline, run.revision.definition)
        )
        assert (resolved.values, resolved.versions, resolved.hidden) == ({}, {}, set())
        (found,) = resolved.findings
        told.append(
            (found.code, found.path, *(re.sub(rf"\b{name}\b", "~", text) for text in (found.message, found.suggestion)))
        )
    assert told[0] == told[1]
    with pytest.raises(references.Unresolved, match="there is no secret s"):
        launcher(settings).launch(foreign)


def test_a_run_that_waits_while_its_pipeline_moves_gets_nothing(payments: Team, risk: Team, settings: Any) -> None:
    put(user(payments))
    run = run_of(payments)
    Pipeline.objects.update(team=risk)
    with pytest.raises(references.Unresolved, match="there is no secret s"):
        launcher(settings).launch(Run.objects.get(pk=run.pk))


@pytest.mark.parametrize("kind", ["env", "file"])
def test_variables_and_files_of_another_team_are_as_if_they_were_not_there(
    kind: str, admin: APIClient, payments: Team, risk: Team, tmp_path: Any
) -> None:
    """What is open to all until it is bound is not open again for those who may not have it."""
    (tmp_path / "p").write_text(VALUE)
    made = References(backends({"p": VALUE}, tmp_path, FakeSecrets()))
    own, foreign = (run_of(team, {**GOOD, "token": f"${{{kind}:p}}"}, team.name) for team in (payments, risk))
    nothing = run_of(risk, {**GOOD, "token": f"${{{kind}:q}}"}, "nothing")

    def resolved(run: Run) -> Any:
        return made.resolve(run.revision.definition, asker(run.pipeline, run.revision.definition))

    assert resolved(foreign).values
    assert put(admin, f"{kind}:p", value=None, team="payments").status_code == 201
    assert resolved(own).values == {f"${{{kind}:p}}": VALUE}
    there, absent = (resolved(each).findings[0].model_dump() for each in (foreign, nothing))
    assert there["message"].replace(":p}", ":q}") == absent["message"]
    assert {**there, "message": ""} == {**absent, "message": ""}
    assert resolved(foreign).values == {}


def test_a_consumer_group_of_another_team_gets_nothing(payments: Team, risk: Team, settings: Any) -> None:
    put(user(payments))
    options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.password": "${secret:s}"}
    watch = GroupWatch("alpha", None, References(backends({}, None, store(settings))), None)  # type: ignore[arg-type]
    for team in (risk, None):
        group = ExternalGroup(name="g", team=team, bootstrap_servers="good.example:443", options=options, interval=60)
        with pytest.raises(Unresolved, match="there is no secret s"):
            watch._cluster(group)
    group.team = payments
    assert watch._cluster(group).options["sasl.password"] == VALUE


def test_a_pipeline_does_not_move_away_from_a_secret_of_its_team(admin: APIClient, payments: Team, risk: Team) -> None:
    put(user(payments))
    run_of(payments)
    refused = admin.post("/api/v1/pipelines/attack/team", {"team": "risk"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "not_of_the_team")
    assert [(each["path"], each["code"]) for each in refused.json()["findings"]] == [
        ("sinks.out.token", "SECRET_OF_A_TEAM")
    ]
    Secret.objects.update(team=None)
    assert admin.post("/api/v1/pipelines/attack/team", {"team": "risk"}, format="json").status_code == 200


def test_a_team_is_not_deleted_while_it_has_a_secret(admin: APIClient, payments: Team) -> None:
    put(user(payments))
    refused = admin.delete("/api/v1/teams/payments")
    assert (refused.status_code, refused.json()["owns"]) == (409, {"secrets": 1})


def test_others_who_name_it_neither_use_it_nor_keep_it_from_being_deleted(
    admin: APIClient, payments: Team, risk: Team
) -> None:
    """On the old code the refusal named their pipelines."""
    put(user(payments))
    run = run_of(risk)
    Run.objects.filter(pk=run.pk).update(secret_versions={"s": 0})
    for client in (user(payments), admin):
        (shown,) = client.get("/api/v1/secrets").json()["results"]
        assert (shown["used_by"], shown["outdated"]) == ([], [])
    assert outdated_of(Run.objects.get(pk=run.pk)) == []
    assert user(payments).delete(SECRET).status_code == 204


def test_a_team_gets_a_secret_of_the_installation_once_no_other_uses_it(
    admin: APIClient, payments: Team, risk: Team
) -> None:
    put(admin, **BOUND)
    run_of(risk)
    refused = admin.patch(SECRET, {"team": "payments"}, format="json")
    assert (refused.status_code, refused.json()["used_by"]) == (409, ["attack"])
    Pipeline.objects.update(team=payments)
    given = admin.patch(SECRET, {"team": "payments", "pipelines": ["label:team=payments"]}, format="json")
    assert (given.status_code, given.json()["team"]) == (200, "payments")
    row = AuditRow.objects.get(action="secret.bound")
    assert row.before is not None
    assert row.after is not None
    assert (row.team, row.before.get("team"), row.after["team"]) == ("payments", None, "payments")
    refused = admin.patch(SECRET, {"team": "risk"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "secret_of_a_team")


def test_secrets_of_clusters_have_no_team(admin: APIClient, payments: Team) -> None:
    body = {"value": VALUE, "purpose": "clusters", "team": "payments"}
    refused = admin.put(SECRET, body, format="json")
    assert (refused.status_code, refused.json()["findings"][0]["path"]) == (422, "team")


@pytest.mark.parametrize("owner", ["payments", None])
def test_a_receiver_of_a_team_takes_its_secrets_alone(
    owner: str | None, admin: APIClient, payments: Team, risk: Team
) -> None:
    """Its administrator says where a receiver sends. On the old code any secret of receivers went there."""
    admin.put(SECRET, {**HOOK, "team": owner}, format="json")
    own = user(risk)
    told = []
    for name in ("s", "none"):
        body = {"kind": "webhook", "url": "https://198.51.100.7/", "secrets": [f"${{secret:{name}}}"]}
        refused = own.post("/api/v1/receivers", body, format="json")
        found = {each["path"]: each for each in refused.json()["findings"]}["secrets[0]"]
        told.append((refused.status_code, found["code"], found["message"].replace(f"secret {name} ", "")))
    assert told[0] == told[1] == (422, "secret_not_found", "There is no for receivers.")
    assert not Receiver.objects.exists()


class Owned(FakeSecrets):
    """Secrets of one team, or of the installation."""

    team: int | None = None

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        """The same, with their owner."""
        found = super().read(names)
        return {
            name: replace(value, team=self.team) if isinstance(value, SecretValue) else value
            for name, value in found.items()
        }


def test_a_receiver_that_names_what_became_anothers_sends_nothing(
    payments: Team, risk: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that was free again can be another team's by the time that a message is sent."""
    receiver(team=risk)
    happen("pipeline.created")
    Event.objects.update(team=risk)
    posts, secrets, time = FakePosts(), Owned(), Time(monkeypatch)
    secrets.team = payments.pk
    worker = sender(posts, time, secrets)
    turn(worker)
    delivery = Delivery.objects.get()
    assert posts.sent == []
    assert "there is no secret new for receivers" in delivery.last_error
    secrets.team = risk.pk
    Delivery.objects.update(next_attempt_at=time.wall)
    turn(worker)
    assert len(posts.sent) == 1
