"""Rehearsals: sample events through a definition; nothing is stored and nothing committed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, View, answer
from pipelines.api.http.requests import RehearsalBody, RehearsalOfPipelineBody
from pipelines.api.lifecycle.pipelines import validated
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import HeadgateError, Invalid, NotFound, TooManyRequests, Unavailable
from pipelines.foundation.interceptors import allowed_interceptors
from pipelines.foundation.rehearsal import RehearsalFailed, rehearse
from pipelines.selectors.lifecycle.schemas import RehearsalSchema
from pipelines.services.definitions import definitions

_LOCK = "rehearsal.lock"
_SHOWN = ("path", "code", "message", "suggestion")


class Rehearse(View):
    """Of a definition that need not be stored."""

    costs = {"POST": 10}
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="rehearse_definition", request=RehearsalBody, responses=RehearsalSchema)
    def post(self, request: Request) -> Response:
        """Send sample events through a definition; one rehearsal at a time."""
        body = self.body(RehearsalBody)
        validation = validated(body.definition, self.access.teams_with(Role.OPERATOR))
        if validation.definition is None:
            raise definitions.invalid(validation.findings)
        return answer(_rehearsed(validation.definition.plain(), body))


class RehearsePipeline(PipelineView):
    """Of a stored pipeline."""

    costs = {"POST": 10}
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="rehearse_pipeline", request=RehearsalOfPipelineBody, responses=RehearsalSchema)
    def post(self, request: Request, name: str) -> Response:
        """Send sample events through the present revision of a pipeline; one rehearsal at a time."""
        revision = self.pipeline.current_revision
        if revision is None:
            raise NotFound("The pipeline has no definition.", hint="Publish a revision.")
        return answer(_rehearsed(revision.definition, self.body(RehearsalOfPipelineBody)))


def _rehearsed(definition: dict[str, Any], body: RehearsalOfPipelineBody) -> RehearsalSchema:
    environment = settings.HEADGATE
    with _alone(environment.state / _LOCK):
        try:
            result = rehearse(
                definition,
                [event.model_dump(exclude_none=True) for event in body.events],
                source=body.source,
                interceptors=allowed_interceptors(environment.interceptors),
                interceptor_path=environment.interceptor_path,
            )
        except RehearsalFailed as failure:
            raise _problem(failure) from None
    return RehearsalSchema.model_validate(result)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One rehearsal per server: each is a process with a JVM. Raises TooManyRequests."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TooManyRequests(
                "Another rehearsal is running.",
                code="rehearsal_running",
                hint="Try again in a few seconds.",
                retry_after=5,
            ) from None
        yield


def _problem(failure: RehearsalFailed) -> HeadgateError:
    if failure.findings or failure.code == "too_many_events":
        findings = [Finding(**{key: found[key] for key in _SHOWN}) for found in failure.findings]
        return Invalid(failure.detail, code=failure.code, hint=failure.hint, findings=findings)
    return Unavailable(failure.detail, code=failure.code, hint=failure.hint)
