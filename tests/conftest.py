"""Fixtures that every tier may use."""

from __future__ import annotations

import logging

import pytest
from hypothesis import HealthCheck, settings
from rest_framework.test import APIClient

from pipelines.domain.roles import Role

# The machine may be busy, and a run has to be repeatable: no time limits, the same examples every time.
settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
# Py4J tells of every connection that it closes, also when the interpreter ends and nobody can be told.
logging.getLogger("py4j").setLevel(logging.WARNING)


def _client(role: Role | None) -> APIClient:
    from tests.factories import UserFactory

    client = APIClient()
    if role is not None:
        client.force_authenticate(UserFactory.create(username=role.word, role=role))
    return client


@pytest.fixture
def viewer(db: None) -> APIClient:
    """A client of the API that may look."""
    return _client(Role.VIEWER)


@pytest.fixture
def operator(db: None) -> APIClient:
    """A client of the API that may act."""
    return _client(Role.OPERATOR)


@pytest.fixture
def admin(db: None) -> APIClient:
    """A client of the API that may also delete."""
    return _client(Role.ADMIN)


@pytest.fixture
def anonymous(db: None) -> APIClient:
    """A client of the API that nobody knows."""
    return _client(None)
