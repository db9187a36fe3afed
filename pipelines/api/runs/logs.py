"""The log of a run's agent."""

from __future__ import annotations

from typing import Annotated

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel, Field, StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import RunView, answer
from pipelines.api.http.watch_requests import Since
from pipelines.domain.runs.log_lines import ADDRESS, LogFilter, LogLevel, stamp_of
from pipelines.selectors.runs.logs import LogRequest, read_log
from pipelines.selectors.runs.schemas import LogSchema


class LogQuery(BaseModel):
    """The last `tail` lines, or what follows byte `offset`, or the lines around the one at the address `at`: its time
    and, behind `~`, the CRC-32 of its text. `level`: without less important lines; `component`: of this one alone;
    `since`: a time, or for how long (5m, 1h); `find`: with a text, in any case of letters. A line that states no level
    belongs to the line before it. Of what `since` and the others leave, the last 16 MiB are searched."""

    tail: int = Field(default=200, ge=1, le=10_000)
    offset: int | None = Field(default=None, ge=0, lt=2**63)
    level: LogLevel | None = None
    component: str | None = Field(default=None, max_length=63)
    since: Since | None = None
    find: str | None = Field(default=None, max_length=200)
    at: Annotated[str, StringConstraints(pattern=ADDRESS)] | None = None
    format: Annotated[str, StringConstraints(pattern="^(json|text)$")] = "json"

    @property
    def wanted(self) -> LogFilter:
        """Which lines."""
        since = stamp_of(self.since) if self.since else None
        return LogFilter(level=self.level, component=self.component, since=since, find=self.find)


class RunLog(RunView):
    """The log of a run's agent."""

    queries = {"GET": LogQuery}

    @extend_schema(
        operation_id="get_run_log",
        responses={(200, "application/json"): LogSchema, (200, "text/plain"): str},
    )
    def get(self, request: Request, run_id: int) -> HttpResponse | Response:
        """Show the last lines of the log, those that follow a byte offset, or those around a line; `format=text` gives
        the text alone."""
        query = self.query(LogQuery)
        wanted = LogRequest(tail=query.tail, offset=query.offset, at=query.at, wanted=query.wanted)
        log = read_log(self.run, wanted, host=settings.HEADGATE.host, state_dir=settings.HEADGATE.state)
        if query.format == "text":
            return HttpResponse(log.text, content_type="text/plain; charset=utf-8")
        return answer(log)
