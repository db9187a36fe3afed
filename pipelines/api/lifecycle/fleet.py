"""The fleet at a glance."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View
from pipelines.api.http.paging import Page, page
from pipelines.api.http.requests import PipelinesQuery
from pipelines.api.lifecycle.pipelines import matching
from pipelines.selectors.base.visible import visible
from pipelines.selectors.lifecycle.fleet import as_members, fleet_schemas, members
from pipelines.selectors.lifecycle.schemas import FleetPipelineSchema


class Fleet(View):
    """All pipelines with their last 24 hours."""

    queries = {"GET": PipelinesQuery}

    @extend_schema(operation_id="show_fleet", responses=Page[FleetPipelineSchema])
    def get(self, request: Request) -> Response:
        """Show what requires action, and the phases of the last 24 hours, of pipelines by name."""
        query = self.query(PipelinesQuery)
        found = matching(visible(members(), self.access), query)
        return page(as_members(found), ["name"], query, fleet_schemas)
