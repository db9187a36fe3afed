"""The installation: whether its parts work, and how it is set up."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.permissions import CLOSED
from pipelines.domain.base.roles import Role
from pipelines.selectors.diagnostics import installation
from pipelines.selectors.diagnostics.schemas import InstallationSchema, SettingsSchema


class Installation(View):
    """The health of the installation."""

    costs = {"GET": 5}

    @extend_schema(operation_id="get_installation", responses=InstallationSchema)
    def get(self, request: Request) -> Response:
        """Show the version, and whether database, Redis, queues, workers and disks work. The first three are checked
        now, the others are what workers reported last."""
        return answer(installation.overview())


class InstallationSettings(View):
    """The settings of the installation."""

    scope = CLOSED
    roles = {"GET": Role.ADMIN}

    @extend_schema(operation_id="list_settings", responses=SettingsSchema)
    def get(self, request: Request) -> Response:
        """List every setting of the web server: its variable, its value and where that comes from. Values of secrets
        are not shown. Workers may have other ones."""
        return answer(installation.settings_schema())
