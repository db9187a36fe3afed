"""Diagnostic bundles: what is known of a pipeline, or of the installation, as one archive without secrets.

No part prevents another: one that cannot be collected is listed in the manifest with its reason. What has not been
collected when the time is up is listed, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import monotonic
from typing import Any

import structlog
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from pipelines.api.diagnostics.inner import ask
from pipelines.api.diagnostics.parts import Part, of_installation, of_pipeline
from pipelines.api.http.base import PipelineView, View
from pipelines.api.http.permissions import CLOSED
from pipelines.api.http.problems import exception_handler
from pipelines.api.http.rate_limits import one_of_few
from pipelines.domain.base.roles import Role
from pipelines.domain.diagnostics.archive import Archive
from pipelines.domain.diagnostics.redaction import Redaction
from pipelines.foundation import clock
from pipelines.foundation.availability import bounded
from pipelines.models import Pipeline
from pipelines.selectors.diagnostics import installation
from pipelines.selectors.diagnostics.secret_values import installation_values, stored_values
from pipelines.services.base import audit

SECONDS = 15.0
"""For all parts together; one that has begun is finished, and waits for the database as a request does."""
COST = 20
MEDIA_TYPE = "application/zip"
LEFT_OUT = ["bodies and headers of records", "values of secrets", "names of users' tokens"]

log = structlog.get_logger(__name__)


class Bundle:
    """Collects parts into an archive until the time is up."""

    def __init__(self, view: View, pipeline: Pipeline | None) -> None:
        self._view, self._pipeline = view, pipeline
        self._end = monotonic() + SECONDS
        self._at = clock.now()
        self._archive = Archive(self._at)
        stored, self._unknown = stored_values(pipeline)
        self._redaction = Redaction([*installation_values(), *stored])

    def collect(self, parts: Iterable[Part]) -> None:
        """Ask the view of each part."""
        for part in parts:
            self.add(part.name, partial(ask, self._view.request, part.view, part.query, **part.names), key=part.key)

    def add(self, name: str, make: Callable[[], Any], *, key: str = "") -> None:
        """Add what is made, or say why it is missing."""
        if monotonic() > self._end:
            self._archive.leave_out(name, "time_is_up", f"The bundle was not complete after {SECONDS:.0f} s.")
            return
        try:
            with bounded():
                made = make()
            self._write(name, made, key)
        except Exception as error:  # whatever prevents one part prevents no other
            self._archive.leave_out(name, *_reason(name, error))

    def _write(self, name: str, made: Any, key: str) -> None:
        if not key:
            self._archive.add_document(name, self._redaction.document(made))
            return
        shown = len(made[key].encode("utf-8", "replace"))
        cut = f"The last {shown} of {made['total']} bytes." if shown < made["total"] else ""
        self._archive.add_text(name, self._redaction.text(made[key]), cut=cut)

    def response(self) -> HttpResponse:
        """The archive as a download, recorded in the audit."""
        name = self._pipeline.name if self._pipeline else "installation"
        content = self._archive.finish(self._head())
        after = {"parts": len(self._archive.parts), "left_out": [each["name"] for each in self._archive.left_out]}
        action = "pipeline.diagnose" if self._pipeline else "installation.diagnose"
        audit.record(
            actor=self._view.actor,
            action=action,
            pipeline_name=self._pipeline.name if self._pipeline else "",
            after=after,
        )
        file = f"headgate-{name}-{self._at:%Y%m%dT%H%M%SZ}.zip"
        headers = {"Content-Disposition": f'attachment; filename="{file}"', "Cache-Control": "no-store"}
        return HttpResponse(content, content_type=MEDIA_TYPE, headers=headers)

    def _head(self) -> dict[str, Any]:
        return {
            "format": "headgate-diagnostics/1",
            "pipeline": self._pipeline.name if self._pipeline else None,
            "collected_at": self._at.isoformat(),
            "collected_by": self._view.actor.name,
            "never_inside": LEFT_OUT,
            "stored_secrets_unknown": self._unknown or None,
        }


def _reason(name: str, error: Exception) -> tuple[str, str]:
    """Code and words of what a view raised."""
    answer = exception_handler(error, {})
    if answer is None:
        log.error("part_of_bundle_failed", part=name, exc_info=error)
        return "internal_error", "An unexpected error occurred; the server has logged it."
    return answer.data["code"], " ".join(filter(None, (answer.data["detail"], answer.data["hint"])))


def _settings(view: View) -> Callable[[], Any]:
    """The settings, for administrators of every team."""

    def make() -> dict[str, Any]:
        view.require(None, Role.ADMIN)
        return installation.environment()

    return make


def _of_installation(view: View) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "installation/versions.json", installation.versions
    yield "installation/health.json", installation.health
    yield "installation/settings.json", _settings(view)


def _download(view: View, pipeline: Pipeline | None, parts: Iterable[Part]) -> HttpResponse:
    with one_of_few(view.request):
        bundle = Bundle(view, pipeline)
        for name, make in _of_installation(view):
            bundle.add(name, make)
        bundle.collect(parts)
        return bundle.response()


class PipelineDiagnostics(PipelineView):
    """The bundle of a pipeline."""

    costs = {"GET": COST}

    @extend_schema(operation_id="diagnose_pipeline", responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY})
    def get(self, request: Request, name: str) -> HttpResponse:
        """Download what is known of a pipeline as one archive without secrets: definition, state, events, runs, ledger,
        logs. `manifest.json` lists what is inside, what was cut, and what is missing and why: you get what your role
        may read."""
        return _download(self, self.pipeline, of_pipeline(self.pipeline))


class InstallationDiagnostics(View):
    """The bundle of the installation."""

    scope = CLOSED
    roles = {"GET": Role.ADMIN}
    costs = {"GET": COST}

    @extend_schema(operation_id="diagnose_installation", responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY})
    def get(self, request: Request) -> HttpResponse:
        """Download what is known of the installation as one archive without secrets: versions, settings, hosts,
        pipelines, events, rules."""
        return _download(self, None, of_installation())
