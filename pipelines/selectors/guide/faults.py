"""The cards of the guided demo as the API shows them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from pipelines.domain.guide.faults import CARDS, Card, FaultState
from pipelines.models import DemoFault, Pipeline
from pipelines.selectors.base.schemas import Schema


class CountedSchema(Schema):
    """Records of the sink against those of the source around the fault. `possible_duplicates`: the most that the ledger
    allows for."""

    records: int
    missing: int
    duplicates: int
    possible_duplicates: int
    balanced: bool


class DemoFaultSchema(Schema):
    """One use of a card, and what was observed of it."""

    id: UUID
    card: Card
    state: FaultState
    requested_by: str
    requested_at: datetime
    broken_at: datetime | None
    noticed_at: datetime | None
    recovered_at: datetime | None
    ended_at: datetime | None
    broken: str = Field(description="What was done to the pipeline.")
    noticed: str = Field(description="By what Headgate showed that it had noticed.")
    explained: str = Field(description="What Headgate said about it.")
    link: str = Field(description="The page that shows it.")
    recovered: str = Field(description="How it recovered.")
    counted: CountedSchema | None
    error: str = Field(description="Why the card failed.")


class GuideCardSchema(Schema):
    """A card: what it breaks, what to expect, and its last use."""

    card: Card
    title: str
    breaks: str
    expect: str
    last: DemoFaultSchema | None


class GuideSchema(Schema):
    """The guided demo of a pipeline. `open`: the card under way, while which no other one can be used."""

    pipeline: str
    open: Card | None
    cards: list[GuideCardSchema]


def guide(pipeline: Pipeline) -> GuideSchema:
    """All cards, in their order."""
    last: dict[str, DemoFault] = {}
    for fault in DemoFault.objects.filter(pipeline=pipeline).order_by("requested_at"):
        last[fault.card] = fault
    shown = {card: demo_fault_schema(last[card]) if card in last else None for card in CARDS}
    return GuideSchema(
        pipeline=pipeline.name,
        open=next((card for card, fault in shown.items() if fault and fault.ended_at is None), None),
        cards=[
            GuideCardSchema(card=card, title=text.title, breaks=text.breaks, expect=text.expect, last=shown[card])
            for card, text in CARDS.items()
        ],
    )


def demo_fault_schema(fault: DemoFault) -> DemoFaultSchema:
    """A fault as the API shows it."""
    names = set(DemoFaultSchema.model_fields) - {"counted"}
    counted = CountedSchema.model_validate(fault.counted) if fault.counted else None
    return DemoFaultSchema(**{name: getattr(fault, name) for name in names}, counted=counted)
