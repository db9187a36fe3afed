"""Messages as Redis has them: each is checked before Celery reads it, since a malformed one would end the worker."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Annotated, Any, Literal

from kombu.transport import redis
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from pipelines.foundation.redis_py import ResponseError
from pipelines.foundation.refusals import Refusals

_Word = Annotated[str, StringConstraints(max_length=100)]
_REFUSALS = Refusals("messages_refused")


def _content(body: str) -> str:
    """The arguments of a message and nothing else: no keywords, and no tasks to run afterwards."""
    match json.loads(b64decode(body, validate=True)):
        case [[*arguments], _, _]:
            return b64encode(json.dumps([arguments, {}, {}]).encode()).decode()
    raise ValueError("it has no list of arguments")


class _Headers(BaseModel):
    task: Annotated[str, StringConstraints(pattern=r"^workers\.[a-z_]{1,50}$")]
    id: _Word
    expires: AwareDatetime | None = None


class _DeliveryInfo(BaseModel):
    exchange: Literal[""]
    routing_key: _Word


class _Properties(BaseModel):
    correlation_id: _Word
    delivery_tag: _Word
    delivery_info: _DeliveryInfo
    body_encoding: Literal["base64"]


class _Message(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)

    body: Annotated[str, StringConstraints(max_length=10_000), AfterValidator(_content)]
    encoding: Literal["utf-8"] = Field(alias="content-encoding")
    type: Literal["application/json"] = Field(alias="content-type")
    headers: _Headers
    properties: _Properties


def checked(message: bytes) -> str | None:
    """What Celery reads of a message: what has been checked and nothing else. None for one that it must not read."""
    try:
        return _Message.model_validate_json(message).model_dump_json()
    except RecursionError:
        _REFUSALS.add("It is nested too deeply.")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        _REFUSALS.add(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return None


def _received(answer: tuple[bytes, bytes] | None) -> tuple[bytes, str] | None:
    """What Redis answers to BRPOP: a queue with a message, or nothing in time, as which a refused message counts."""
    found = answer and checked(answer[1])
    return (answer[0], found) if answer and found else None


class Channel(redis.Channel):
    """A channel whose messages are checked."""

    def _create_client(self, asynchronous: bool = False) -> Any:
        client = super()._create_client(asynchronous)  # type: ignore[no-untyped-call]
        client.set_response_callback("BRPOP", _received)
        return client


class Transport(redis.Transport):
    """Redis, with such channels. What it does not do is no reason to end, and may work with the next connection."""

    Channel = Channel
    connection_errors = (*redis.Transport.connection_errors, ResponseError)
