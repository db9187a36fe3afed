"""The trace of a request, by W3C Trace Context."""

from __future__ import annotations

import structlog
from rest_framework.request import Request

from pipelines.domain.base.trace_context import parse


def traceparent(request: Request) -> str:
    """The trace that a client wants its request to be part of; empty where its header is missing or not valid."""
    header = request.headers.get("traceparent", "")
    context = parse(header)
    return context.header(context.span_id) if context else ""


def route(request: Request) -> str:
    """The address of the request with the names of its parameters instead of their values."""
    match = request.resolver_match
    return f"/{match.route}" if match else ""


def join(header: str) -> None:
    """Have the log lines of the request name the trace of this `traceparent`."""
    if context := parse(header):
        name_trace(context.trace_id)


def name_trace(trace_id: str) -> None:
    """Have the further log lines of the request name a trace."""
    structlog.contextvars.bind_contextvars(trace_id=trace_id)
