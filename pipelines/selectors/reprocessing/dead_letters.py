"""Reading dead letters."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet

from pipelines.domain.base.states import DeadLetterState, OperationKind
from pipelines.foundation.errors import NotFound
from pipelines.models import DeadLetter, Operation, Pipeline
from pipelines.selectors.lifecycle.situations import OPEN_STATES
from pipelines.selectors.reprocessing.schemas import (
    DeadLetterCauseSchema,
    DeadLetterDetailSchema,
    DeadLetterSchema,
    DeadLettersSummarySchema,
    HeaderSchema,
)

MAX_CAUSES = 50


@dataclass(frozen=True)
class DeadLetterFilter:
    """Which letters; None: whatever it is. `cause`: a part of its text, in any case of letters."""

    component: str | None = None
    cause: str | None = None
    source: str | None = None
    since: datetime | None = None
    state: DeadLetterState | None = None

    def apply(self, rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of `rows` that match."""
        wanted = {
            "component": self.component,
            "cause__icontains": self.cause,
            "source": self.source,
            "at__gte": self.since,
            "state": self.state,
        }
        return rows.filter(**{name: value for name, value in wanted.items() if value is not None})


def dead_letters(pipeline: Pipeline, wanted: DeadLetterFilter) -> QuerySet[DeadLetter]:
    """Letters of a pipeline, without their content."""
    rows = DeadLetter.objects.filter(pipeline=pipeline)
    return wanted.apply(rows).select_related("operation").defer("body", "key", "headers", "repair")


def get_dead_letter(pipeline: Pipeline, dead_letter_id: str) -> DeadLetter:
    """One letter with its content; raises NotFound."""
    rows = DeadLetter.objects.filter(pipeline=pipeline, dead_letter_id=dead_letter_id)
    dead_letter = rows.select_related("operation", "run").first()
    if dead_letter is None:
        raise NotFound(
            f"{pipeline.name} has no dead letter {dead_letter_id}.",
            code="dead_letter_not_found",
            hint="It may have been deleted after its time; the ledger still counts it.",
        )
    return dead_letter


def free(rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """New letters that no replay under way has taken."""
    return rows.filter(Q(operation=None) | ~Q(operation__state__in=OPEN_STATES), state=DeadLetterState.NEW)


def open_retries(host: str) -> list[Operation]:
    """Replays under way of the pipelines of a host, oldest first, with what they need."""
    found = Operation.objects.filter(kind=OperationKind.RETRY, state__in=OPEN_STATES, pipeline__host_id=host)
    return list(found.select_related("pipeline__current_revision").order_by("created_at"))


def next_dead_letters(operation_id: UUID, limit: int) -> list[DeadLetter]:
    """The oldest letters of a replay that are still to be sent, whole rows, with where they were written."""
    rows = DeadLetter.objects.filter(operation_id=operation_id, state=DeadLetterState.NEW)
    return list(rows.select_related("run__revision").defer("run__observed").order_by("id")[:limit])


def replayed(operation_id: UUID) -> int:
    """How many letters of a replay were acknowledged."""
    return DeadLetter.objects.filter(operation_id=operation_id, state=DeadLetterState.RETRIED).count()


def dead_letter_schemas(dead_letters: Sequence[DeadLetter]) -> list[DeadLetterSchema]:
    """Letters as lists show them."""
    return [DeadLetterSchema(**_fields(dead_letter)) for dead_letter in dead_letters]


def detail_schema(dead_letter: DeadLetter) -> DeadLetterDetailSchema:
    """One letter with its content."""
    body, body_base64 = shown(bytes(dead_letter.body), cut=dead_letter.truncated)
    key, key_base64 = shown(None if dead_letter.key is None else bytes(dead_letter.key))
    return DeadLetterDetailSchema(
        **_fields(dead_letter),
        key=key,
        key_base64=key_base64,
        headers=[_header(name, value) for name, value in dead_letter.headers],
        body=body,
        body_base64=body_base64,
        location=dead_letter.location,
        host=dead_letter.run.host_id,
        repaired=dead_letter.repair is not None,
    )


def _fields(dead_letter: DeadLetter) -> dict[str, Any]:
    operation = dead_letter.operation
    return {
        "id": dead_letter.dead_letter_id,
        "at": dead_letter.at,
        "source": dead_letter.source,
        "channel": dead_letter.channel,
        "component": dead_letter.component,
        "cause": dead_letter.cause,
        "topic": dead_letter.topic,
        "partition": dead_letter.partition,
        "offset": dead_letter.offset,
        "size": dead_letter.size,
        "truncated": dead_letter.truncated,
        "state": DeadLetterState(dead_letter.state),
        "settled_at": dead_letter.settled_at,
        "settled_by": dead_letter.settled_by,
        "operation": operation.id if operation and operation.state in OPEN_STATES else None,
        "in_doubt": dead_letter.state == DeadLetterState.NEW and dead_letter.sending_since is not None,
    }


def _header(name: str, value: str) -> HeaderSchema:
    text, encoded = shown(base64.b64decode(value))
    return HeaderSchema(name=name, value=text, value_base64=encoded)


def shown(content: bytes | None, *, cut: bool = False) -> tuple[str | None, str | None]:
    """(text, None) where the bytes are UTF-8, (None, base64) where they are not. `cut`: the last character may be
    incomplete."""
    if content is None:
        return None, None
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(content, final=not cut), None
    except UnicodeDecodeError:
        return None, base64.b64encode(content).decode()


def summary_schema(pipeline: Pipeline, wanted: DeadLetterFilter) -> DeadLettersSummarySchema:
    """How many letters of each state, and of the new ones by component and cause, most frequent first."""
    rows = wanted.apply(DeadLetter.objects.filter(pipeline=pipeline))
    states = dict(rows.order_by().values_list("state").annotate(number=Count("id")))
    groups = rows.filter(state=DeadLetterState.NEW).order_by().values("component", "cause")
    counted = groups.annotate(dead_letters=Count("id"), first_at=Min("at"), last_at=Max("at"))
    found = list(counted.order_by("-dead_letters", "component", "cause")[: MAX_CAUSES + 1])
    return DeadLettersSummarySchema(
        new=states.get(DeadLetterState.NEW, 0),
        retried=states.get(DeadLetterState.RETRIED, 0),
        discarded=states.get(DeadLetterState.DISCARDED, 0),
        causes=[DeadLetterCauseSchema(**row) for row in found[:MAX_CAUSES]],
        more_causes=len(found) > MAX_CAUSES,
    )
