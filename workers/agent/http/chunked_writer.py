"""What writers of HTTP requests share: events in chunks of so many and so many bytes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from workers.agent.http.requests import Connection, Requests
from workers.agent.spark.executor_writer import Deadline, Writer


@dataclass(frozen=True)
class Item:
    """One event: its place in the Arrow batch, what identifies it, and what is sent of it."""

    index: int
    origin: str
    content: bytes


class ChunkedWriter(Writer):
    """One task of a sink. The column `item` of its events holds what is sent of each."""

    def __init__(self, connection: Connection, most: int, most_bytes: int) -> None:
        self._connection, self._most, self._most_bytes = connection, most, most_bytes

    def open(self, deadline: Deadline) -> None:
        """Make the client; it connects with the first request."""
        self._deadline = deadline
        self._requests = Requests(self._connection)

    def close(self) -> None:
        """Close the connections."""
        if hasattr(self, "_requests"):
            self._requests.close()

    def write(self, events: pa.RecordBatch) -> list[tuple[int, str]]:
        """Send the events; returns those that the server refuses."""
        refused: list[tuple[int, str]] = []
        for chunk in _chunks(_items(events), self._most, self._most_bytes):
            refused += self._send(chunk)
        return refused

    @abstractmethod
    def _send(self, chunk: list[Item]) -> list[tuple[int, str]]:
        """Send one chunk; returns index and cause of what is refused for good. Raises RequestFailed."""


def _items(events: pa.RecordBatch) -> Iterator[Item]:
    """The events of an Arrow batch, in order."""
    columns = [events.column(name).to_pylist() for name in ("topic", "partition", "offset", "item")]
    for index, (topic, partition, offset, content) in enumerate(zip(*columns, strict=True)):
        yield Item(index, f"{topic}/{partition}/{offset}", content)


def _chunks(events: Iterator[Item], most: int, most_bytes: int) -> Iterator[list[Item]]:
    """Groups of at most so many events and bytes; an event that is larger alone is a group of its own."""
    group: list[Item] = []
    size = 0
    for item in events:
        if group and (len(group) >= most or size + len(item.content) > most_bytes):
            yield group
            group, size = [], 0
        group.append(item)
        size += len(item.content)
    if group:
        yield group
