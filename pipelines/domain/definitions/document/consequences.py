"""What a difference between two definitions means for a running pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.diff import Change
from pipelines.domain.definitions.document.spec import Definition


class Consequence(StrEnum):
    """What a change costs, from light to heavy."""

    HOT = "hot"
    RESTART = "restart"
    NEW_LINEAGE = "new_lineage"
    POSITION_DECISION = "position_decision"


WEIGHT = {each: weight for weight, each in enumerate(Consequence)}

_RULES: tuple[tuple[str, Consequence, str], ...] = (
    (r"name|api_version", Consequence.POSITION_DECISION, "It would be another pipeline."),
    (r"description|labels(\..*)?", Consequence.HOT, "Text for users; no agent reads it."),
    (r"tests([.\[].*)?", Consequence.HOT, "Tests run before the definition is published; no agent reads them."),
    (
        r"sources\.[^.\[]+\.bootstrap_servers",
        Consequence.POSITION_DECISION,
        ("Offsets of one cluster mean nothing on another."),
    ),
    (
        r"sources\.[^.\[]+\.type",
        Consequence.POSITION_DECISION,
        ("Positions of one kind of source mean nothing in another."),
    ),
    (
        r"sources\.[^.\[]+",
        Consequence.NEW_LINEAGE,
        ("Sources are added or removed; the others continue at the ledger's positions."),
    ),
    (
        r"sources\.[^.\[]+\.topics?(\[.*)?",
        Consequence.NEW_LINEAGE,
        ("The topics change; those that stay continue at the ledger's positions."),
    ),
    (r"channels\.[^.\[]+(\.type)?", Consequence.NEW_LINEAGE, "Channels have positions of their own."),
    (r"placement\.host", Consequence.NEW_LINEAGE, "Checkpoints are on the disk of the old host."),
    (r"placement\.launcher\.storage", Consequence.NEW_LINEAGE, "Checkpoints are in the old storage."),
)
_COMPILED = [(re.compile(pattern), consequence, reason) for pattern, consequence, reason in _RULES]


class EvaluatedChange(Frozen):
    """One difference with what it means."""

    change: Change
    consequence: Consequence
    reason: str


def evaluate(changes: Iterable[Change], old: Definition | None, new: Definition) -> list[EvaluatedChange]:
    """Every difference with its consequence. A selector counts as heavy as what it does to the reads; where the old
    definition is no longer valid, as heavy as it can be."""
    reshaped = old is None or {read.name for read in old.reads()} != {read.name for read in new.reads()}
    return [_evaluate(change, reshaped) for change in changes]


def _evaluate(change: Change, reshaped: bool) -> EvaluatedChange:
    for pattern, consequence, reason in _COMPILED:
        if pattern.fullmatch(change.path):
            return EvaluatedChange(change=change, consequence=consequence, reason=reason)
    if reshaped and (".selector" in change.path or ".interceptors" in change.path or ".capacity" in change.path):
        words = "Channels are read together or apart that were not before."
        return EvaluatedChange(change=change, consequence=Consequence.NEW_LINEAGE, reason=words)
    return EvaluatedChange(change=change, consequence=Consequence.RESTART, reason="The agent reads it when it starts.")


def heaviest(consequences: Iterable[Consequence]) -> Consequence:
    """The class of the whole; of nothing HOT."""
    return max(consequences, key=WEIGHT.__getitem__, default=Consequence.HOT)
