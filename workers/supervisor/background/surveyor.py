"""Answers what people ask about positions, in a background loop beside the ticks: they never wait for a broker.

What is asked lies in the database, so that a look that a crash interrupted is taken again; answering is by
compare-and-swap, so that it is answered once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from pipelines.domain.access.on_host import Resolve, look_up, server_problem
from pipelines.domain.access.reach import ALLOW_NETWORK
from pipelines.domain.access.uses import servers
from pipelines.domain.base.causes import explain
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.migration.progress import MigrationStepState
from pipelines.domain.positions.cluster_move import ClusterMove
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult, Plan, Target, plan
from pipelines.models import PositionInspection
from pipelines.selectors.access.secrets import user_of
from pipelines.selectors.lifecycle.situations import live_run
from pipelines.selectors.migration.migrations import translations_ahead
from pipelines.selectors.positions.positions import basis, pending_inspections
from pipelines.services.positions import positions
from workers.ports import Exclusive, InspectionFailed, Surveys
from workers.supervisor.background.loop import BackgroundLoop, UnderWay
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import Unresolved, kafka_client

IDLE_SECONDS = 1.0
AT_ONCE = 4

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class InspectionContext:
    """What every look of a host needs."""

    host: str
    launcher: Launcher
    surveys: Surveys
    resolve: Resolve = look_up

    def take(self, inspection: PositionInspection) -> None:
        """Look, and answer."""
        try:
            seen = basis(inspection.pipeline)
            if inspection.target and inspection.target["goal"] == ClusterMove.model_fields["goal"].default:
                self._translate(inspection, seen)
                return
            target = Target.model_validate(inspection.target) if inspection.target else None
            seen, answer = self._at_rest_or_live(inspection, target, seen)
            if answer.survey is None:
                raise _away(answer)
            found = _plan(answer, target) if target else None
            positions.answer(
                inspection=inspection, survey=answer.survey, found=found, findings=answer.findings, seen=seen
            )
        except (InspectionFailed, Unresolved, LookupError) as error:
            code, hint = getattr(error, "code", "inspection_impossible"), getattr(error, "hint", "")
            positions.fail(inspection=inspection, error={"code": code, "message": str(error), "hint": hint})

    def _at_rest_or_live(
        self, inspection: PositionInspection, target: Target | None, seen: dict[str, Any]
    ) -> tuple[dict[str, Any], InspectionResult]:
        """Look, and once more where the ledger moved beneath a look at a pipeline at rest: its group is compared with a
        ledger of the same time only."""
        question = self._question(inspection, target)
        answer = self.surveys.inspect(question)
        if question.live or (now := basis(inspection.pipeline)) == seen:
            return seen, answer
        return now, self.surveys.inspect(self._question(inspection, target))

    def _translate(self, inspection: PositionInspection, seen: dict[str, Any]) -> None:
        """Ask both clusters of a move what positions become."""
        move = ClusterMove.model_validate(inspection.target)
        launch, handover = self.launcher.to_inspect(inspection.pipeline)
        pipeline = inspection.pipeline
        user = user_of(pipeline.name, [pipeline.team_id], pipeline.labels)
        moved = kafka_client(user, f"{'source' if move.source else 'sink'}/kafka")
        there = self.launcher.references.resolve(move.to, moved)
        if there.findings:
            raise Unresolved(there.findings[0].message)
        self._require_reach(substituted(move.to, there.values)["bootstrap_servers"], inspection.pipeline.team_id)
        more = there.handover()
        answer = self.surveys.inspect(
            InspectionRequest(
                launch=launch.model_dump(mode="json"),
                values={**handover.values, **more.values},
                move=move,
                masked=[*handover.masked, *more.masked],
            )
        )
        if answer.translation is None:
            raise _away(answer)
        positions.answer_move(inspection=inspection, found=answer.translation, seen=seen)

    def _require_reach(self, bootstrap_servers: str, team: int) -> None:
        """Raises InspectionFailed before the other cluster is asked, where pipelines of the team may not reach it."""
        policy = self.launcher.reach([team])
        try:
            named = servers("to.bootstrap_servers", bootstrap_servers)
        except ValueError:
            words = "What to.bootstrap_servers stands for names no servers."
            raise InspectionFailed("invalid_servers", words, "Write HOST:PORT, separated by commas.") from None
        problems = (server_problem(each, policy, self.resolve) for each in named)
        if problem := next((problem for problem in problems if problem), ""):
            raise InspectionFailed("address_not_allowed", problem, ALLOW_NETWORK)

    def _question(self, inspection: PositionInspection, target: Target | None) -> InspectionRequest:
        live = live_run(inspection.pipeline) is not None
        launch, handover = self.launcher.to_inspect(inspection.pipeline)
        return InspectionRequest(
            launch=launch.model_dump(mode="json"),
            values=handover.values,
            masked=handover.masked,
            live=live,
            target=target,
        )


def _away(answer: InspectionResult) -> InspectionFailed:
    first = answer.findings[0] if answer.findings else {}
    message = str(first.get("message") or "A source is unreachable.")
    return InspectionFailed(str(first.get("code", "source_away")).lower(), message, str(first.get("suggestion", "")))


def _plan(answer: InspectionResult, target: Target) -> Plan | None:
    at_time = {
        source: {TopicPartition(topic, partition): offset for topic, partition, offset in found}
        for source, found in answer.at_time.items()
    }
    return plan(answer.survey, target, at_time) if answer.survey else None


class Surveyor:
    """Takes every look that is asked of the host."""

    def __init__(self, context: InspectionContext) -> None:
        self._context = context
        self._under_way = UnderWay("look", at_once=AT_ONCE)

    def loop(self, lock: Exclusive, wake: threading.Event) -> BackgroundLoop:
        """`lock`: one surveyor per host, however many workers it has."""
        return BackgroundLoop("looks", self.turn, pause=IDLE_SECONDS, lock=lock, close=self.close, bell=wake)

    def close(self) -> None:
        """End; looks that are under way are asked again by whoever follows."""
        self._under_way.close()
        self._context.surveys.stand_down()

    def turn(self) -> float:
        """Begin every look that is not under way. For the one that a paused pipeline will wait for, all is ready."""
        for inspection in pending_inspections(self._context.host):
            self._under_way.begin(inspection.pk, partial(self._take, inspection))
        translations = translations_ahead(self._context.host)
        if MigrationStepState.PENDING in translations:
            self._context.surveys.get_ready()
        elif not translations:
            self._context.surveys.stand_down()
        return IDLE_SECONDS

    def _take(self, inspection: PositionInspection) -> None:
        try:
            self._context.take(inspection)
        except Exception as error:
            log.exception("inspection_failed", inspection=str(inspection.pk))
            message = explain(error)
            positions.fail(inspection=inspection, error={"code": "inspection_failed", "message": message, "hint": ""})
