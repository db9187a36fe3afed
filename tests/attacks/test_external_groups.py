"""An operator names servers that a worker then connects to."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.addresses import address_of
from pipelines.models import AllowedNetwork, AuditRow, ExternalGroup
from pipelines.models import AllowedRoot as RootRow
from tests.db.test_external_groups import Bench, body
from tests.db.test_schema_migrations import at, rows_of
from tests.factories import definition, now

GROUPS = "/api/v1/consumer-groups"


@pytest.mark.parametrize(
    "servers", ["169.254.169.254:80", "broker:9092,169.254.169.254:80", "[fe80::1]:1", "127.0.0.1:1"]
)
def test_no_group_is_looked_for_where_pipelines_may_not_go(operator: APIClient, servers: str) -> None:
    """127.0.0.1:1 is the tests' Redis, which no rule allows."""
    refused = operator.post(GROUPS, body(bootstrap_servers=servers), format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "address_not_allowed")
    (finding,) = refused.json()["findings"]
    assert (finding["path"], finding["code"]) == ("bootstrap_servers", "ADDRESS_NOT_ALLOWED")
    assert not ExternalGroup.objects.exists()


@pytest.mark.django_db
def test_a_name_that_leads_inside_is_refused_before_the_worker_connects() -> None:
    bench = Bench()
    inside = address_of("169.254.169.254")
    assert inside is not None
    bench.watch.resolve = lambda *_: [inside]
    bench.inspection(0.0)
    assert "169.254.169.254" in ExternalGroup.objects.get().error
    assert bench.brokers.calls == []


def test_what_is_used_stays_allowed_after_the_update(transactional_db: None) -> None:
    for apps in at(("pipelines", "0042_change_requests")):
        host = rows_of(apps, "Host").create(name="alpha")
        pipeline = rows_of(apps, "Pipeline").create(name="far", phase_since=now(), host=host)
        launcher = {"type": "spark", "cluster": "analytics", "storage": "/mnt/headgate/"}
        found = definition("far", placement={"launcher": launcher}).plain()
        revision = rows_of(apps, "Revision").create(pipeline=pipeline, number=1, definition=found, digest="x")
        rows_of(apps, "Pipeline").update(current_revision=revision)
        rows_of(apps, "ExternalGroup").create(name="billing", bootstrap_servers="127.0.0.1:9092", created_by="ana")
    assert list(RootRow.objects.values_list("path", "mode")) == [("/mnt/headgate", "write")]
    assert list(AllowedNetwork.objects.values_list("target", "ports")) == [("127.0.0.1", "9092")]
    assert set(AuditRow.objects.values_list("action", flat=True)) == {"allowed_root.add", "allowed_network.add"}
