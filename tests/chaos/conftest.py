"""What the tests of this tier share beside the installation: a pipeline in mid-stream, and those of the data plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.data_plane import make_defined, topics
from tests.chaos.installation import Installation
from tests.chaos.stream import Stream, streaming

__all__ = ["make_defined", "stream", "topics"]


@pytest.fixture(scope="session")
def shared_stream(installation: Installation) -> Iterator[Stream]:
    with streaming(installation) as flowing:
        yield flowing


@pytest.fixture
def stream(shared_stream: Stream) -> Iterator[Stream]:
    """In mid-stream; between two tests nothing flows, which would take time from others."""
    shared_stream.flow()
    yield shared_stream
    shared_stream.producer.stop()
