"""A few of many things in each tick, and all of them in turn."""

from __future__ import annotations

from collections import Counter

import pytest

from pipelines.models import Run
from workers.supervisor.tick.turns import Turns


def rows(count: int) -> list[Run]:
    return [Run(pk=number) for number in range(count)]


def ticks(turns: Turns, found: list[Run], count: int) -> list[list[int]]:
    """The numbers that each of so many ticks is given."""
    given = []
    for _ in range(count):
        turns.begin()
        given.append([row.pk for row in turns.some("runs", found)])
    return given


@pytest.mark.parametrize("host", ["a", "b", "c", "lake-17"])
@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 25, 30])
def test_each_has_its_turn_once_before_any_has_another(host: str, count: int) -> None:
    turns, needed = Turns(host, 10), max(1, -(-count // 10))
    for _ in range(3):
        given = ticks(turns, rows(count), needed)
        assert all(len(each) <= 10 for each in given)
        assert Counter(number for each in given for number in each) == Counter(range(count))
        assert not turns.unfinished


def test_it_says_while_some_are_left() -> None:
    turns, said = Turns("a", 10), []
    for _ in range(2):
        turns.begin()
        said.append(turns.unfinished)
        turns.some("runs", rows(11))
        said.append(turns.unfinished)
    assert said == [False, True, False, False]


def test_all_lists_of_a_tick_share_what_it_does() -> None:
    turns = Turns("a", 10)
    turns.begin()
    assert [len(turns.some(name, rows(7))) for name in ("one", "two", "three")] == [7, 3, 0]
    assert turns.unfinished
    turns.begin()
    assert [len(turns.some(name, rows(7))) for name in ("two", "three")] == [4, 6]


def test_what_is_gone_meanwhile_is_not_waited_for() -> None:
    turns = Turns("a", 10)
    (first,) = ticks(turns, rows(12), 1)
    left = [row for row in rows(12) if row.pk not in first][:1]
    assert ticks(turns, left, 1) == [[left[0].pk]]
    assert not turns.unfinished


def test_supervisors_begin_at_different_places() -> None:
    found = rows(100)
    assert len({tuple(ticks(Turns(f"host-{number}", 10), found, 1)[0]) for number in range(17)}) > 10
