"""An operator plans a migration to another cluster, and names servers that a host then asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.addresses import address_of
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import Pipeline, PositionInspection
from tests.db.test_cluster_migrations import Asked, Store, read, source_spec
from tests.db.test_migrations import MIGRATIONS, ana, body, orders, planned, post
from workers.adapters.secrets import backends
from workers.supervisor.background.surveyor import InspectionContext
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

__all__ = ["ana", "orders", "read"]
pytestmark = pytest.mark.django_db


def spec(servers: str) -> dict[str, Any]:
    return source_spec(to={"bootstrap_servers": servers})


@pytest.mark.parametrize("servers", ["169.254.169.254:80", "new:9092,[fe80::1]:1", "127.0.0.1:1"])
def test_no_host_is_asked_about_servers_that_pipelines_may_not_reach(
    ana: APIClient, read: Pipeline, servers: str
) -> None:
    made = post(ana, MIGRATIONS, body(kind="cluster", spec=spec(servers)))
    assert "ADDRESS_NOT_ALLOWED" in made.content.decode()
    assert not PositionInspection.objects.exists()


def test_a_name_that_leads_inside_is_refused_before_the_host_connects(ana: APIClient, read: Pipeline) -> None:
    planned(ana, kind="cluster", spec=spec("innocent.example:9092"))
    inside = address_of("169.254.169.254")
    assert inside is not None
    surveys = Asked()
    known = References(backends({}, None, Store()))
    launcher = Launcher("alpha", Path("/state"), known, lambda: SparkSettings(classpath=[]))
    InspectionContext("alpha", launcher, surveys, lambda *_: [inside]).take(PositionInspection.objects.get())
    assert surveys.questions == []
    error = PositionInspection.objects.get().error
    assert error is not None
    assert error["code"] == "address_not_allowed"
