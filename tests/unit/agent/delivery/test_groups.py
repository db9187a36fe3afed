"""Which tests run in one process with `--dist loadgroup`, by the fixtures that they ask for."""

from __future__ import annotations

from typing import Any, cast

import pytest
from xdist.scheduler import LoadGroupScheduling

from tests.conftest import name_group


@pytest.fixture(scope="session")
def session() -> None:
    """As the tests of components have one of Spark."""


@pytest.fixture(scope="module")
def lasting() -> None:
    """Something that the tests of a module share."""


def group(request: pytest.FixtureRequest) -> str | None:
    marker = request.node.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else None


@pytest.mark.usefixtures("session")
def test_who_uses_what_a_session_starts_once_goes_where_it_is(request: pytest.FixtureRequest) -> None:
    assert group(request) == "session"


@pytest.mark.usefixtures("lasting", "session")
def test_that_comes_before_what_a_module_shares(request: pytest.FixtureRequest) -> None:
    assert group(request) == "session"


@pytest.mark.usefixtures("lasting")
def test_who_shares_something_in_a_module_stays_together(request: pytest.FixtureRequest) -> None:
    assert group(request) == "test_groups"


def test_others_run_wherever_there_is_time(request: pytest.FixtureRequest) -> None:
    assert group(request) is None


def test_xdist_schedules_by_the_group(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    item = pytest.Function.from_parent(request.node.parent, name="test_another", callobj=lambda: None)
    monkeypatch.setattr(request.config.option, "loadgroup", True, raising=False)
    name_group(item, "session")
    assert LoadGroupScheduling._split_scope(cast(Any, None), item.nodeid) == "session"
