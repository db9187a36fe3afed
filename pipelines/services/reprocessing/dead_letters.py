"""Writing dead letters: taken in from journals, discarded by people, deleted after their time."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Count

from pipelines.domain.base.states import DeadLetterState
from pipelines.domain.ledger import journal
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import DeadLetter, Pipeline, Run
from pipelines.selectors.lifecycle.situations import OPEN_STATES
from pipelines.selectors.reprocessing.dead_letters import free
from pipelines.services.base import audit, bulk, events
from pipelines.services.base.audit import Actor

LONGEST_CAUSE = 2000
_AT_ONCE = 500
DELETED_AT_ONCE = 5_000
"""Letters that one pass of housekeeping deletes at most."""


def take_in(*, run: Run, found: Sequence[journal.DeadLetters]) -> int:
    """Store the letters of journal entries; one that is known came again with its batch and is left as it is.

    Returns how many are new. Call it in the transaction of the journal's number.
    """
    rows = {dead_letter.id: _row(run, entry, dead_letter) for entry in found for dead_letter in entry.dead_letters}
    known = _known(run, list(rows))
    new = [row for dead_letter_id, row in rows.items() if dead_letter_id not in known]
    DeadLetter.objects.bulk_create(new, batch_size=_AT_ONCE)
    for (component, cause), number in Counter((row.component, row.cause) for row in new).most_common(10):
        message = f"{number} event{'s' if number > 1 else ''} of {component} became dead letters: {cause[:200]}"
        data = {"component": component, "cause": cause, "dead_letters": number}
        events.record(kind="dead_letters.added", message=message, pipeline=run.pipeline, run=run, data=data)
    return len(new)


def _known(run: Run, ids: list[str]) -> set[str]:
    known: set[str] = set()
    for start in range(0, len(ids), _AT_ONCE):
        rows = DeadLetter.objects.filter(pipeline_id=run.pipeline_id, dead_letter_id__in=ids[start : start + _AT_ONCE])
        known.update(rows.values_list("dead_letter_id", flat=True))
    return known


def _row(run: Run, entry: journal.DeadLetters, dead_letter: journal.DeadLetter) -> DeadLetter:
    return DeadLetter(
        run=run,
        pipeline_id=run.pipeline_id,
        dead_letter_id=dead_letter.id,
        source=entry.source,
        channel=entry.channel,
        component=_text(dead_letter.component),
        cause=_text(dead_letter.cause)[:LONGEST_CAUSE],
        topic=_text(dead_letter.topic),
        partition=dead_letter.partition,
        offset=dead_letter.offset,
        at=datetime.fromtimestamp(dead_letter.at, UTC),
        key=None if dead_letter.key is None else base64.b64decode(dead_letter.key),
        headers=[[_text(name), value] for name, value in dead_letter.headers],
        body=base64.b64decode(dead_letter.body),
        size=dead_letter.size,
        truncated=dead_letter.truncated,
        location=_text(dead_letter.location),
    )


def _text(text: str) -> str:
    """What every database can hold: no NUL, no half of a character."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def chosen(pipeline: Pipeline, ids: Collection[str]) -> list[DeadLetter]:
    """New letters by their ids, without their content, that no replay holds.

    Raises NotFound for ids that are none of the pipeline, Conflict for letters that are settled or being replayed.
    """
    rows = DeadLetter.objects.filter(pipeline=pipeline, dead_letter_id__in=ids).select_related("operation")
    dead_letters = list(rows.defer("body", "key", "headers", "repair").order_by("id"))
    unknown = sorted(set(ids) - {dead_letter.dead_letter_id for dead_letter in dead_letters})
    if unknown:
        raise NotFound(
            f"{pipeline.name} has no dead letter {', '.join(unknown[:10])}.", code="dead_letter_not_found", ids=unknown
        )
    taken = [each for each in dead_letters if each.operation is not None and each.operation.state in OPEN_STATES]
    settled = [each for each in dead_letters if each.state != DeadLetterState.NEW]
    if settled:
        words = ", ".join(f"{each.dead_letter_id} is {each.state}" for each in settled[:10])
        raise Conflict(f"Only new dead letters can be chosen: {words}.", code="dead_letter_settled")
    if taken:
        raise Conflict(
            f"{len(taken)} of the dead letters are being retried.",
            code="replay_under_way",
            hint=f"Wait for the operation {taken[0].operation_id}, or cancel it.",
        )
    return dead_letters


@transaction.atomic
def discard(*, pipeline: Pipeline, ids: Collection[str], reason: str, actor: Actor) -> int:
    """Give letters up; they stay in the list until their time is over. Returns how many.

    Raises NotFound or Conflict, and discards nothing, where one of them is unknown, settled or being replayed.
    """
    dead_letters = chosen(pipeline, ids)
    new = free(DeadLetter.objects.filter(pk__in=[dead_letter.pk for dead_letter in dead_letters]))
    number = new.update(state=DeadLetterState.DISCARDED, settled_at=clock.now(), settled_by=actor.name)
    after = {"ids": sorted(ids)[:100], "dead_letters": number, "reason": reason}
    audit.record(actor=actor, action="dead_letters.discard", pipeline_name=pipeline.name, after=after)
    message = f"{actor.name} discarded {number} dead letters."
    events.record(kind="dead_letters.discarded", message=message, pipeline=pipeline, actor=actor.name, data=after)
    return number


def prune(*, before: datetime, each: int) -> int:
    """Delete letters that are older than `before`, and of every pipeline all but the newest `each`; returns how many.

    A pass deletes at most DELETED_AT_ONCE; letters that are being replayed stay.
    """
    idle = DeadLetter.objects.exclude(operation__state__in=OPEN_STATES)
    deleted = bulk.delete(idle.filter(at__lt=before), most=DELETED_AT_ONCE)
    counts = DeadLetter.objects.order_by().values("pipeline").annotate(number=Count("id")).filter(number__gt=each)
    for row in counts:
        surplus = min(row["number"] - each, DELETED_AT_ONCE - deleted)
        deleted += bulk.delete(idle.filter(pipeline=row["pipeline"]), most=surplus)
    return deleted
