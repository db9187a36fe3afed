"""Documents of an OpenSearch index, by bulk requests. Every document has an id: what comes twice replaces itself."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent.base import event_values
from workers.agent.base.findings import refuse
from workers.agent.base.log import say
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Resolution, SinkBuilder
from workers.agent.http.chunked_writer import ChunkedWriter, Item
from workers.agent.http.probe import check_client, probe_server, reach_server
from workers.agent.http.requests import Connection, RequestFailed
from workers.agent.spark.executor_writer import EVENT, deliver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONFLICT = 409
_LONGEST_ID = 512
_MOST_ROUNDS = 20
_SHOWN = 300
_ERROR_TYPE = re.compile(r"[a-z_]{1,64}")


class Builder(SinkBuilder):
    """Writes one channel to one index, or to several by a header."""

    def probe(self) -> None:
        """The cluster answers, and every index exists."""
        check_client(self.spec, self.place.path)
        missing = [index for index in self._indices() if self._is_missing(index)]
        if missing:
            message = f"There is no index {', '.join(missing)}."
            raise refuse(f"{self.place.path}.index", "INDEX_MISSING", message, "Create it, or correct its name.")

    def _indices(self) -> list[str]:
        return sorted({self.spec.index, *self.spec.allowed_indices})

    def _is_missing(self, index: str) -> bool:
        return probe_server(self._connection(), self.place.path, "HEAD", f"/{index}").status == 404

    def reach(self) -> None:
        """The server takes connections."""
        reach_server(self._connection())

    def _connection(self) -> Connection:
        headers = {"Content-Type": "application/x-ndjson"}
        return Connection.of(self.spec, self.spec.hosts, headers, self.place.reach)

    def refuses(self) -> Column | None:
        """Bodies that are no documents, indices that are not allowed, ids that are too long."""
        causes = []
        if self.spec.document == "body":
            causes.append(f.when(~event_values.is_object(), f.lit("The body is not a JSON object.")))
        if self.spec.index_header:
            chosen = event_values.header(self.spec.index_header)
            words = f.concat(f.lit("The index "), chosen, f.lit(" is not allowed."))
            causes.append(f.when(chosen.isNotNull() & ~chosen.isin(self._indices()), words))
        if self.spec.id_header:
            too_long = f.octet_length(event_values.header(self.spec.id_header)) > _LONGEST_ID
            causes.append(f.when(too_long, f.lit(f"The id is longer than {_LONGEST_ID} bytes.")))
        return f.coalesce(*causes) if causes else None

    def write(self, attempt: Attempt) -> Counts:
        """Every task sends its events in order, one bulk request at a time."""
        frame = attempt.events.select(*EVENT, self._item(attempt.events).cast("binary").alias("item"))
        writer = BulkWriter(self._connection(), self.spec.batch_size, self.spec.batch_bytes, self.spec.action)
        attempt.refuse(deliver(frame, writer, self.spec.write_deadline))
        return attempt.counts

    def _item(self, events: DataFrame) -> Column:
        """The two lines of an event in a bulk request. Several events of one record differ in their last number."""
        parts = [f.lit(self.place.pipeline), event_values.origin()]
        if "copy" in events.columns:
            parts.append(f.when(f.col("copy") > 0, f.col("copy").cast("string")))
        identity = f.concat_ws("/", *parts)
        if self.spec.id_header:
            chosen = event_values.header(self.spec.id_header)
            identity = f.coalesce(f.when(f.length(chosen) > 0, chosen), identity)
        index: Column = f.lit(self.spec.index)
        if self.spec.index_header:
            index = f.coalesce(event_values.header(self.spec.index_header), index)
        meta = f.to_json(f.struct(f.struct(index.alias("_index"), identity.alias("_id")).alias(self.spec.action)))
        if self.spec.document == "body":
            document = f.to_json(event_values.body_variant())
        else:
            document = event_values.event_json(with_origin=True)
        return f.concat(meta, f.lit("\n"), document, f.lit("\n"))

    def resolve(self, planned: Planned) -> Resolution:
        """Whatever is there already is replaced by itself: nothing can be there twice."""
        return Resolution(delivered_before=0)


class BulkWriter(ChunkedWriter):
    """One task of the sink."""

    def __init__(self, connection: Connection, most: int, most_bytes: int, action: str) -> None:
        super().__init__(connection, most, most_bytes)
        self._action = action

    def _send(self, chunk: list[Item]) -> list[tuple[int, str]]:
        refused: list[tuple[int, str]] = []
        for number in range(_MOST_ROUNDS):
            again: list[Item] = []
            for item, result in zip(chunk, self._bulk(chunk), strict=True):
                status, cause = self._outcome(result)
                if status in self._connection.retry_statuses or status >= 500:
                    again.append(item)
                elif cause:
                    refused.append((item.index, cause))
            if not again:
                return refused
            chunk = again
            self._requests.wait(number, self._deadline)
        raise RequestFailed(f"{len(chunk)} documents were deferred {_MOST_ROUNDS} times: {cause or status}")

    def _bulk(self, chunk: list[Item]) -> list[Any]:
        content = b"".join(item.content for item in chunk)
        answer = self._requests.send("POST", "/_bulk", content, self._deadline)
        if not answer.is_success:
            raise self._requests.failed("the cluster", answer)
        results = json.loads(answer.body).get("items", [])
        if len(results) != len(chunk):
            raise RequestFailed(f"the cluster answered for {len(results)} of {len(chunk)} documents")
        return list(results)

    def _outcome(self, result: Any) -> tuple[int, str]:
        """Status of one item, and why it is refused; empty where it is there."""
        outcome = next(iter(result.values()))
        status = int(outcome["status"])
        if status < 300 or (status == _CONFLICT and self._action == "create"):
            return status, ""
        error = outcome.get("error") or {}
        kind = str(error.get("type", "")) if isinstance(error, dict) else ""
        say(f"OpenSearch rejected an event with {status}: {str(error)[:_SHOWN]}", "WARNING")
        named = kind if _ERROR_TYPE.fullmatch(kind) else ""
        return status, f"OpenSearch rejected the event with {status} {named}".strip()
