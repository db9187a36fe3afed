"""Definitions out of configurations of other systems. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.rate_limits import one_of_few
from pipelines.api.http.requests import Shape, Text
from pipelines.domain.base.findings import Finding
from pipelines.domain.connect.importing.importer import import_connect
from pipelines.domain.definitions.document.text import dump
from pipelines.domain.flume.importing.importer import Imported, import_flume
from pipelines.domain.imports.report import ImportRefused
from pipelines.foundation.errors import Invalid
from pipelines.selectors.lifecycle.schemas import ImportSchema


class FlumeImportBody(Shape):
    """A properties file of Flume, and the agent where it has several."""

    text: str
    agent: Text | None = Field(default=None, max_length=200)


class ConnectImportBody(Shape):
    """The configuration of a connector, its name where the text has several, and the brokers of the Connect worker."""

    text: str
    connector: Text | None = Field(default=None, max_length=200)
    bootstrap_servers: Text | None = Field(default=None, max_length=4096)


class _Import(View):
    reading = frozenset({"POST"})
    costs = {"POST": 5}


class ImportFlume(_Import):
    """An agent of Apache Flume."""

    @extend_schema(operation_id="import_flume", request=FlumeImportBody, responses=ImportSchema)
    def post(self, request: Request) -> Response:
        """Turn a Flume agent into a definition, with a finding for everything that differs. Nothing is stored."""
        body = self.body(FlumeImportBody)
        with one_of_few(request):
            return _answer(lambda: import_flume(body.text, body.agent))


class ImportConnect(_Import):
    """A connector of Kafka Connect."""

    @extend_schema(operation_id="import_connect", request=ConnectImportBody, responses=ImportSchema)
    def post(self, request: Request) -> Response:
        """Turn a Kafka Connect connector into a definition, with a finding for everything that differs. Nothing is
        stored."""
        body = self.body(ConnectImportBody)
        with one_of_few(request):
            return _answer(lambda: import_connect(body.text, name=body.connector, servers=body.bootstrap_servers))


def _answer(make: Callable[[], Imported]) -> Response:
    try:
        made = make()
    except ImportRefused as refused:
        first = refused.findings[0]
        # A problem has findings as everywhere; what was done is the same of each here: nothing.
        found = [Finding(**each.model_dump(include=set(Finding.model_fields))) for each in refused.findings]
        raise Invalid(first.message, code=first.code, hint=first.suggestion, findings=found) from None
    return answer(
        ImportSchema(
            definition=made.definition, definition_yaml=dump(made.definition), findings=made.findings, valid=made.valid
        )
    )
