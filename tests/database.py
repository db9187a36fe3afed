"""The embedded database of the tests: migrated once in a run, and copied for each of its processes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection
from django.db.models.signals import post_migrate
from django.test.utils import setup_databases, teardown_databases
from pytest_django.plugin import DjangoDbBlocker

NAME = "migrated.sqlite3"


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Take the place of pytest-django's fixture, which migrates in every process."""
    with django_db_blocker.unblock():
        made = _made_from(_shared(tmp_path_factory) / NAME)
    _forget_types_of_content()
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


def _made_from(template: Path) -> list[tuple[Any, str, bool]]:
    """A database like `template`, which the first process that comes here makes."""
    with _locked(template.with_suffix(".lock")):
        if template.exists():
            shutil.copy(template, connection.settings_dict["TEST"]["NAME"])
        made = setup_databases(verbosity=0, interactive=False, keepdb=True)
        if not template.exists():
            with connection.cursor() as cursor:
                cursor.execute("VACUUM INTO %s", [str(template)])
    return made


def _shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of this run that its workers see, too."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget_types_of_content() -> None:
    """Of a flushed database Django writes them anew, and nothing of Headgate reads them."""
    post_migrate.disconnect(create_contenttypes)
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
