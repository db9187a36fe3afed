"""The proof of a pause, as a checklist with evidence; and the snapshot that follows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.domain.base.positions import Frozen


class Item(Frozen):
    """One thing that must hold, and what was seen of it, in words."""

    name: str
    holds: bool
    words: str
    evidence: str = ""


def checklist(
    *,
    phase: str,
    proof: Mapping[str, Any] | None,
    positions: Sequence[Mapping[str, Any]],
    ledger: Sequence[Mapping[str, Any]],
    open_batches: int,
) -> list[Item]:
    """Everything that makes a pause a proven one. `positions`: where the agent stands, `ledger`: where its books do;
    rows have source, channel, topic, partition and offset."""
    seen = proof or {}
    apart = _apart(positions, ledger)
    return [
        Item(
            name="phase",
            holds=phase == "PAUSED",
            words="The supervisor has verified the pause.",
            evidence=f"Phase {phase}.",
        ),
        Item(name="gate", holds=bool(seen.get("gate_closed")), words="The gate is closed: no batch can start."),
        Item(
            name="in_flight",
            holds=seen.get("batches_in_flight") == 0,
            words="No batch is being written.",
            evidence=_in_flight(seen.get("batches_in_flight")),
        ),
        Item(
            name="positions",
            holds=bool(seen.get("positions_still")),
            words="The position did not move between two measurements.",
        ),
        Item(
            name="totals", holds=bool(seen.get("balanced")), words="The ledger totals of the last batch are balanced."
        ),
        Item(
            name="ledger",
            holds=not apart and open_batches == 0,
            evidence=" ".join([*apart, f"{_counted(open_batches, 'open')}."]),
            words="The ledger has every delivered record, and its positions are those of the agent.",
        ),
    ]


def _counted(batches: int, how: str) -> str:
    return f"{batches} {how} {'batch' if batches == 1 else 'batches'}"


def _in_flight(batches: int | None) -> str:
    return "The agent has not reported its batches." if batches is None else f"{_counted(batches, 'in-flight')}."


def _apart(positions: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where the agent and the ledger disagree about a partition; one that was never read is in no ledger."""
    known = {(row["source"], row["channel"], row["topic"], row["partition"]): row["offset"] for row in ledger}
    return [
        f"{row['source']}.{row['channel']} {row['topic']}/{row['partition']}: the agent is at {row['offset']}, "
        f"the ledger at {known[place]}."
        for row in positions
        if (place := (row["source"], row["channel"], row["topic"], row["partition"])) in known
        and known[place] != row["offset"]
    ]


def holds(items: Sequence[Item]) -> bool:
    """Whether the pause is proven."""
    return all(item.holds for item in items)
