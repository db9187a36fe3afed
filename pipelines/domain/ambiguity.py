"""How a backtracking matcher's run time can grow with the length of the text, decided on the pattern's automaton.

The pattern becomes a position automaton (Glushkov): one state per character of the pattern. A pattern is

- exponential when one state can be reached again from itself by two ways with the same text (EDA: Weber and Seidl,
  1991; for backtracking matchers Weideman and others, "Analyzing Matching Time Behavior of Backtracking Regular
  Expression Matchers by Using Ambiguity of NFA", 2016);
- polynomial when text can be shared between two loops, one after the other (IDA); the degree is the chain's length.

Counted repetitions of anything but plain characters are taken for unlimited ones, lazy and possessive for greedy ones:
the answer errs towards refusing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NoReturn

from pipelines.domain.charsets import CharSet, intersect
from pipelines.domain.java_regex import Assertion, BackReference, Choice, Look, Node, One, Repeat, Sequence

MAX_POSITIONS = 4000
MAX_EDGES = 60_000
MAX_STEPS = 60_000
MAX_OPTIONAL = 10
MAX_DEGREE = 3
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
    looks: list[Node] = field(default_factory=list)
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
            case Look():
                self.looks.append(node.body)
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


def check(tree: Node) -> None:
    """Return when the run time is bounded by a small polynomial; UnsafeRegexError, with the reason, otherwise.

    1. No exponential loop. 2. No two neighbouring loops over the same text with nothing between them. 3. No chain of
    loops whose degree, the search from every position included, is above MAX_DEGREE. A loop at the pattern's end that
    may stop anywhere cannot fail, so it costs nothing.
    """
    _check_optional(tree)
    automaton = Automaton()
    whole = automaton.add(tree)
    analysis = Analysis(automaton, frozenset() if automaton.can_fail_at_end else frozenset(whole.last))
    analysis.refuse_exponential()
    analysis.refuse_chains(MAX_DEGREE if _is_anchored(tree) else MAX_DEGREE - 1)
    for look in automaton.looks:
        check(look)


def _is_anchored(node: Node) -> bool:
    match node:
        case Sequence(items):
            return bool(items) and _is_anchored(items[0])
        case Choice(branches):
            return all(map(_is_anchored, branches))
        case Assertion(start):
            return start
    return False


def _check_optional(node: Node) -> None:
    """Refuse long runs of things that may each be there or not: every one of them doubles the ways."""
    match node:
        case Sequence():
            items = list(_flat(node))
            if sum(map(_is_optional, items)) > MAX_OPTIONAL:
                raise UnsafeRegexError("Too many optional parts follow each other: each one doubles the ways to match.")
            for item in items:
                _check_optional(item)
        case Choice(branches):
            for branch in branches:
                _check_optional(branch)
        case Repeat(body) | Look(body):
            _check_optional(body)


def _flat(node: Sequence) -> Iterator[Node]:
    for item in node.items:
        if isinstance(item, Sequence):
            yield from _flat(item)
        else:
            yield item


def _is_optional(node: Node) -> bool:
    return isinstance(node, Choice) or (isinstance(node, Repeat) and node.least == 0 and node.most is not None)


class Analysis:
    """Looks for ambiguity in the loops of an automaton. `accepting` states can always end the match."""

    def __init__(self, automaton: Automaton, accepting: frozenset[int]) -> None:
        self.automaton = automaton
        self.accepting = accepting
        self.follow = automaton.follow
        self.loops = [frozenset(loop) for loop in _loops(automaton.follow)]
        self.steps = 0
        self._shared: dict[tuple[int, ...], CharSet] = {}

    def refuse_exponential(self) -> None:
        """Refuse a state that is reached again from itself by two ways with one text."""
        for loop in self.loops:
            for state in loop:
                if any(count > 1 for after, count in self.follow[state].items() if after in loop):
                    self._refuse_loop(state)
            self._refuse_joining_pairs(loop)

    def _refuse_joining_pairs(self, loop: frozenset[int]) -> None:
        starts = {pair for state in loop for pair in self._next_pairs((state, state), loop) if pair[0] != pair[1]}
        seen, waiting = set(starts), list(starts)
        while waiting:
            for pair in self._next_pairs(waiting.pop(), loop):
                if pair[0] == pair[1]:
                    self._refuse_loop(pair[0])
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)

    def _next_pairs(self, pair: tuple[int, int], loop: frozenset[int]) -> Iterator[tuple[int, int]]:
        for after in product(self.follow[pair[0]], self.follow[pair[1]]):
            if after[0] in loop and after[1] in loop and self._share_text(after):
                yield after

    def _refuse_loop(self, state: int) -> NoReturn:
        raise UnsafeRegexError(
            "A repetition can match the same text in several ways, so its run time can double with every character.",
            self.automaton.places[state],
        )

    def refuse_chains(self, longest: int) -> None:
        """Refuse neighbouring loops over one text, and chains of more than `longest` loops."""
        failing = [loop for loop in self.loops if not loop <= self.accepting]
        lengths: dict[frozenset[int], int] = {}
        for later in failing:
            lengths[later] = 1
            for earlier in list(lengths)[:-1]:
                if not self._hand_over(earlier, later, within=None):
                    continue
                lengths[later] = max(lengths[later], lengths[earlier] + 1)
                if self._hand_over(earlier, later, within=earlier | later):
                    self._refuse(
                        later, "Two neighbouring repetitions can match the same text, with nothing between them."
                    )
                if lengths[later] > longest:
                    self._refuse(later, f"More than {longest} repetitions one after the other can match the same text.")

    def _refuse(self, loop: frozenset[int], reason: str) -> NoReturn:
        raise UnsafeRegexError(reason, self.automaton.places[min(loop)])

    def _hand_over(self, earlier: frozenset[int], later: frozenset[int], within: frozenset[int] | None) -> bool:
        """Whether one text can stay in `earlier`, stay in `later`, and lead from the first to the second."""
        return any(
            self._share_text((p, q)) and self._reaches((p, p, q), (p, q, q), (earlier, within, later))
            for p in earlier
            for q in later
        )

    def _reaches(
        self, start: tuple[int, ...], goal: tuple[int, ...], allowed: tuple[frozenset[int] | None, ...]
    ) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            for after in product(*(self.follow[state] for state in here)):
                inside = all(limit is None or state in limit for state, limit in zip(after, allowed, strict=True))
                if not inside or after in seen or not self._share_text(after):
                    continue
                if after == goal:
                    return True
                seen.add(after)
                waiting.append(after)
        return False

    def _share_text(self, states: tuple[int, ...]) -> bool:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise UnsafeRegexError("The pattern is too intricate to be checked.")
        key = tuple(sorted(set(states)))
        if key not in self._shared:
            common = self.automaton.charsets[key[0]]
            for state in key[1:]:
                common = intersect(common, self.automaton.charsets[state])
            self._shared[key] = common
        return bool(self._shared[key])


def _loops(follow: list[Counter[int]]) -> list[list[int]]:
    """Strongly connected components that hold a cycle, earlier ones first (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []
    for root in range(len(follow)):
        work = [] if root in order else [(root, iter(follow[root]))]
        while work:
            state, successors = work[-1]
            if state not in order:
                order[state] = low[state] = len(order)
                stack.append(state)
            after = next(successors, None)
            if after is None:
                work.pop()
                _close(state, low, order, stack, found)
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
            elif after not in order:
                work.append((after, iter(follow[after])))
            elif after in stack:
                low[state] = min(low[state], order[after])
    loops = [loop for loop in found if len(loop) > 1 or loop[0] in follow[loop[0]]]
    return sorted(loops, key=min)


def _close(state: int, low: dict[int, int], order: dict[int, int], stack: list[int], found: list[list[int]]) -> None:
    if low[state] == order[state]:
        cut = stack.index(state)
        found.append(stack[cut:])
        del stack[cut:]


def _can_be_unrolled(body: Node, least: int, most: int) -> bool:
    few = most <= _LARGEST_UNROLLED and most - least <= _MOST_OPTIONAL_COPIES
    return most <= 1 or (few and _is_plain(body))


def _is_plain(node: Node) -> bool:
    """Whether there is one way only to match it: characters one after the other."""
    if isinstance(node, Sequence):
        return all(map(_is_plain, node.items))
    return isinstance(node, One)
