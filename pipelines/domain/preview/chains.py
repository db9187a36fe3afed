"""Which interceptors two revisions do not share, and which of them an event differs for. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from pipelines.domain.preview.comparing import Volatile, changed_parts
from pipelines.domain.preview.outcomes import Content


@dataclass(frozen=True)
class State:
    """An event behind a part of the interceptors."""

    content: Content
    kept: bool
    problem: str

    @property
    def is_final(self) -> bool:
        """Whether an interceptor has filtered or refused the event: later ones do not see it."""
        return not self.kept or bool(self.problem)


@dataclass(frozen=True)
class Changed:
    """Interceptors that one revision has and the other has not, or not so: the indexes [start, end) in each."""

    before: tuple[int, int]
    after: tuple[int, int]


def changed(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[Changed]:
    """The stretches in which the interceptors of two revisions differ."""
    old, new = [_text(spec) for spec in before], [_text(spec) for spec in after]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [Changed((i, j), (k, m)) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def _text(spec: Mapping[str, Any]) -> str:
    return json.dumps(spec, sort_keys=True)


def needed(stretches: Iterable[tuple[int, int]]) -> list[int]:
    """How many interceptors there are before each state that is asked for: the raw event, and the states before and
    behind every interceptor of the stretches."""
    return sorted({0, *(index for start, end in stretches for index in range(start, end + 1))})


def effective(stretch: tuple[int, int], states: Mapping[int, State], ignored: Volatile) -> list[int]:
    """The interceptors of a stretch that did something to the event, by index. `ignored`: what no run repeats."""
    return [index for index in range(*stretch) if _differ(states.get(index), states.get(index + 1), ignored)]


def _differ(before: State | None, after: State | None, ignored: Volatile) -> bool:
    if before is None or after is None:
        return before is not after
    if before.is_final:
        return False
    return after.is_final or any(changed_parts(before.content, after.content, ignored))
