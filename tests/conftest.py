"""Fixtures that every tier may use."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest
import typer.main
import typer.testing
from _pytest.nodeid import NodeId
from hypothesis import HealthCheck, settings
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

    from pipelines.domain.runs.protocol import SparkSettings
    from pipelines.models import Team
    from tests.chaos.installation import Installation

OTHER_DATABASE = "HEADGATE_TEST_DATABASE_URL"
SHARED = ("installation", "session")
"""Fixtures of a session that cost much: the whole stack, and Spark. With `--dist loadgroup` all who use one of them run
in one process, one after the other, and so do the tests of a module that share a fixture of their own. A broker is
cheap, and wanted by most: each process has one."""

PLUGINS = ["tests.times.plugin", "tests.seed", "tests.turns", "tests.failures"]
pytest_plugins = [*PLUGINS, *([] if OTHER_DATABASE in os.environ else ["tests.database"])]

# The machine may be busy, and a run has to be repeatable: no time limits, nothing but the seed chooses the examples.
settings.register_profile("repeatable", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
# Thousands of small collections find nothing, and take a twentieth of a run.
gc.set_threshold(50_000, 20, 20)
# Building the tree of commands takes longer than most of them, and each call of a runner built it anew.
vars(typer.testing)["_get_command"] = cache(typer.main.get_command)
# Py4J tells of every connection that it closes, also when the interpreter ends and nobody can be told.
logging.getLogger("py4j").setLevel(logging.WARNING)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Groups for processes of tests. On another database only what touches a database has anything to show."""
    for item in items:
        if group := _group(item):
            item.add_marker(pytest.mark.xdist_group(group))
            name_group(item, group)
    if OTHER_DATABASE not in os.environ:
        return
    touching = [item for item in items if _touches_the_database(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(touching)])
    items[:] = touching


def _group(item: pytest.Item) -> str | None:
    if not isinstance(item, pytest.Function):
        return None
    definitions = item._fixtureinfo.name2fixturedefs
    lasts = any(found[-1].scope == "module" for found in definitions.values())
    return next((name for name in SHARED if name in definitions), item.path.stem if lasts else None)


def name_group(item: pytest.Item, group: str) -> None:
    """What xdist 3.8 does in its processes for `--dist loadgroup`: it writes to an attribute that pytest 9.2 does not
    read, and says nothing."""
    if item.config.getoption("loadgroup", False):
        item._id = NodeId.parse(f"{item.nodeid}@{group}")


def _touches_the_database(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or not {"db", "transactional_db"}.isdisjoint(fixtures)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One embedded broker for all tests of a process that want no other."""
    from controlplane.install.services.kafka import running_kafka

    with running_kafka(tmp_path_factory.mktemp("kafka")) as servers:
        yield servers


@pytest.fixture(scope="session")
def spark_settings(tmp_path_factory: pytest.TempPathFactory) -> SparkSettings:
    """What the JVMs of real agents are started with. HEADGATE_KAFKA_READER chooses their reader, as on a host."""
    from django.conf import settings

    from controlplane.provision.archive import archive_path
    from controlplane.provision.module import class_path
    from pipelines.domain.runs.protocol import SparkSettings
    from tests.java import quick_java

    archive, classpath = archive_path(), [str(path) for path in class_path()]
    java_home = quick_java(tmp_path_factory.mktemp("java"))
    return SparkSettings(
        classpath=classpath,
        archive=archive and str(archive),
        java_home=java_home,
        kafka_reader=settings.HEADGATE.kafka_reader,
    )


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The one real stack of a session, `manage.py up`, for chaos, migrations and the page. Leave no pipeline flowing
    that others do not need."""
    from tests.chaos import fussy
    from tests.chaos.installation import installed

    with installed(tmp_path_factory.mktemp("stack"), HEADGATE_INTERCEPTORS=fussy.NAME) as running:
        yield running


@pytest.fixture
def key_file(settings: Settings, tmp_path: Path) -> Path:
    """An open secret store, with a key file of its own."""
    from django.core.management import call_command

    file = tmp_path / "keys"
    call_command("add_secret_key", file=file)
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"secret_key_file": file})
    return file


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


@pytest.fixture
def payments(db: None) -> Team:
    """A team that owns nothing."""
    return _team("payments")


@pytest.fixture
def risk(db: None) -> Team:
    """Another one."""
    return _team("risk")


def _team(name: str) -> Team:
    from tests.factories import TeamFactory

    team: Team = TeamFactory.create(name=name)
    return team
