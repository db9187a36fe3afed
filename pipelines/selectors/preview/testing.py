"""Runs of the tests of definitions, and what they say of a definition that is to be published."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pipelines.domain.access.teams import Access
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import OPEN_HOST_TASK_STATES, HostTaskState
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.protocol import CaseResult, CasesResult
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import CaseRun, Pipeline, Revision
from pipelines.selectors.base.schemas import HostTaskErrorSchema, Schema

NOT_RUN, FAILED = "TESTS_NOT_RUN", "TESTS_FAILED"
_RUN_THEM = "Run them: headgate test -f FILE, Run tests in the editor, or POST /api/v1/test-runs."
_CORRECT = "Correct the definition or the test, and run the tests again."
_ENDED = (HostTaskState.DONE, HostTaskState.FAILED)


class TestRunSchema(Schema):
    """A run of the tests of the definition with this `digest`. `passed`: all did; None until it is done. `tests`: how
    each ended, passed without failures."""

    id: UUID
    pipeline: str
    team: str
    host: str
    digest: str
    state: HostTaskState
    passed: bool | None
    requested_by: str
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime
    tests: list[CaseResult]
    error: HostTaskErrorSchema | None


def open_runs(host: str) -> list[CaseRun]:
    """What the worker of a host has to run, oldest first."""
    found = CaseRun.objects.filter(host=host, state__in=OPEN_HOST_TASK_STATES, deadline__gt=clock.now())
    return list(found.select_related("pipeline").order_by("requested_at")[:20])


def get_run(run_id: UUID, access: Access) -> CaseRun:
    """One of a team that the caller is in; raises NotFound."""
    rows = CaseRun.objects.select_related("team", "host").filter(pk=run_id)
    found = (rows if access.visible is None else rows.filter(team__in=access.visible)).first()
    if found is None:
        hint = "It does not exist or has expired; run the tests again."
        raise NotFound("There is no such run of tests.", code="test_run_not_found", hint=hint)
    return found


def run_schema(run: CaseRun) -> TestRunSchema:
    """A run as the API shows it."""
    result = CasesResult.model_validate(run.result) if run.result else None
    return TestRunSchema(
        id=run.pk,
        pipeline=run.candidate["name"],
        team=run.team.name,
        host=run.host_id,
        digest=run.digest,
        state=HostTaskState(run.state),
        passed=run.passed if result else None,
        requested_by=run.requested_by,
        requested_at=run.requested_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        expires_at=run.expires_at,
        tests=result.tests if result else [],
        error=HostTaskErrorSchema.model_validate(run.error) if run.error else None,
    )


def not_passed(definition: Definition, pipeline: Pipeline) -> list[Finding]:
    """Why the tests of a definition keep it from being published: they were not run since it is as it is, or the last
    run of them failed. None of a definition that was published before, since they had passed then."""
    if not definition.tests or Revision.objects.filter(pipeline=pipeline, digest=definition.digest()).exists():
        return []
    ended = CaseRun.objects.filter(team=pipeline.team_id, digest=definition.digest(), state__in=_ENDED)
    run = ended.order_by("-requested_at", "-id").first()
    if run is None:
        words = "The tests of this definition were not run."
        return [Finding(path="tests", code=NOT_RUN, message=words, suggestion=_RUN_THEM)]
    if run.state == HostTaskState.FAILED:
        error = HostTaskErrorSchema.model_validate(run.error)
        words = f"The tests could not be run: {error.message}"
        return [Finding(path="tests", code=NOT_RUN, message=words, suggestion=error.hint or _RUN_THEM)]
    return [_failed(test) for test in CasesResult.model_validate(run.result).tests if test.failures]


def _failed(test: CaseResult) -> Finding:
    """The first failure of a test."""
    first = test.failures[0]
    more = f" ({len(test.failures)} failures)" if len(test.failures) > 1 else ""
    words = f"{test.name}: {first.message} Expected {_shown(first.expected)}, got {_shown(first.got)}.{more}"
    return Finding(path=first.path, code=FAILED, message=words, suggestion=_CORRECT)


def _shown(value: str | None) -> str:
    return "nothing" if value is None else value
