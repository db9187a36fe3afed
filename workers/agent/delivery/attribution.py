"""Whose failure it is when a batch cannot be delivered: a batch is read while it is written, so the error of a sink's
write may be the source's.

The trace says who raised it: the innermost exception comes first, and in it the innermost frame. Exceptions of Kafka's
clients have no frames (org.apache.kafka.common.errors.ApiException), so their words are known, too.
"""

from __future__ import annotations

import re
from enum import Enum


class Side(Enum):
    """Which end of a channel an error comes from."""

    SOURCE = "source"
    SINK = "sink"


_SOURCE = (
    r"org\.apache\.kafka\.clients\.consumer\.",
    r"org\.apache\.spark\.sql\.kafka010\.(?:consumer\.|PolledReader)",
    r"org\.apache\.spark\.sql\.kafka010\.Kafka(?:Batch|Source|MicroBatch|Offset|Continuous|RealTime)",
    r"\bworkers/agent/(?:ranges|push|components/source)\b",
    r"\bworkers/agent/files/(?:lines|tail|tail_reader|spool|tracked)\.py",
    r"before the position for partition|Cannot fetch record|before the last committed offset|fetching topic metadata",
    r"Failed to get offsets by times",
)
_SINK = (
    r"org\.apache\.kafka\.clients\.producer\.",
    r"org\.apache\.spark\.sql\.kafka010\.(?:producer\.|RecordWrite)",
    r"org\.apache\.spark\.sql\.kafka010\.Kafka(?:Write|RowWriter|Data\w*Writer|Batch\w*Write|Stream\w*Write)",
    r"org\.apache\.hadoop\.fs\.\S*OutputStream|FileFormatDataWriter|OutputCommitter",
    r"\bworkers/agent/(?:http|postgres|components/sink)\b",
    r"not present in metadata after|Expiring \d+ record|since batch creation|allocate memory within",
)
_EITHER = re.compile(rf"(?P<sink>{'|'.join(_SINK)})|(?P<source>{'|'.join(_SOURCE)})")
_CAUSED_BY = re.compile(r"^Caused by: ", re.MULTILINE)


def side_of(error: BaseException) -> Side | None:
    """Which side raised it, as its text tells; None where it does not."""
    for part in reversed(_CAUSED_BY.split(str(error))):
        if found := _EITHER.search(part):
            return Side.SINK if found["sink"] else Side.SOURCE
    return None
