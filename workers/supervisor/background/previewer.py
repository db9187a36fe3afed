"""Makes the previews that are requested of the host's pipelines, in a background loop beside the ticks.

What is requested lies in the database, so that a preview that a crash interrupted is made again, once.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID

import structlog
from django.db import connections

from pipelines.domain.base.causes import explain
from pipelines.domain.preview.protocol import PreviewAnswer
from pipelines.models import Preview
from pipelines.selectors.preview.previews import open_previews
from pipelines.services.preview import previews
from workers.ports import Exclusive, PreviewFailed, PreviewInterrupted, Previews
from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.launch.launch import Launcher, NotProvisioned

IDLE_SECONDS = 1.0
AT_ONCE = 2

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class PreviewContext:
    """What every preview of a host needs."""

    host: str
    launcher: Launcher
    previews: Previews

    def make(self, preview: Preview) -> None:
        """Make one, if it is still to be made."""
        if not previews.start(preview=preview):
            return
        try:
            _end(preview, self._answered(preview))
        except PreviewInterrupted:
            return
        except (PreviewFailed, NotProvisioned) as error:
            code = getattr(error, "code", "not_provisioned")
            previews.fail(preview=preview, error={"code": code, "message": str(error), "hint": error.hint})

    def _answered(self, preview: Preview) -> PreviewAnswer:
        """Refused where a start would be: a preview reaches nothing that the pipeline may not."""
        asked = self.launcher.to_preview(preview, previews.SECONDS)
        if isinstance(asked, list):
            return PreviewAnswer(findings=[each.model_dump() for each in asked])
        request, user = asked
        return self.previews.make(str(preview.pipeline_id), user, request)


def _end(preview: Preview, answer: PreviewAnswer) -> None:
    if answer.result is not None:
        previews.finish(preview=preview, result=answer.result)
        return
    shown = ("path", "code", "message", "suggestion")
    findings = [{key: found.get(key, "") for key in shown} for found in answer.findings]
    first = findings[0] if findings else {"message": "The preview has no result.", "suggestion": ""}
    error = {"code": "preview_refused", "message": first["message"], "hint": first["suggestion"], "findings": findings}
    previews.fail(preview=preview, error=error)


class Previewer:
    """Makes every preview that is requested of the host, two at a time."""

    def __init__(self, context: PreviewContext) -> None:
        self._context = context
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="preview")
        self._under_way: set[UUID] = set()

    def loop(self, lock: Exclusive, wake: threading.Event) -> BackgroundLoop:
        """`lock`: one per host, however many workers it has."""
        return BackgroundLoop("previews", self.turn, pause=IDLE_SECONDS, lock=lock, close=self.close, bell=wake)

    def close(self) -> None:
        """End; previews that are under way are made again by the next worker."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._context.previews.close()

    def turn(self) -> float:
        """Begin every preview that is not under way."""
        self._context.previews.tidy()
        for preview in open_previews(self._context.host):
            if preview.pk not in self._under_way:
                self._under_way.add(preview.pk)
                self._pool.submit(self._make, preview)
        return IDLE_SECONDS

    def _make(self, preview: Preview) -> None:
        try:
            self._context.make(preview)
        except Exception as error:
            log.exception("preview_failed", preview=str(preview.pk))
            words = {"code": "preview_failed", "message": explain(error), "hint": "Request it again."}
            previews.fail(preview=preview, error=words)
        finally:
            self._under_way.discard(preview.pk)
            connections.close_all()
