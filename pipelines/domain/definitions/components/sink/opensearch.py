"""Events as documents of an OpenSearch index."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import HeaderName, Syntax
from pipelines.domain.definitions.parts.component import field
from pipelines.domain.definitions.parts.http_client import HttpSinkSpec, Url

IndexName = Annotated[
    str,
    Syntax(
        "invalid_index",
        r"(?!\.{1,2}$)[a-z0-9.][a-z0-9._-]{0,249}",
        "Use lower-case letters, digits, dots, hyphens and underscores, and begin with a letter, digit or dot.",
    ),
]


class OpensearchSink(HttpSinkSpec):
    """Indexes events with bulk requests, at least once; what comes twice replaces itself, since each has an id.

    Items that are refused with 429 or 5xx are sent again, those with another error become dead letters.
    """

    title: ClassVar[str] = "OpenSearch"
    once: ClassVar[bool] = True
    condition: ClassVar[str] = "An event that is sent twice replaces the document with its id."
    type: Literal["opensearch"] = field("Chooses this sink.", example="opensearch")
    hosts: Annotated[list[Url], Field(min_length=1, max_length=100)] = field(
        "Addresses of nodes; the next one is tried if one is unreachable.",
        example=["https://search-1.example:9200"],
        reach="url",
    )
    index: IndexName = field("The index, or an alias or data stream.", example="orders")
    index_header: HeaderName | None = field(
        "A header that names the index instead, out of `allowed_indices`.", default=None, example="index"
    )
    allowed_indices: list[IndexName] = field(
        "The indices that the header may choose.", default=[], example=["orders-cz", "orders-us"], max_length=1000
    )
    id_header: HeaderName | None = field(
        "A header that is the document's id. Where it is missing, and by default, the id is the event's origin.",
        default=None,
        example="order_id",
    )
    action: Literal["index", "create"] = field(
        "`index` replaces a document with the same id, `create` leaves the one that is there (data streams need it).",
        default="index",
        example="create",
    )
    document: Literal["body", "event"] = field(
        "`body`: the body, which must be a JSON object. `event`: an object of headers and body.",
        default="body",
        example="event",
    )
