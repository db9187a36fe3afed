"""Runs of the tests of definitions. The worker of a host runs them; nothing is read, delivered or committed."""

from __future__ import annotations

from functools import cached_property
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.rights import require_rights
from pipelines.api.http.base import TeamView, View, answer, idempotent
from pipelines.api.http.requests import DefinitionBody, Text
from pipelines.api.lifecycle.pipelines import owner_of_new, validated
from pipelines.domain.base.roles import Role
from pipelines.models import CaseRun
from pipelines.selectors.base.visible import visible
from pipelines.selectors.lifecycle.pipelines import pipelines
from pipelines.selectors.preview.testing import TestRunSchema, get_run, run_schema
from pipelines.services.definitions import definitions
from pipelines.services.preview import testing


class TestRunBody(DefinitionBody):
    """A definition, whose tests are run. `team`: of a pipeline that does not exist yet, as when it is created."""

    team: Text | None = Field(default=None, max_length=63)


class TestRunList(View):
    """Runs of tests."""

    costs = {"POST": 10}

    @extend_schema(operation_id="create_test_run", request=TestRunBody, responses={202: TestRunSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Run the tests of a definition by the code that agents run. Nothing is stored of the definition. The address
        of the run is in Location."""
        body = self.body(TestRunBody)
        validation = validated(body.definition, self.access.teams_with(Role.OPERATOR))
        if (definition := validation.definition) is None:
            raise definitions.invalid(validation.findings)
        pipeline = visible(pipelines(), self.access).filter(name=definition.name).select_related("team").first()
        team = pipeline.team if pipeline else owner_of_new(self, body.team)
        require_rights(self.require(team.pk), definition.plain())
        run = testing.request(definition=definition, team=team, pipeline=pipeline, actor=self.actor)
        return answer(run_schema(run), 202, Location=f"/api/v1/test-runs/{run.pk}")


class TestRunDetail(TeamView):
    """One run of tests."""

    @property
    def owner(self) -> int | None:
        """The team whose definition it is of."""
        return self.run.team_id

    @cached_property
    def run(self) -> CaseRun:
        """The run that the address names; raises NotFound."""
        return get_run(self.kwargs["test_run_id"], self.access)

    @extend_schema(operation_id="get_test_run", responses=TestRunSchema)
    def get(self, request: Request, test_run_id: UUID) -> Response:
        """Show a run of tests. `state` is PENDING or RUNNING until it has ended."""
        return answer(run_schema(self.run))
