"""Answers what people ask about positions, in a background loop beside the ticks: they never wait for a broker.

What is asked lies in the database, so that a look that a crash interrupted is taken again; answering is by
compare-and-swap, so that it is answered once.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.db import connections

from pipelines.domain.migration.progress import MigrationStepState
from pipelines.domain.positions.cluster_move import ClusterMove
from pipelines.domain.positions.plan import Answer, Goal, Plan, Question, Target, plan
from pipelines.models import PositionLook
from pipelines.selectors.lifecycle.situations import live_run
from pipelines.selectors.migration.migrations import translations_ahead
from pipelines.selectors.positions.positions import basis, pending_looks
from pipelines.services.positions import positions
from workers.ports import Exclusive, LookFailed, Surveys
from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import Unresolved

IDLE_SECONDS = 1.0
AT_ONCE = 4

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Sight:
    """What every look of a host needs."""

    host: str
    launcher: Launcher
    surveys: Surveys

    def take(self, look: PositionLook) -> None:
        """Look, and answer."""
        try:
            seen = basis(look.pipeline)
            if look.target and look.target["goal"] == ClusterMove.model_fields["goal"].default:
                self._translate(look, seen)
                return
            target = Target.model_validate(look.target) if look.target else None
            answer = self.surveys.look(self._question(look, target))
            if answer.survey is None:
                raise _away(answer)
            found = _plan(answer, target) if target else None
            positions.answer(look=look, survey=answer.survey, found=found, findings=answer.findings, seen=seen)
        except (LookFailed, Unresolved, LookupError) as error:
            code, hint = getattr(error, "code", "look_impossible"), getattr(error, "hint", "")
            positions.fail(look=look, error={"code": code, "message": str(error), "hint": hint})

    def _translate(self, look: PositionLook, seen: dict[str, Any]) -> None:
        """Ask both clusters of a move what positions become."""
        move = ClusterMove.model_validate(look.target)
        launch, handover = self.launcher.to_look(look.pipeline)
        there = self.launcher.references.resolve(move.to)
        if there.findings:
            raise Unresolved(there.findings[0].message)
        more = there.handover()
        answer = self.surveys.look(
            Question(
                launch=launch.model_dump(mode="json"),
                values={**handover.values, **more.values},
                move=move,
                masked=[*handover.masked, *more.masked],
            )
        )
        if answer.translation is None:
            raise _away(answer)
        positions.answer_move(look=look, found=answer.translation, seen=seen)

    def _question(self, look: PositionLook, target: Target | None) -> Question:
        launch, handover = self.launcher.to_look(look.pipeline)
        return Question(
            launch=launch.model_dump(mode="json"),
            values=handover.values,
            masked=handover.masked,
            live=live_run(look.pipeline) is not None,
            timestamp=target.at if target and target.goal is Goal.TIMESTAMP else None,
        )


def _away(answer: Answer) -> LookFailed:
    first = answer.findings[0] if answer.findings else {}
    message = str(first.get("message") or "A source is unreachable.")
    return LookFailed(str(first.get("code", "source_away")).lower(), message, str(first.get("suggestion", "")))


def _plan(answer: Answer, target: Target) -> Plan | None:
    at_time = {
        source: {(topic, partition): offset for topic, partition, offset in found}
        for source, found in answer.at_time.items()
    }
    return plan(answer.survey, target, at_time) if answer.survey else None


class Surveyor:
    """Takes every look that is asked of the host."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="look")
        self._under_way: set[UUID] = set()

    def loop(self, lock: Exclusive, wake: threading.Event) -> BackgroundLoop:
        """`lock`: one surveyor per host, however many workers it has."""
        return BackgroundLoop("looks", self.turn, pause=IDLE_SECONDS, lock=lock, close=self.close, bell=wake)

    def close(self) -> None:
        """End; looks that are under way are asked again by whoever follows."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._sight.surveys.stand_down()

    def turn(self) -> float:
        """Begin every look that is not under way. For the one that a paused pipeline will wait for, all is ready."""
        for look in pending_looks(self._sight.host):
            if look.pk not in self._under_way:
                self._under_way.add(look.pk)
                self._pool.submit(self._take, look)
        translations = translations_ahead(self._sight.host)
        if MigrationStepState.PENDING in translations:
            self._sight.surveys.get_ready()
        elif not translations:
            self._sight.surveys.stand_down()
        return IDLE_SECONDS

    def _take(self, look: PositionLook) -> None:
        try:
            self._sight.take(look)
        except Exception as error:
            log.exception("look_failed", look=str(look.pk))
            message = f"{type(error).__name__}: {error}"
            positions.fail(look=look, error={"code": "look_failed", "message": message, "hint": ""})
        finally:
            self._under_way.discard(look.pk)
            connections.close_all()
