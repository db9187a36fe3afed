"""Batches of events in HTTP requests, at least once, with an Idempotency-Key that is the same for the same events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.journal import Planned
from pipelines.domain.ledger import Counts
from workers.agent import event_values
from workers.agent.batch import Attempt
from workers.agent.component import Resolution, SinkBuilder
from workers.agent.executor_writer import EVENT, Deadline, Writer, deliver
from workers.agent.http_requests import Answer, Connection, RequestFailed, Requests
from workers.agent.http_sink import check_client, probe_server

_FORMS = {"json_array": (b"[", b",", b"]", "application/json"), "ndjson": (b"", b"\n", b"\n", "application/x-ndjson")}


class Builder(SinkBuilder):
    """Sends one channel to one address."""

    def probe(self) -> None:
        """The server answers, and does not turn our log-in away. OPTIONS has no effect."""
        check_client(self.spec, self.place.path)
        probe_server(self._connection(), self.place.path, "OPTIONS", "")

    def _connection(self) -> Connection:
        content_type = _FORMS[self.spec.format][3]
        return Connection.of(self.spec, [self.spec.url], {**self.spec.headers, "Content-Type": content_type})

    def refuses(self) -> Column | None:
        """With `content: body`, what is not JSON; a line of NDJSON has no line feed."""
        if self.spec.content == "event":
            return None
        return f.when(~event_values.is_json(), f.lit("The body is not JSON."))

    def write(self, attempt: Attempt) -> Counts:
        """Every task sends its events in order, one request at a time."""
        if self.spec.content == "event":
            item = event_values.event_json(with_origin=False)
        else:
            item = f.to_json(event_values.body_variant())
        scope = f"{self.place.pipeline}/{attempt.planned.source}/{attempt.planned.channel}"
        writer = HttpWriter(
            self._connection(), self.spec.method, self.spec.format, self.spec.batch_size, self.spec.batch_bytes,
            frozenset(self.spec.refuse_statuses), scope,
        )  # fmt: skip
        frame = attempt.events.select(*EVENT, item.cast("binary").alias("item"))
        attempt.refuse(deliver(frame, writer, self.spec.write_deadline))
        return attempt.counts

    def resolve(self, planned: Planned) -> Resolution:
        """The server cannot be asked: everything may be there already; it has seen the Idempotency-Keys."""
        return Resolution(delivered_before=planned.bound, complete=False)


@dataclass(frozen=True)
class Item:
    """One event: its place in the Arrow batch, what identifies it, and what is sent of it."""

    index: int
    origin: str
    content: bytes


class HttpWriter(Writer):
    """One task of the sink."""

    def __init__(
        self, connection: Connection, method: str, form: Literal["json_array", "ndjson"], most: int, most_bytes: int,
        refuse_statuses: frozenset[int], scope: str,
    ) -> None:  # fmt: skip
        self._connection, self._method, self._form = connection, method, form
        self._most, self._most_bytes = most, most_bytes
        self._refuse_statuses, self._scope = refuse_statuses, scope

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
        for chunk in chunks(items(events, "item"), self._most, self._most_bytes):
            refused += self._send(chunk)
        return refused

    def _send(self, chunk: list[Item]) -> list[tuple[int, str]]:
        answer = self._request(chunk)
        named = refused_by(answer, len(chunk))
        causes = [(chunk[index].index, cause) for index, cause in named.items()]
        if answer.is_success:
            return causes
        if answer.status not in self._refuse_statuses:
            raise RequestFailed(f"the server answered {answer.summary()}")
        if named:
            rest = [item for index, item in enumerate(chunk) if index not in named]
            return causes + (self._send(rest) if rest else [])
        if len(chunk) == 1:
            return [(chunk[0].index, f"The server answered {answer.summary()}")]
        middle = len(chunk) // 2
        return self._send(chunk[:middle]) + self._send(chunk[middle:])

    def _request(self, chunk: list[Item]) -> Answer:
        begin, between, end, _ = _FORMS[self._form]
        content = begin + between.join(item.content for item in chunk) + end
        key = idempotency_key(self._scope, chunk)
        return self._requests.send(self._method, "", content, self._deadline, {"Idempotency-Key": key})


def items(events: pa.RecordBatch, column: str) -> Iterator[Item]:
    """The events of an Arrow batch, in order."""
    columns = [events.column(name).to_pylist() for name in ("topic", "partition", "offset", column)]
    for index, (topic, partition, offset, content) in enumerate(zip(*columns, strict=True)):
        yield Item(index, f"{topic}/{partition}/{offset}", content)


def chunks(events: Iterator[Item], most: int, most_bytes: int) -> Iterator[list[Item]]:
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


def idempotency_key(scope: str, chunk: list[Item]) -> str:
    """The same for the same events of a pipeline, however often they are sent."""
    digest = hashlib.sha256(scope.encode())
    for item in chunk:
        digest.update(f"\n{item.origin}".encode())
        digest.update(hashlib.sha256(item.content).digest())
    return digest.hexdigest()


def refused_by(answer: Answer, count: int) -> dict[int, str]:
    """The events that an answer names, by index: `{"refused": [{"index": 0, "reason": "…"}]}`."""
    try:
        data: Any = json.loads(answer.body)
    except ValueError:
        return {}
    listed = data.get("refused") if isinstance(data, dict) else None
    found: dict[int, str] = {}
    for entry in listed if isinstance(listed, list) else []:
        index = entry.get("index") if isinstance(entry, dict) else entry
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < count:
            reason = entry.get("reason", "") if isinstance(entry, dict) else ""
            found[index] = f"The server refused it with {answer.status}: {reason}".rstrip(": ")
    return found
