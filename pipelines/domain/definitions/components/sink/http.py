"""Batches of events in HTTP requests (Flume's HttpSink)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import field
from pipelines.domain.definitions.parts.http_client import HttpSinkSpec, RequestHeader, RequestHeaderValue, Status, Url


class HttpSink(HttpSinkSpec):
    """Sends batches of events to a server, at least once, each request with an `Idempotency-Key`.

    A request is delivered when its answer is 2xx. Of a request with a status of `refuse_statuses` the events are
    refused for good that the answer names, `{"refused": [{"index": 0, "reason": "…"}]}`, and the others are sent again;
    where it names none, the request is halved until the events that are refused stand alone. Every other status fails
    the batch, which is then held and tried again.
    """

    title: ClassVar[str] = "HTTP"
    condition: ClassVar[str] = (
        "A request that was not answered is sent again, with the same Idempotency-Key: the server can drop it."
    )
    type: Literal["http"] = field("Chooses this sink.", example="http")
    url: Url = field(
        "Where to send to.",
        example="https://collector.example/events",
        reach="url",
    )
    method: Literal["POST", "PUT"] = field("The method of a request.", default="POST", example="PUT")
    format: Literal["json_array", "ndjson"] = field(
        "`json_array`: one JSON array in each request; `ndjson`: one line for each event.",
        default="json_array",
        example="ndjson",
    )
    content: Literal["event", "body"] = field(
        '`event`: `{"headers": {…}, "body": "…"}`, as Flume\'s JSON handler reads it. `body`: the body itself; '
        "one that is not JSON is refused.",
        default="event",
        example="body",
    )
    headers: dict[RequestHeader, RequestHeaderValue] = field(
        "Headers of every request.", default={}, example={"X-Tenant": "shop"}, secret=True, max_length=100
    )
    refuse_statuses: list[Status] = field(
        "Statuses that mean that the server will never take the events: they become dead letters.",
        default=[400, 413, 422],
        example=[400, 401, 422],
        max_length=100,
    )
