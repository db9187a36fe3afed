"""The tree of a regular expression, as far as its structure matters."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.regex.charsets import CharSet


@dataclass(frozen=True)
class One:
    """One character out of a set. `position` is where the pattern says so."""

    charset: CharSet
    position: int


@dataclass(frozen=True)
class Sequence:
    """One after the other; empty: nothing."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """One of several."""

    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """`body` from `least` to `most` times; None is without limit. Greedy, lazy and possessive look alike here."""

    body: Node
    least: int
    most: int | None


@dataclass(frozen=True)
class Assertion:
    """Matches no character but may fail: an anchor, a boundary. `start`: the beginning of the whole text."""

    start: bool = False


@dataclass(frozen=True)
class Lookaround:
    """A look ahead or behind: a pattern of its own that matches no character here."""

    body: Node


@dataclass(frozen=True)
class BackReference:
    """The text of a group again."""

    position: int


Node = One | Sequence | Choice | Repeat | Assertion | Lookaround | BackReference
NOTHING = Sequence(())


def is_unlimited(node: Node) -> bool:
    """Whether what it matches has no greatest length, as Java sees it."""
    if isinstance(node, Repeat):
        return (node.most is None and not is_empty(node.body)) or is_unlimited(node.body)
    if isinstance(node, Sequence):
        return any(map(is_unlimited, node.items))
    if isinstance(node, Choice):
        return any(map(is_unlimited, node.branches))
    return isinstance(node, BackReference)


def is_empty(node: Node) -> bool:
    """Whether it never matches a character."""
    if isinstance(node, Sequence):
        return all(map(is_empty, node.items))
    return isinstance(node, Assertion | Lookaround)
