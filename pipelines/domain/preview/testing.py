"""Whether what becomes of given events is what a test expects. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from pipelines.domain.base.findings import PathParts, dotted
from pipelines.domain.definitions.document.cases import Expectation
from pipelines.domain.preview import json_changes
from pipelines.domain.preview.chains import State
from pipelines.domain.preview.comparing import by_name
from pipelines.domain.preview.outcomes import Content, EventResult, Origin, Outcome
from pipelines.domain.preview.protocol import CaseFailure

MOST_FAILURES = 20
"""Of one test, that are shown."""
_SHOWN = 500
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Mismatch:
    """A place below a test that is not as expected. `origin`: of the event, where its content differs in `part`."""

    path: PathParts
    message: str
    expected: str | None = None
    got: str | None = None
    component: str = ""
    origin: Origin | None = None
    part: str = ""

    def failure(self, test: int, component: str = "") -> CaseFailure:
        """The same as it is shown; `component`: what has made the content."""
        return CaseFailure(
            path=dotted(("tests", test, *self.path)),
            message=self.message,
            expected=_bounded(self.expected),
            got=_bounded(self.got),
            component=self.component or component,
        )


def mismatches(expected: Sequence[Expectation], outcomes: Sequence[Outcome]) -> list[Mismatch]:
    """Where outcomes are not as expected; both are in the order of the events."""
    in_order = sorted(outcomes, key=lambda each: each.origin)
    pairs = enumerate(zip_longest(expected, in_order))
    return list(islice((each for number, pair in pairs for each in _mismatches(number, *pair)), MOST_FAILURES))


def _mismatches(number: int, wanted: Expectation | None, outcome: Outcome | None) -> Iterator[Mismatch]:
    path: PathParts = ("expect", number)
    if wanted is None and outcome is not None:
        words = "There is an event more than expected."
        yield Mismatch(("expect",), words, None, _described(outcome), outcome.component)
    elif wanted is not None and outcome is None:
        yield Mismatch(path, "There is no such event.", _wanted(wanted))
    elif wanted is not None and outcome is not None:
        if not _same_outcome(wanted, outcome):
            words = "Something else becomes of the event."
            yield Mismatch(path, words, _wanted(wanted), _described(outcome), outcome.component)
        else:
            yield from _of_content(path, wanted, outcome)


def _same_outcome(wanted: Expectation, outcome: Outcome) -> bool:
    if wanted.channels is not None:
        return outcome.result is EventResult.DELIVERED and set(wanted.channels) == set(outcome.channels)
    if wanted.filtered_by is not None:
        return outcome.result is EventResult.FILTERED and outcome.component == wanted.filtered_by
    if wanted.dead is not None:
        return outcome.result is EventResult.DEAD_LETTERED and wanted.dead in (True, outcome.component)
    return outcome.result is EventResult.UNROUTED


def _wanted(wanted: Expectation) -> str:
    if wanted.channels is not None:
        return f"delivered to {', '.join(sorted(wanted.channels))}"
    if wanted.filtered_by is not None:
        return f"filtered by {wanted.filtered_by}"
    if wanted.dead is not None:
        return "a dead letter" if wanted.dead is True else f"a dead letter by {wanted.dead}"
    return "unrouted"


def _described(outcome: Outcome) -> str:
    if outcome.result is EventResult.DELIVERED:
        return f"delivered to {', '.join(outcome.channels) or 'no channel'}"
    if outcome.result is EventResult.FILTERED:
        return f"filtered by {outcome.component}"
    if outcome.result is EventResult.DEAD_LETTERED:
        cause = f": {outcome.cause}" if outcome.cause else ""
        return f"a dead letter by {outcome.component}{cause}"
    return "unrouted"


def _of_content(path: PathParts, wanted: Expectation, outcome: Outcome) -> Iterator[Mismatch]:
    """What of a delivered event differs; only what the test names is compared."""
    content, origin = outcome.content, outcome.origin
    for name, value in wanted.headers.items():
        found = by_name(content).get(name)
        if found != [value.encode()]:
            yield Mismatch((*path, "headers", name), "The header differs.", value, _values(found), "", origin, name)
    for number, name in enumerate(wanted.absent_headers):
        if (found := by_name(content).get(name)) is not None:
            place = (*path, "absent_headers", number)
            yield Mismatch(place, f"There is a header {name}.", None, _values(found), "", origin, name)
    if wanted.key is not None and content.key != wanted.key.encode():
        got = None if content.key is None else _text(content.key)
        yield Mismatch((*path, "key"), "The key differs.", wanted.key, got, "", origin, _KEY)
    yield from _of_body(path, wanted, content, origin)


_KEY, _BODY = " key", " body"
"""Parts of an event that are no header."""


def _of_body(path: PathParts, wanted: Expectation, content: Content, origin: Origin) -> Iterator[Mismatch]:
    if wanted.body_json is not None:
        found = json_changes.parsed(content.body)
        if found is json_changes.MISSING:
            words = "The body is no JSON."
            place = (*path, "body_json")
            yield Mismatch(place, words, wanted.json_text(), _text(content.body), "", origin, _BODY)
            return
        for change in json_changes.changes(wanted.body_json, found):
            words = f"The body differs at {change.pointer or 'its root'}."
            before, after = _json(change.before), _json(change.after)
            yield Mismatch((*path, "body_json"), words, before, after, "", origin, _BODY)
    name = "body" if wanted.body is not None else "body_base64"
    body = wanted.content()
    if wanted.body_json is None and body is not None and body != content.body:
        yield Mismatch((*path, name), "The body differs.", _text(body), _text(content.body), "", origin, _BODY)


def maker(mismatch: Mismatch, states: Mapping[int, State], interceptors: Sequence[str]) -> str:
    """Path of the last of the interceptors that made the part of the event what it is; empty where none did. `states`:
    the event behind so many of them."""
    made = ""
    for number, path in enumerate(interceptors):
        before, after = states.get(number), states.get(number + 1)
        if before and after and _part(before.content, mismatch.part) != _part(after.content, mismatch.part):
            made = path
    return made


def _part(content: Content, part: str) -> Any:
    if part in (_KEY, _BODY):
        return content.key if part == _KEY else content.digest
    return by_name(content).get(part)


def _values(values: list[bytes] | None) -> str | None:
    return None if values is None else ", ".join(map(_text, values))


def _json(value: Any) -> str | None:
    return None if value is json_changes.MISSING else json_changes.dumped(value)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(data).decode()}"


def _bounded(text: str | None) -> str | None:
    return text if text is None or len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
