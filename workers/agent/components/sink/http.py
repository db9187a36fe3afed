"""Batches of events in HTTP requests, at least once, with an Idempotency-Key that is the same for the same events."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent.base import event_values
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Resolution, SinkBuilder
from workers.agent.http.chunked_writer import ChunkedWriter, Item
from workers.agent.http.probe import check_client, probe_server, reach_server
from workers.agent.http.requests import Connection, HttpResponse
from workers.agent.spark.executor_writer import EVENT, deliver

_FORMS = {"json_array": (b"[", b",", b"]", "application/json"), "ndjson": (b"", b"\n", b"\n", "application/x-ndjson")}


class Builder(SinkBuilder):
    """Sends one channel to one address."""

    def probe(self) -> None:
        """The server answers, and does not turn our log-in away. OPTIONS has no effect."""
        check_client(self.spec, self.place.path)
        probe_server(self._connection(), self.place.path, "OPTIONS", "")

    def reach(self) -> None:
        """The server takes connections."""
        reach_server(self._connection())

    def _connection(self) -> Connection:
        content_type = _FORMS[self.spec.format][3]
        return Connection.of(
            self.spec, [self.spec.url], {**self.spec.headers, "Content-Type": content_type}, self.place.reach
        )

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
            self._connection(),
            self.spec.method,
            self.spec.format,
            self.spec.batch_size,
            self.spec.batch_bytes,
            frozenset(self.spec.refuse_statuses),
            scope,
        )
        frame = attempt.events.select(*EVENT, item.cast("binary").alias("item"))
        attempt.refuse(deliver(frame, writer, self.spec.write_deadline))
        return attempt.counts

    def resolve(self, planned: Planned) -> Resolution:
        """The server cannot be asked: everything may be there already; it has seen the Idempotency-Keys."""
        return Resolution(delivered_before=planned.bound, complete=False)


class HttpWriter(ChunkedWriter):
    """One task of the sink."""

    def __init__(
        self,
        connection: Connection,
        method: str,
        form: Literal["json_array", "ndjson"],
        most: int,
        most_bytes: int,
        refuse_statuses: frozenset[int],
        scope: str,
    ) -> None:
        super().__init__(connection, most, most_bytes)
        self._method, self._form = method, form
        self._refuse_statuses, self._scope = refuse_statuses, scope

    def _send(self, chunk: list[Item]) -> list[tuple[int, str]]:
        answer = self._request(chunk)
        named = refused_by(answer, len(chunk))
        causes = [(chunk[index].index, cause) for index, cause in named.items()]
        if answer.is_success:
            return causes
        if answer.status not in self._refuse_statuses:
            raise self._requests.failed("the server", answer)
        answer.log_body(self._connection.urls[0])
        if named:
            rest = [item for index, item in enumerate(chunk) if index not in named]
            return causes + (self._send(rest) if rest else [])
        if len(chunk) == 1:
            return [(chunk[0].index, f"The server answered {answer.summary()}")]
        middle = len(chunk) // 2
        return self._send(chunk[:middle]) + self._send(chunk[middle:])

    def _request(self, chunk: list[Item]) -> HttpResponse:
        start, between, end, _ = _FORMS[self._form]
        content = start + between.join(item.content for item in chunk) + end
        key = idempotency_key(self._scope, chunk)
        return self._requests.send(self._method, "", content, self._deadline, {"Idempotency-Key": key})


def idempotency_key(scope: str, chunk: list[Item]) -> str:
    """The same for the same events of a pipeline, however often they are sent."""
    digest = hashlib.sha256(scope.encode())
    for item in chunk:
        digest.update(f"\n{item.origin}".encode())
        digest.update(hashlib.sha256(item.content).digest())
    return digest.hexdigest()


def refused_by(answer: HttpResponse, count: int) -> dict[int, str]:
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
            found[index] = f"The server rejected the event with {answer.summary()}."
    return found
