"""Tests in a definition: given events, and what is expected to become of them."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import ComponentName, HeaderName, Instant, refuse
from pipelines.domain.definitions.parts.component import Spec, field

MOST_TESTS = 100
MOST_EVENTS = 100
MOST_BODY = 64 * 1024
_BODIES = ("body", "body_base64", "body_json")
_KINDS = ("channels", "filtered_by", "dead", "unrouted")

Text = Annotated[str, Field(max_length=MOST_BODY)]
ComponentPath = Annotated[str, Field(max_length=200)]


def _component_or_true(value: Any) -> Any:
    if value is not True and not isinstance(value, str):
        refuse("wrong_type", f"{quote(value)} names no component.", "Write true, or the path of the component.")
    return value


def _true(value: Any) -> Any:
    if value is not True:
        refuse("unknown_value", f"{quote(value)} is not possible here.", "Write true, or remove it.")
    return value


def _base64(value: Any) -> Any:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        refuse("invalid_base64", f"{quote(value)} is not base64.", "Write the bytes in base64, or text as body.")
    return value


DeadBy = Annotated[
    Literal[True] | ComponentPath,
    BeforeValidator(_component_or_true),
    WithJsonSchema({"anyOf": [{"const": True}, {"type": "string", "maxLength": 200}]}),
]
OnlyTrue = Annotated[Literal[True], BeforeValidator(_true)]
Base64 = Annotated[str, Field(max_length=MOST_BODY * 4 // 3 + 4), BeforeValidator(_base64)]


class _WithBody(Spec):
    """A body in one of three forms."""

    key: Text | None = field("The key, as text.", default=None, example="1007")
    body: Text | None = field("The body, as text.", default=None, example="order 1007")
    body_base64: Base64 | None = field("The body, as bytes in base64.", default=None, example="/w==")
    body_json: Any = field("The body, as a JSON value.", default=None, example={"id": 1007})

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        given = [name for name in _BODIES if getattr(self, name) is not None]
        if len(given) > 1:
            refuse("two_bodies", f"There are several bodies: {', '.join(given)}.", "Keep one of them.")
        if self.body_json is not None and len(self.json_text()) > MOST_BODY:
            refuse("too_long", "The body is too long.", f"Use at most {MOST_BODY // 1024} KiB.")
        return self

    def json_text(self) -> str:
        """`body_json` as it is sent: without spaces, keys sorted."""
        return json.dumps(self.body_json, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def content(self) -> bytes | None:
        """The body's bytes; None where there is none."""
        if self.body_base64 is not None:
            return base64.b64decode(self.body_base64)
        if self.body_json is not None:
            return self.json_text().encode()
        return None if self.body is None else self.body.encode()


class GivenEvent(_WithBody):
    """An event as the source reads it."""

    headers: dict[HeaderName, Text] = field("Headers.", default={}, example={"country": "CZ"}, max_length=100)
    timestamp: Instant | None = field(
        "When the record was written. Kafka sources put it into their timestamp_header.",
        default=None,
        example="2026-01-31T12:00:00Z",
    )


class Expectation(_WithBody):
    """What becomes of one event: one of `channels`, `filtered_by`, `dead` and `unrouted`."""

    channels: list[ComponentName] | None = field(
        "It is delivered to exactly these channels.",
        default=None,
        example=["lake"],
        refers="channels",
        min_length=1,
        max_length=100,
    )
    headers: dict[HeaderName, Text] = field(
        "With these headers; it can have others, too.", default={}, example={"country": "CZ"}, max_length=100
    )
    absent_headers: list[HeaderName] = field("Without these headers.", default=[], example=["debug"], max_length=100)
    filtered_by: ComponentPath | None = field(
        "It is filtered by this component.", default=None, example="sources.shop.interceptors[0]"
    )
    dead: DeadBy | None = field(
        "It becomes a dead letter: `true`, or by this component.", default=None, example="sources.shop.interceptors[1]"
    )
    unrouted: OnlyTrue | None = field("The selector sends it to no channel.", default=None, example=True)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [name for name in _KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            found = f"several: {', '.join(given)}" if given else "none"
            refuse("one_outcome", f"An event has one outcome; here are {found}.", f"Write one of {', '.join(_KINDS)}.")
        content = [name for name in ("key", *_BODIES, "headers", "absent_headers") if getattr(self, name)]
        if self.channels is None and content:
            words = f"{', '.join(content)} can be expected of delivered events alone."
            refuse("not_delivered", words, "Remove it, or expect channels.")
        return self


class DefinitionTest(Spec):
    """Events of one source, and all that becomes of them."""

    name: str = field("What it shows.", example="Debug lines are filtered", min_length=1, max_length=200)
    source: ComponentName | None = field(
        "The source whose interceptors and selector the events pass. Required where there are several.",
        default=None,
        example="shop",
        refers="sources",
    )
    given: list[GivenEvent] = field(
        "The events, in their order.", example=[{"body": "DEBUG"}], min_length=1, max_length=MOST_EVENTS
    )
    expect: list[Expectation] = field(
        "What becomes of each event, in the order of the events. A record of which an interceptor makes several events "
        "has an entry for each of them.",
        example=[{"filtered_by": "sources.shop.interceptors[0]"}],
        min_length=1,
        max_length=10 * MOST_EVENTS,
    )
