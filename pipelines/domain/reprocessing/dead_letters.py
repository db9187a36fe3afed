"""Dead letters: where a repaired one may go, what it carries there, and how the place of a whole event is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.definitions.components.source.http import HttpSource
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.definitions.document.spec import BUFFER, Definition

RETRY_HEADER = "headgate.replay"
"""On a record that is a replayed letter: the letter's id."""
_OWN_HEADERS = ("headgate.dead.", "headgate.origin", RETRY_HEADER)

MAX_DEAD_LETTERS = 10_000
"""Letters of one replay."""
DEFAULT_RATE = 100.0
MAX_RATE = 1000.0
MIN_RATE = 0.1
"""Letters per second."""

Header = tuple[str, bytes]


class NotReplayable(Exception):
    """A letter cannot go back to its source; the text says why, `hint` what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class TopicTarget:
    """The topic that takes a replayed letter, and how its cluster is reached; `options` may hold references. `flume`:
    the source reads its records as Flume events."""

    servers: str
    options: Mapping[str, Any]
    topic: str
    flume: bool = False


@dataclass(frozen=True)
class HttpTarget:
    """The port of an HTTP source on its own host; `token` may be a reference. `certificate`: the file of the chain that
    it shows, where it speaks TLS. `blob`: a request is one event."""

    address: str
    port: int
    path: str
    token: str | None = field(default=None, repr=False)
    certificate: str | None = None
    blob: bool = False

    @property
    def url(self) -> str:
        """Where it is reached from its own host."""
        address = _REACHED_AS.get(self.address, self.address)
        host = f"[{address}]" if ":" in address else address
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}{self.path}"


Target = TopicTarget | HttpTarget

_REACHED_AS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound here
"""Where a port is reached that listens on every address."""


def target(definition: Definition, source: str, topic: str) -> Target:
    """Where letters of a source go back to, after the definition that would read them. Raises NotReplayable."""
    name = source.removeprefix(BUFFER)
    spec: Any = (definition.sources if name == source else definition.channels).get(name)
    if spec is None:
        raise NotReplayable(
            f"The pipeline no longer has the {'source' if name == source else 'channel'} {name}.",
            "Discard the dead letter, or publish a revision that reads its source again.",
        )
    if isinstance(spec, HttpSource):
        return HttpTarget(
            spec.bind, spec.port, spec.path, spec.token, spec.tls_certificate, blob=spec.handler == "blob"
        )
    if spec.type != "kafka":
        raise NotReplayable(_takes_nothing(name, spec.type), _INSTEAD.get(spec.type, _APPEND))
    if not _reads(spec, topic):
        raise NotReplayable(
            f"{name} no longer reads the topic {topic}.",
            "Publish a revision that reads it, or produce the event to a topic that is read.",
        )
    return TopicTarget(spec.bootstrap_servers, spec.options, topic, getattr(spec, "parse_as_flume_event", False))


def _takes_nothing(name: str, kind: str) -> str:
    return f"{name} is of the type {kind}; Headgate does not write to such a source."


_APPEND = "Put the repaired event where the source reads, as its producer does, and discard the dead letter."
_INSTEAD = {
    "taildir": "Append the repaired line to a file of the source, and discard the dead letter.",
    "spooldir": "Put a file with the repaired event into the source's directory, and discard the dead letter.",
    "file": "Fix what rejected it: a file channel accepts events from its source alone.",
}


def _reads(spec: Any, topic: str) -> bool:
    if not isinstance(spec, KafkaSource):
        return bool(spec.topic == topic)
    if spec.topics_pattern is not None:
        return re.fullmatch(spec.topics_pattern, topic) is not None
    return topic in spec.topics


def neighbours(definition: Definition, source: str, channel: str) -> list[str]:
    """Other channels that a record of the source may reach too: a replay is delivered there as well."""
    return [name for name in definition.targets(source) if name != channel] if source in definition.sources else []


def retry_headers(dead_letter_id: str, headers: Iterable[Header]) -> list[Header]:
    """An event's own headers, without those that Headgate added, and the one that marks a replay."""
    kept = [(name, value) for name, value in headers if not name.startswith(_OWN_HEADERS)]
    return [*kept, (RETRY_HEADER, dead_letter_id.encode())]


def flume_event(headers: Iterable[Header], body: bytes) -> bytes:
    """An AvroFlumeEvent: a map of headers and the body, without a schema in front (flume-ng-sdk, flume.avdl). Of two
    headers of one name the last one counts; a value that is not UTF-8 is written with replacement characters."""
    pairs = {name: value.decode("utf-8", "replace") for name, value in headers}
    block = b"".join(_avro_bytes(name.encode()) + _avro_bytes(text.encode()) for name, text in pairs.items())
    return (_avro_long(len(pairs)) + block if pairs else b"") + _avro_long(0) + _avro_bytes(body)


def _avro_bytes(data: bytes) -> bytes:
    return _avro_long(len(data)) + data


def _avro_long(number: int) -> bytes:
    """A length as Avro writes it: zigzag, seven bits a byte, the lowest first."""
    left, digits = number << 1, bytearray()
    while left > 0x7F:
        digits.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*digits, left])


@dataclass(frozen=True)
class FileLocation:
    """A line of JSON that begins at a byte of a file."""

    path: str
    start: int


@dataclass(frozen=True)
class TopicLocation:
    """A record of the dead letters' topic."""

    topic: str
    partition: int
    offset: int


_FILE = re.compile(r"(?P<path>/.+):(?P<start>\d{1,18})")
_RECORD = re.compile(r"(?P<topic>[A-Za-z0-9._-]{1,249})/(?P<partition>\d{1,9})@(?P<offset>\d{1,18})")


def location(text: str) -> FileLocation | TopicLocation | None:
    """Where a whole event lies: `/path:byte` or `topic/partition@offset`; None for anything else."""
    if found := _FILE.fullmatch(text):
        return FileLocation(found["path"], int(found["start"]))
    if found := _RECORD.fullmatch(text):
        return TopicLocation(found["topic"], int(found["partition"]), int(found["offset"]))
    return None
