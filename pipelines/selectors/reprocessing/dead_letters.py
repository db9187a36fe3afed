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

from pipelines.domain.base.states import LetterState, OperationKind
from pipelines.foundation.errors import NotFound
from pipelines.models import DeadLetter, Operation, Pipeline
from pipelines.selectors.base.views import (
    DeadLetterCauseView,
    DeadLetterDetailView,
    DeadLettersSummaryView,
    DeadLetterView,
    HeaderView,
)
from pipelines.selectors.lifecycle.situations import OPEN_STATES

MAX_CAUSES = 50


@dataclass(frozen=True)
class LetterFilter:
    """Which letters; None: whatever it is. `cause`: a part of its text, in any case of letters."""

    component: str | None = None
    cause: str | None = None
    source: str | None = None
    since: datetime | None = None
    state: LetterState | None = None

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


def dead_letters(pipeline: Pipeline, wanted: LetterFilter) -> QuerySet[DeadLetter]:
    """Letters of a pipeline, without their content."""
    rows = DeadLetter.objects.filter(pipeline=pipeline)
    return wanted.apply(rows).select_related("operation").defer("body", "key", "headers", "repair")


def get_letter(pipeline: Pipeline, letter_id: str) -> DeadLetter:
    """One letter with its content; raises NotFound."""
    rows = DeadLetter.objects.filter(pipeline=pipeline, letter_id=letter_id)
    letter = rows.select_related("operation", "run").first()
    if letter is None:
        raise NotFound(
            f"{pipeline.name} has no dead letter {letter_id}.",
            code="dead_letter_not_found",
            hint="It may have been deleted after its time; the ledger still counts it.",
        )
    return letter


def free(rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """New letters that no replay under way has taken."""
    return rows.filter(Q(operation=None) | ~Q(operation__state__in=OPEN_STATES), state=LetterState.NEW)


def open_replays(host: str) -> list[Operation]:
    """Replays under way of the pipelines of a host, oldest first, with what they need."""
    found = Operation.objects.filter(kind=OperationKind.REPLAY, state__in=OPEN_STATES, pipeline__host_id=host)
    return list(found.select_related("pipeline__current_revision").order_by("created_at"))


def next_letters(operation_id: UUID, limit: int) -> list[DeadLetter]:
    """The oldest letters of a replay that are still to be sent, whole rows, with where they were written."""
    rows = DeadLetter.objects.filter(operation_id=operation_id, state=LetterState.NEW)
    return list(rows.select_related("run__revision").defer("run__observed").order_by("id")[:limit])


def replayed(operation_id: UUID) -> int:
    """How many letters of a replay were acknowledged."""
    return DeadLetter.objects.filter(operation_id=operation_id, state=LetterState.REPLAYED).count()


def letter_views(letters: Sequence[DeadLetter]) -> list[DeadLetterView]:
    """Letters as lists show them."""
    return [DeadLetterView(**_fields(letter)) for letter in letters]


def detail_view(letter: DeadLetter) -> DeadLetterDetailView:
    """One letter with its content."""
    body, body_base64 = shown(bytes(letter.body), cut=letter.truncated)
    key, key_base64 = shown(None if letter.key is None else bytes(letter.key))
    return DeadLetterDetailView(
        **_fields(letter),
        key=key,
        key_base64=key_base64,
        headers=[_header(name, value) for name, value in letter.headers],
        body=body,
        body_base64=body_base64,
        location=letter.location,
        host=letter.run.host_id,
        repaired=letter.repair is not None,
    )


def _fields(letter: DeadLetter) -> dict[str, Any]:
    operation = letter.operation
    return {
        "id": letter.letter_id,
        "at": letter.at,
        "source": letter.source,
        "channel": letter.channel,
        "component": letter.component,
        "cause": letter.cause,
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "size": letter.size,
        "truncated": letter.truncated,
        "state": LetterState(letter.state),
        "settled_at": letter.settled_at,
        "settled_by": letter.settled_by,
        "operation": operation.id if operation and operation.state in OPEN_STATES else None,
        "in_doubt": letter.state == LetterState.NEW and letter.sending_since is not None,
    }


def _header(name: str, value: str) -> HeaderView:
    text, encoded = shown(base64.b64decode(value))
    return HeaderView(name=name, value=text, value_base64=encoded)


def shown(content: bytes | None, *, cut: bool = False) -> tuple[str | None, str | None]:
    """(text, None) where the bytes are UTF-8, (None, base64) where they are not. `cut`: the last character may be
    incomplete."""
    if content is None:
        return None, None
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(content, final=not cut), None
    except UnicodeDecodeError:
        return None, base64.b64encode(content).decode()


def summary_view(pipeline: Pipeline, wanted: LetterFilter) -> DeadLettersSummaryView:
    """How many letters of each state, and of the new ones by component and cause, most frequent first."""
    rows = wanted.apply(DeadLetter.objects.filter(pipeline=pipeline))
    states = dict(rows.order_by().values_list("state").annotate(number=Count("id")))
    groups = rows.filter(state=LetterState.NEW).order_by().values("component", "cause")
    counted = groups.annotate(letters=Count("id"), first_at=Min("at"), last_at=Max("at"))
    found = list(counted.order_by("-letters", "component", "cause")[: MAX_CAUSES + 1])
    return DeadLettersSummaryView(
        new=states.get(LetterState.NEW, 0),
        replayed=states.get(LetterState.REPLAYED, 0),
        discarded=states.get(LetterState.DISCARDED, 0),
        causes=[DeadLetterCauseView(**row) for row in found[:MAX_CAUSES]],
        more_causes=len(found) > MAX_CAUSES,
    )
