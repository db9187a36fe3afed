"""The installation: whether its parts work, and how it is set up."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.permissions import CLOSED
from pipelines.domain.base.roles import Role
from pipelines.selectors.diagnostics import installation
from pipelines.selectors.diagnostics.interceptors import interceptor_classes
from pipelines.selectors.diagnostics.schemas import InstallationSchema, InterceptorClassesSchema, SettingsSchema


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


class InterceptorClasses(View):
    """The registry of Python interceptors."""

    roles = {"GET": Role.OPERATOR}
    costs = {"GET": 5}

    @extend_schema(operation_id="list_interceptor_classes", responses=InterceptorClassesSchema)
    def get(self, request: Request) -> Response:
        """List the classes of Python interceptors that the web server's registry has, and those that your pipelines
        name, with the pipelines. None is imported; a pipeline's preflight checks do that on its host."""
        return answer(InterceptorClassesSchema(interceptor_classes(self.access)))
