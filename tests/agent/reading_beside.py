"""Readers that tell how often they read."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa

from workers.agent.ranges.ranges import Slice
from workers.agent.ranges.sequence import SequenceReader

TOLD = "HEADGATE_TEST_READS"


class CountedReader(SequenceReader):
    """A sequence that adds a byte to a file, named by its body, whenever a part of it is read."""

    def batches(self, part: Slice) -> Iterator[pa.RecordBatch]:
        descriptor = os.open(self._body.partition(" ")[0], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, b"x")
        os.close(descriptor)
        return super().batches(part)
