"""The gate, with threads in the place of queries."""

from __future__ import annotations

import threading

import pytest

from workers.agent.delivery.gate import Cancelled, Gate, NotGranted, Position, TurnedAway


def entering(gate: Gate, name: str) -> tuple[threading.Thread, list[str]]:
    """Let a thread enter; the list tells how that ended."""
    ended: list[str] = []

    def enter() -> None:
        try:
            gate.enter(name)
            ended.append("in")
        except TurnedAway:
            ended.append("away")

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    return thread, ended


def test_an_open_gate_lets_batches_in_and_knows_who_is_inside() -> None:
    gate = Gate(1)
    gate.enter("a")
    assert gate.inside == {"a"}
    gate.leave("a")
    assert gate.inside == frozenset()


def test_a_gate_without_a_token_cannot_be_opened_and_lets_nobody_in() -> None:
    gate = Gate(0)
    thread, ended = entering(gate, "a")
    for attempt in (gate.open, lambda: gate.grant(0)):
        with pytest.raises(NotGranted):
            attempt()
    gate.close()
    thread.join(0.05)
    assert not ended
    assert (gate.position, gate.inside, gate.granted) == (Position.CLOSED, frozenset(), False)


def test_a_grant_alone_opens_nothing_and_a_stopped_gate_stays_so() -> None:
    gate, other = Gate(0), Gate(0)
    gate.grant(7)
    assert gate.position is Position.CLOSED
    gate.open()
    gate.enter("a")
    other.stop(cancel=False)
    other.grant(7)
    other.open()
    with pytest.raises(TurnedAway):
        other.enter("a")


def test_a_closed_gate_holds_the_next_batch_and_leaves_the_one_in_hand_alone() -> None:
    gate = Gate(1)
    gate.enter("a")
    gate.close()
    thread, ended = entering(gate, "b")
    thread.join(0.05)
    assert not ended
    assert gate.inside == {"a"}
    gate.open()
    thread.join(5)
    assert ended == ["in"]
    assert gate.inside == {"a", "b"}


def test_a_stopped_gate_turns_away_those_that_wait_and_those_that_come() -> None:
    gate = Gate(1)
    gate.close()
    thread, ended = entering(gate, "waiting")
    gate.stop(cancel=False)
    thread.join(5)
    assert ended == ["away"]
    with pytest.raises(TurnedAway):
        gate.enter("late")
    assert gate.inside == frozenset()


def test_a_stopped_gate_stays_stopped() -> None:
    gate = Gate(1)
    gate.stop(cancel=False)
    gate.open()
    gate.close()
    assert gate.position is Position.STOPPED


def test_a_drain_lets_a_held_batch_go_on_and_a_stop_gives_it_up() -> None:
    gate = Gate(1)
    gate.enter("a")
    gate.stop(cancel=False)
    gate.hold(0)
    gate.stop(cancel=True)
    with pytest.raises(Cancelled):
        gate.hold(60)
