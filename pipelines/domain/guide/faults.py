"""The cards of the guided demo, and the states of a fault."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Card(StrEnum):
    """What a card breaks."""

    KILL_AGENT = "kill-agent"
    FREEZE_SINK = "freeze-sink"
    DELETE_OFFSETS = "delete-offsets"
    RECREATE_TOPIC = "recreate-topic"
    DROP_EVERYTHING = "drop-everything"


@dataclass(frozen=True)
class CardText:
    """What a card says before it is used: `breaks` what it does to the pipeline, `expect` what Headgate should do."""

    title: str
    breaks: str
    expect: str


CARDS: dict[Card, CardText] = {
    Card.KILL_AGENT: CardText(
        "Kill the agent",
        "Sends SIGKILL to the Spark driver of the pipeline in mid-stream, as an out-of-memory killer would.",
        "Headgate names the signal, starts a new run and continues at the exact offset.",
    ),
    Card.FREEZE_SINK: CardText(
        "Freeze the sink",
        "Halts the demo's broker, which holds the sink and the source, for 60 s at most.",
        "Headgate names the component that does not answer, holds the in-flight batch and delivers it afterwards.",
    ),
    Card.DELETE_OFFSETS: CardText(
        "Delete the group's offsets",
        "Deletes the committed offsets of the pipeline's consumer group, as an expiry or a wrong command would.",
        "Headgate reports the loss, writes the offsets again from its ledger and reads no record twice.",
    ),
    Card.RECREATE_TOPIC: CardText(
        "Recreate the topic",
        "Deletes the topic of the source and creates it again under the same name, after all its records were read.",
        "Headgate stops before it reads from the wrong log and asks for a decision, which the card then makes.",
    ),
    Card.DROP_EVERYTHING: CardText(
        "Publish a regex that drops everything",
        "Migrates the pipeline to a revision whose filter matches every record.",
        "Headgate predicts that nothing is delivered, demands an acknowledgement, and rolls back when it comes true.",
    ),
}


class FaultState(StrEnum):
    """Where a fault stands. BREAKING: it is being carried out, so that it may or may not have happened."""

    REQUESTED = "REQUESTED"
    BREAKING = "BREAKING"
    BROKEN = "BROKEN"
    NOTICED = "NOTICED"
    RECOVERED = "RECOVERED"
    DONE = "DONE"
    FAILED = "FAILED"


NEXT: dict[FaultState, FaultState] = {
    FaultState.REQUESTED: FaultState.BREAKING,
    FaultState.BREAKING: FaultState.BROKEN,
    FaultState.BROKEN: FaultState.NOTICED,
    FaultState.NOTICED: FaultState.RECOVERED,
    FaultState.RECOVERED: FaultState.DONE,
}
"""What follows when all is well. Every state of these can become FAILED instead."""

LIMITS: dict[FaultState, float] = {
    FaultState.REQUESTED: 30.0,
    FaultState.BREAKING: 180.0,
    FaultState.BROKEN: 240.0,
    FaultState.NOTICED: 240.0,
    FaultState.RECOVERED: 120.0,
}
"""Seconds in which a state has to be left."""
