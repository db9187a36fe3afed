"""The position automaton (Glushkov) of a regular expression: one state for each character of the pattern.

Counted repetitions of anything but plain characters are taken for unlimited ones, lazy and possessive for greedy ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.domain.regex import budget
from pipelines.domain.regex.charsets import CharSet
from pipelines.domain.regex.tree import Assertion, BackReference, Choice, Lookaround, Node, One, Repeat, Sequence

MAX_POSITIONS = 4000
MAX_EDGES = 20_000
_LARGEST_UNROLLED = 128
_MOST_OPTIONAL_COPIES = 10


class UnsafeRegexError(ValueError):
    """The pattern's run time can explode, or cannot be shown not to. `position` counts characters from 0."""

    def __init__(self, reason: str, position: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


@dataclass(frozen=True)
class Fragment:
    """A part of the automaton: where it begins, where it ends, in how many ways it can be empty (2: or more)."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    empty_ways: int

    @property
    def nullable(self) -> bool:
        """Whether it can match nothing."""
        return self.empty_ways > 0


_EMPTY = Fragment((), (), empty_ways=1)


@dataclass
class Automaton:
    """States are numbers; `follow` counts the ways from one to the next."""

    charsets: list[CharSet] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    follow: list[Counter[int]] = field(default_factory=list)
    lookarounds: list[Node] = field(default_factory=list)
    can_fail_at_end: bool = False
    edges: int = 0
    loop_depth: int = 0

    def add(self, node: Node) -> Fragment:
        """Add a part of the pattern."""
        match node:
            case One():
                return self._state(node)
            case Sequence():
                return self._sequence(node.items)
            case Choice():
                return self._choice(node)
            case Repeat():
                return self._repeat(node)
            case BackReference():
                raise UnsafeRegexError("A back-reference is used, whose run time has no bound.", node.position)
            case Lookaround():
                self.lookarounds.append(node.body)
                self.can_fail_at_end = True
            case Assertion():
                self.can_fail_at_end = self.can_fail_at_end or not node.start
        return _EMPTY

    def _state(self, node: One) -> Fragment:
        if len(self.charsets) >= MAX_POSITIONS:
            raise UnsafeRegexError("The pattern is too long to be checked.", node.position)
        self.charsets.append(node.charset)
        self.places.append(node.position)
        self.follow.append(Counter())
        state = len(self.charsets) - 1
        return Fragment((state,), (state,), empty_ways=0)

    def _connect(self, ends: Iterable[int], beginnings: tuple[int, ...]) -> None:
        for end in ends:
            self.edges += len(beginnings)
            budget.spend(len(beginnings))
            if self.edges > MAX_EDGES:
                raise UnsafeRegexError("The pattern is too large to be checked.", self.places[end])
            self.follow[end].update(beginnings)

    def _sequence(self, items: Iterable[Node]) -> Fragment:
        whole = _EMPTY
        for item in items:
            part = self.add(item)
            self._connect(whole.last, part.first)
            whole = Fragment(
                whole.first + part.first if whole.nullable else whole.first,
                part.last + whole.last if part.nullable else part.last,
                min(2, whole.empty_ways * part.empty_ways),
            )
        return whole

    def _choice(self, node: Choice) -> Fragment:
        parts = [self.add(branch) for branch in node.branches]
        first = tuple(state for part in parts for state in part.first)
        last = tuple(state for part in parts for state in part.last)
        return self._once_empty(Fragment(first, last, min(2, sum(part.empty_ways for part in parts))))

    def _repeat(self, node: Repeat) -> Fragment:
        if node.most is not None and _can_be_unrolled(node.body, node.least, node.most):
            return self._once_empty(self._unrolled(node.body, node.least, node.most))
        self.loop_depth += 1
        body = self.add(node.body)
        self.loop_depth -= 1
        if body.nullable and (node.least > 1 or node.most is not None):
            raise UnsafeRegexError("A counted repetition repeats something that can be empty.", self._place(body))
        self._connect(body.last, body.first)
        return self._once_empty(Fragment(body.first, body.last, min(2, body.empty_ways + (node.least == 0))))

    def _once_empty(self, part: Fragment) -> Fragment:
        """Inside a loop, refuse what can be empty in two ways: each turn of the loop doubles the ways."""
        if self.loop_depth and part.empty_ways > 1:
            raise UnsafeRegexError("A repetition repeats something that can be empty in two ways.", self._place(part))
        return part

    def _place(self, part: Fragment) -> int:
        return self.places[part.first[0]] if part.first else 0

    def _unrolled(self, body: Node, least: int, most: int) -> Fragment:
        optional = _EMPTY
        for _ in range(most - least):
            part = self.add(body)
            self._connect(part.last, optional.first)
            optional = Fragment(part.first, part.last + optional.last, min(2, part.empty_ways + 1))
        required = self._sequence([body] * least)
        self._connect(required.last, optional.first)
        return Fragment(
            required.first + optional.first if required.nullable else required.first,
            required.last + optional.last,
            min(2, required.empty_ways * optional.empty_ways),
        )


def _can_be_unrolled(body: Node, least: int, most: int) -> bool:
    few = most <= _LARGEST_UNROLLED and most - least <= _MOST_OPTIONAL_COPIES
    return most <= 1 or (few and _is_plain(body))


def _is_plain(node: Node) -> bool:
    """Whether there is one way only to match it: characters one after the other."""
    if isinstance(node, Sequence):
        return all(map(_is_plain, node.items))
    return isinstance(node, One)
