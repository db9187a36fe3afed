"""One real installation for the whole tier: `manage.py up`, and a pipeline in mid-stream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.installation import Installation, installed
from tests.chaos.stream import Stream, streaming


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installed(tmp_path_factory.mktemp("chaos")) as running:
        yield running


@pytest.fixture(scope="session")
def stream(installation: Installation) -> Iterator[Stream]:
    with streaming(installation) as flowing:
        yield flowing
