"""Faults of the guided demo: requested by users, carried out by the demo stack alone.

A state changes by compare-and-swap, with one event. The database admits one fault under way.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from pipelines.domain.guide.faults import CARDS, LIMITS, NEXT, Card, FaultState
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict
from pipelines.models import DemoFault, Pipeline
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor

NOT_TAKEN = timedelta(seconds=2 * max(LIMITS.values()))
"""After so long in one state no demo stack is there that would end the fault."""
TIMES = {FaultState.BROKEN: "broken_at", FaultState.NOTICED: "noticed_at", FaultState.RECOVERED: "recovered_at"}
KEPT = 50
"""Faults of one pipeline."""


def request(*, pipeline: Pipeline, card: Card, actor: Actor) -> DemoFault:
    """Ask for a fault. Raises Conflict while another one is under way."""
    now = clock.now()
    _end_abandoned(pipeline, now)
    try:
        with transaction.atomic():
            fault = DemoFault.objects.create(
                pipeline=pipeline, card=card, requested_by=actor.name, requested_at=now, since=now
            )
            audit.record(actor=actor, action="demo.broken", pipeline_name=pipeline.name, after={"card": card.value})
            _emit(fault, f"{CARDS[card].title}: requested.", actor.name)
    except IntegrityError:
        raise Conflict(
            "Another card of the guided demo is under way.", code="demo_fault_open", hint="Wait until it has ended."
        ) from None
    _forget(pipeline)
    return fault


def open_fault(pipeline_name: str) -> DemoFault | None:
    """The fault under way of a pipeline that is not archived."""
    rows = DemoFault.objects.filter(pipeline__name=pipeline_name, pipeline__archived_at=None, ended_at=None)
    return rows.select_related("pipeline").first()


def advance(fault: DemoFault, **found: Any) -> bool:
    """The next state, with what was found. False where somebody else has changed it."""
    new = NEXT[FaultState(fault.state)]
    words = found.get("broken") or found.get("noticed") or found.get("recovered") or f"{new.lower()}."
    return _change(fault, new, f"{CARDS[Card(fault.card)].title}: {words}", **found)


def remember(fault: DemoFault, **facts: Any) -> None:
    """Keep more facts of a fault under way."""
    fault.facts = {**fault.facts, **facts}
    DemoFault.objects.filter(pk=fault.pk, ended_at=None).update(facts=fault.facts)


def fail(fault: DemoFault, error: str) -> bool:
    """End it with the reason. False where somebody else has changed it."""
    return _change(fault, FaultState.FAILED, f"{CARDS[Card(fault.card)].title}: failed. {error}", error=error)


@transaction.atomic
def _change(fault: DemoFault, new: FaultState, message: str, **found: Any) -> bool:
    now = clock.now()
    times = {TIMES[new]: now} if new in TIMES else {}
    times |= {"ended_at": now} if new in {FaultState.DONE, FaultState.FAILED} else {}
    found |= {"state": new, "since": now, **times}
    if not DemoFault.objects.filter(pk=fault.pk, state=fault.state).update(**found):
        return False
    for name, value in found.items():
        setattr(fault, name, value)
    _emit(fault, message)
    return True


def _emit(fault: DemoFault, message: str, actor: str = "system") -> None:
    data = {"fault": str(fault.pk), "card": fault.card, "state": fault.state}
    events.record(kind="demo.fault", message=message, pipeline=fault.pipeline, actor=actor, data=data)


def _end_abandoned(pipeline: Pipeline, now: datetime) -> None:
    rows = DemoFault.objects.filter(pipeline=pipeline, ended_at=None, since__lt=now - NOT_TAKEN)
    for fault in rows.select_related("pipeline"):
        fail(fault, "The demo stack did not answer.")


def _forget(pipeline: Pipeline) -> None:
    kept = DemoFault.objects.filter(pipeline=pipeline).order_by("-requested_at").values("pk")[:KEPT]
    DemoFault.objects.filter(pipeline=pipeline).exclude(pk__in=list(kept.values_list("pk", flat=True))).delete()
