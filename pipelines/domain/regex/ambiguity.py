"""How a backtracking matcher's run time can grow with the length of the text, decided on the pattern's automaton.

A pattern is

- exponential when one state can be reached again from itself by two ways with the same text (EDA: Weber and Seidl,
  1991; for backtracking matchers Weideman and others, "Analyzing Matching Time Behavior of Backtracking Regular
  Expression Matchers by Using Ambiguity of NFA", 2016);
- polynomial when text can be shared between two loops, one after the other (IDA); the degree is the chain's length.

Where the automaton is coarser than the pattern, the answer errs towards refusing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import NoReturn

from pipelines.domain.regex import budget
from pipelines.domain.regex.automaton import Automaton, UnsafeRegexError
from pipelines.domain.regex.charsets import CharSet, intersect
from pipelines.domain.regex.tree import Assertion, Choice, Lookaround, Node, Repeat, Sequence

MAX_STEPS = 40_000
MAX_OPTIONAL = 10
MAX_DEGREE = 3


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
    for lookaround in automaton.lookarounds:
        check(lookaround)


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
        case Repeat(body) | Lookaround(body):
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
        starts = {pair for state in loop for pair in self._next((state, state), (loop, loop)) if pair[0] != pair[1]}
        seen, waiting = set(starts), list(starts)
        while waiting:
            for pair in self._next(waiting.pop(), (loop, loop)):
                if pair[0] == pair[1]:
                    self._refuse_loop(pair[0])
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)

    def _next(self, states: tuple[int, ...], allowed: tuple[frozenset[int] | None, ...]) -> Iterator[tuple[int, ...]]:
        """Where one more character can lead several walks at once, each within its limits."""
        ways = [
            [after for after in self.follow[state] if limit is None or after in limit]
            for state, limit in zip(states, allowed, strict=True)
        ]
        return filter(self._share_text, product(*ways))

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
            for after in self._next(waiting.pop(), allowed):
                if after == goal:
                    return True
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return False

    def _share_text(self, states: tuple[int, ...]) -> bool:
        self.steps += 1
        budget.spend(1)
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
