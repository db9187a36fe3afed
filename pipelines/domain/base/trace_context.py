"""The trace that an operation or a migration belongs to, by W3C Trace Context.

Ids are derived from the operation's own, so that whoever derives them again, after a crash or on another host, gets the
same ones.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from uuid import UUID

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII | re.DOTALL)
_NEVER = "ff"
"""A version that does not exist."""
_SAMPLED = 0x01
TRACEPARENT_LENGTH = 55


@dataclass(frozen=True)
class TraceContext:
    """A trace, and the span that the next one is a child of; empty where that one is the first. `sampled`: whoever
    began the trace records it."""

    trace_id: str
    span_id: str = ""
    sampled: bool = True

    def header(self, span_id: str) -> str:
        """The `traceparent` of a child of this span."""
        return f"00-{self.trace_id}-{span_id}-{'01' if self.sampled else '00'}"


def parse(header: str) -> TraceContext | None:
    """What a `traceparent` says; None for one that is not valid, which counts as none. Later versions may append."""
    found = _TRACEPARENT.fullmatch(header.strip(" \t"))
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == _NEVER or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


def context_of(subject: UUID, traceparent: str) -> TraceContext:
    """The trace that a request has named, or one of the subject's own."""
    return parse(traceparent) or TraceContext(subject.hex)


def span_id(subject: UUID, *names: str | int) -> str:
    """The id of one span of a subject, always the same."""
    text = "/".join([subject.hex, *(str(name) for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def handed_on(subject: UUID, traceparent: str) -> str:
    """The `traceparent` that goes with the subject to others: its own span is their parent."""
    return context_of(subject, traceparent).header(span_id(subject))
