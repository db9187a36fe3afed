"""One real installation for the whole tier, `manage.py up` with a pipeline in mid-stream, and one broker for all tests
of the data plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.data_plane import broker, make_defined, spark_settings, topics
from tests.chaos.installation import Installation, installed
from tests.chaos.stream import Stream, streaming

__all__ = ["broker", "installation", "make_defined", "spark_settings", "stream", "topics"]


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installed(tmp_path_factory.mktemp("chaos")) as running:
        yield running


@pytest.fixture(scope="session")
def stream(installation: Installation) -> Iterator[Stream]:
    with streaming(installation) as flowing:
        yield flowing
