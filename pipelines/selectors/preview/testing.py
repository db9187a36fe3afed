"""Runs of the tests of definitions, and what they say of a definition that is to be published."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from pipelines.domain.access.teams import Access
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import HostTaskState
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.protocol import CaseResult, CasesResult
from pipelines.domain.preview.spark_checks import about_sql, not_checked, sql_interceptors
from pipelines.foundation.errors import NotFound
from pipelines.models import CaseRun, Pipeline, Revision, Run
from pipelines.selectors.base.host_tasks import HostTaskErrorSchema, HostTaskSchema, open_tasks, task_fields

NOT_RUN, FAILED = "TESTS_NOT_RUN", "TESTS_FAILED"
_RUN_THEM = "Run them: headgate test -f FILE, Run tests in the editor, or POST /api/v1/test-runs."
_CORRECT = "Correct the definition or the test, and run the tests again."
_ENDED = (HostTaskState.DONE, HostTaskState.FAILED)


class TestRunSchema(HostTaskSchema):
    """A run of the tests of the definition with this `digest`. `passed`: all did; None until it is done. `tests`: how
    each ended, passed without failures."""

    pipeline: str
    team: str
    host: str
    digest: str
    passed: bool | None
    tests: list[CaseResult]


def open_runs(host: str) -> list[CaseRun]:
    """What the worker of a host has to run, oldest first."""
    return open_tasks(CaseRun.objects.filter(host=host).select_related("pipeline"))


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
        **task_fields(run),
        pipeline=run.candidate["name"],
        team=run.team.name,
        host=run.host_id,
        digest=run.digest,
        passed=run.passed if result else None,
        tests=result.tests if result else [],
    )


def not_passed(definition: Definition, pipeline: Pipeline) -> list[Finding]:
    """Why the tests of a definition keep it from being published: they were not run since it is as it is, or the last
    run of them failed. None of a definition that was published before, since they had passed then."""
    if not definition.tests or Revision.objects.filter(pipeline=pipeline, digest=definition.digest()).exists():
        return []
    run = _last_run(definition, [pipeline.team_id])
    if run is None:
        words = "The tests of this definition were not run."
        return [Finding(path="tests", code=NOT_RUN, message=words, suggestion=_RUN_THEM)]
    if run.state == HostTaskState.FAILED:
        error = HostTaskErrorSchema.model_validate(run.error)
        words = f"The tests could not be run: {error.message}"
        return [Finding(path="tests", code=NOT_RUN, message=words, suggestion=error.hint or _RUN_THEM)]
    return _failures(run)


def run_findings(definition: Definition, teams: Collection[int] | None) -> list[Finding]:
    """What the last run of its tests in these teams, None for all, says of a definition: a warning for each test that
    failed, and what Spark has found in its SQL; a warning where Spark has not checked it and no agent has run with
    it."""
    has_sql = bool(sql_interceptors(definition))
    run = _last_run(definition, teams) if definition.tests or has_sql else None
    failed = [each.model_copy(update={"severity": "warning"}) for each in (_failures(run) if run else ())]
    return [*failed, *(_of_spark(definition, run, teams) if has_sql else ())]


def _of_spark(definition: Definition, run: CaseRun | None, teams: Collection[int] | None) -> list[Finding]:
    if run is not None and run.state == HostTaskState.DONE:
        return []
    refused = about_sql(HostTaskErrorSchema.model_validate(run.error).findings, definition) if run else []
    return refused or ([] if _has_run(definition, teams) else not_checked(definition))


def _last_run(definition: Definition, teams: Collection[int] | None) -> CaseRun | None:
    ended = CaseRun.objects.filter(digest=definition.digest(), state__in=_ENDED)
    rows = ended if teams is None else ended.filter(team__in=teams)
    return rows.defer("candidate").order_by("-requested_at", "-id").first()


def _has_run(definition: Definition, teams: Collection[int] | None) -> bool:
    rows = Run.objects.filter(
        pipeline__name=definition.name, revision__digest=definition.digest(), first_record_at__isnull=False
    )
    return (rows if teams is None else rows.filter(pipeline__team__in=teams)).exists()


def _failures(run: CaseRun) -> list[Finding]:
    tests = CasesResult.model_validate(run.result).tests if run.result else []
    return [_failed(test) for test in tests if test.failures]


def _failed(test: CaseResult) -> Finding:
    """The first failure of a test."""
    first = test.failures[0]
    more = f" ({len(test.failures)} failures)" if len(test.failures) > 1 else ""
    words = f"{test.name}: {first.message} Expected {_shown(first.expected)}, got {_shown(first.got)}.{more}"
    return Finding(path=first.path, code=FAILED, message=words, suggestion=_CORRECT)


def _shown(value: str | None) -> str:
    return "nothing" if value is None else value
