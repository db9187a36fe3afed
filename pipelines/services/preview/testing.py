"""Tests of definitions are requested here and run by the worker of a host, as previews are."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.document.spec import ANY_HOST, Definition
from pipelines.domain.preview.protocol import CasesResult
from pipelines.domain.preview.spark_checks import sql_interceptors
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.models import CaseRun, Host, Pipeline, Team
from pipelines.selectors.hosts.hosts import expected, supervised
from pipelines.services.base import audit, host_tasks
from pipelines.services.base.audit import Actor

SECONDS = 120.0
"""What one run may take on its host."""
KEPT_FOR = timedelta(days=7)
"""How long a definition can be published without running its tests again."""


@transaction.atomic
def request(*, definition: Definition, team: Team, pipeline: Pipeline | None, actor: Actor) -> CaseRun:
    """Ask for a run of the tests, in which Spark checks the SQL, too. `pipeline`: the one that the definition is of, if
    it exists. Raises Invalid where there is neither, Conflict where no host is there to run them, TooManyRequests where
    too many are waiting for it."""
    if not definition.tests and not sql_interceptors(definition):
        finding = Finding(
            path="tests",
            code="no_tests",
            message="The definition has no tests, and no SQL that Spark could check.",
            suggestion="Add tests to it.",
        )
        raise Invalid(finding.message, code="no_tests", hint=finding.suggestion, findings=[finding])
    host = _host(definition, pipeline)
    run = CaseRun.objects.create(
        **host_tasks.admitted(CaseRun, host, actor.name, of_host="host") | {"expires_at": clock.now() + KEPT_FOR},
        team=team,
        host=host,
        pipeline=pipeline,
        candidate=definition.plain(),
        digest=definition.digest(),
    )
    asked = {"run": str(run.pk), "digest": run.digest, "host": host.name, "tests": len(definition.tests or ())}
    audit.record(actor=actor, action="tests.requested", pipeline_name=definition.name, after=asked)
    dispatch.wake(host.name)
    return run


def _host(definition: Definition, pipeline: Pipeline | None) -> Host:
    """That of the pipeline, else that on which it is placed, else any whose worker runs."""
    wanted = pipeline.host_id if pipeline and pipeline.host_id else definition.placement.host
    found = expected().order_by("name")
    hosts = found if wanted == ANY_HOST else found.filter(name=wanted)
    host = next((each for each in hosts if supervised(each)), None)
    if host is None:
        where = "any host" if wanted == ANY_HOST else f"the host {wanted}"
        raise Conflict(
            f"The tests cannot be run: no worker of {where} runs.",
            code="host_silent",
            hint="Start the worker of this host." if wanted != ANY_HOST else "Start a worker.",
        )
    return host


def finish(*, run: CaseRun, result: CasesResult) -> bool:
    """Keep how the tests ended. False where somebody else has ended the run."""
    return host_tasks.finish(run, result.model_dump(mode="json"), passed=result.passed)
