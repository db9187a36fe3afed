"""What the API says of a host whose agents have, or cannot have, users of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from rest_framework.test import APIClient

from pipelines.domain.hosts.isolation import AgentUids, Isolation
from pipelines.models import Host
from workers.adapters.isolation import accounts

pytestmark = pytest.mark.django_db


def shown(viewer: APIClient, isolation: Isolation) -> dict[str, str]:
    Host.objects.update_or_create(name="alpha", defaults={"isolation": isolation.stored()})
    listed = {host["name"]: host for host in viewer.get("/api/v1/hosts").json()}["alpha"]["isolation"]
    assert listed == viewer.get("/api/v1/hosts/alpha").json()["isolation"]
    return dict(listed)


@pytest.mark.parametrize(
    ("required", "effect"), [(False, "Agents share the worker's user."), (True, "No agent is started here.")]
)
def test_a_host_without_the_privileges_says_which_it_needs_and_what_follows(
    viewer: APIClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, required: bool, effect: str
) -> None:
    monkeypatch.setattr(accounts, "_missing", lambda: ["CAP_SETUID"])
    users, isolation = accounts.set_up(tmp_path, AgentUids(required=required), 60578, [])
    found = shown(viewer, isolation)
    assert users is None
    assert found["state"] == "NONE"
    assert found["detail"].startswith(effect)
    assert "CAP_SETUID" in found["detail"]
    assert found["hint"]


def test_a_host_that_has_them_names_the_range(viewer: APIClient) -> None:
    found = shown(viewer, Isolation.on("60579-61183", 60578))
    assert (found["state"], found["hint"]) == ("USER", "")
    assert "60579-61183" in found["detail"]
