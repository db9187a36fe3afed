"""Rules about what pipelines may reach, as administrators set them."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from pipelines.models import AuditRow


@pytest.mark.parametrize(
    ("route", "action", "rule", "bad"),
    [
        ("allowed-roots", "allowed_root", {"path": "/data/in", "mode": "read"}, {"path": "data", "mode": "read"}),
        ("allowed-networks", "allowed_network", {"target": "10.20.0.0/16", "ports": "9092"}, {"target": "a b"}),
    ],
)
def test_a_rule_is_added_once_listed_removed_and_audited(
    admin: APIClient, route: str, action: str, rule: dict[str, str], bad: dict[str, str]
) -> None:
    address = f"/api/v1/{route}"
    refused = admin.post(address, bad, format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "rule_invalid")
    made = admin.post(address, rule, format="json")
    assert made.status_code == 201
    again = admin.post(address, rule, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "already_allowed")
    assert made.json()["id"] in [each["id"] for each in admin.get(address).json()["results"]]
    one = f"{address}/{made.json()['id']}"
    assert admin.delete(one).status_code == 204
    gone = admin.delete(one)
    assert (gone.status_code, gone.json()["code"]) == (404, "rule_not_found")
    assert route in gone.json()["hint"]
    added, removed = AuditRow.objects.filter(action__startswith=f"{action}.").order_by("id")
    assert (added.action, added.after) == (f"{action}.add", {**rule, "note": "", "team": None})
    assert (removed.action, removed.before) == (f"{action}.remove", {**rule, "team": None})
