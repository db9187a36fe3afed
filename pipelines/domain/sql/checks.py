"""What can be said of an expression without Spark: its size, its quotes and brackets, and the functions it calls.

Spark's own parser and analyser, which the agent asks, have the last word; what is refused here, they would never see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pipelines.domain.base.findings import did_you_mean, quote
from pipelines.domain.sql.functions import VOLATILE, functions
from pipelines.domain.sql.words import Unclosed, Word, line_and_column, words

LONGEST = 4000
MOST_WORDS = 500
DEEPEST = 40

_LANGUAGE = """
all and any as between bigint both by case char character dec decimal div else end escape exists for from ilike in
interval is leading like not null numeric or placing regexp rlike some then trailing varchar when where
"""
"""Words of the language that may stand before a bracket without calling anything, and types that have a size."""

_REFUSED = {
    "select": "An expression sees one event: it has no subqueries.",
    "over": "An expression sees one event: it has no windows.",
}
_BEFORE_BRACKETS = frozenset(_LANGUAGE.split()) | frozenset(_REFUSED)
_CLOSING = {"(": ")", "[": "]"}
_MOVING_DATES = re.compile(r"""r?["'](?:\s*(?:now|today|tomorrow|yesterday)\b|.*\\)""", re.IGNORECASE | re.DOTALL)
_TIME_TYPES = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz"})


@dataclass(frozen=True)
class Problem:
    """What is wrong with an expression. `at`: where, in characters from 0; None where it is wrong as a whole."""

    code: str
    message: str
    suggestion: str
    at: int | None = None

    def told(self, text: str) -> str:
        """The message, with line and column of the expression."""
        if self.at is None:
            return self.message
        line, column = line_and_column(text, self.at)
        return f"Line {line}, column {column}: {self.message}"


def problems(text: str) -> list[Problem]:
    """Everything that is wrong with an expression; nothing where Spark has to be asked."""
    found = list(_as_a_whole(text))
    if found:
        return found
    try:
        own = words(text)
    except Unclosed as error:
        return [Problem("sql_syntax", "What begins here has no end.", "Close the quotation or the comment.", error.at)]
    if not own:
        return [Problem("sql_syntax", "There is no expression.", "Write one, or remove the key.")]
    if len(own) > MOST_WORDS:
        return [_too_long(f"The expression has {len(own)} words and signs; {MOST_WORDS} are possible.")]
    return [*_brackets(own), *_calls(own), *_words_that_are_refused(own), *_dates_that_move(own)]


def expressions_in(keys: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """The expressions of an interceptor that may be wrong in other ways, by their paths below it."""
    own, where = keys.get("set"), keys.get("where")
    found: dict[tuple[str, ...], Any] = {("where",): where}
    found |= {("set", name): text for name, text in (own.items() if isinstance(own, Mapping) else ())}
    return {path: text for path, text in found.items() if isinstance(text, str)}


def is_volatile(text: str) -> bool:
    """Whether another evaluation of the same event may give another value."""
    try:
        own = words(text)
    except Unclosed:
        return False
    return any(word.name in VOLATILE for word in _not_fields(own))


def _as_a_whole(text: str) -> Iterator[Problem]:
    if len(text) > LONGEST:
        yield _too_long(f"The expression has {len(text)} characters; {LONGEST} are possible.")
    if "${" in text:
        message = "An expression has no references: what they stand for would be read as SQL."
        yield Problem("sql_reference", message, "Write the value itself, or concat('$', '{').", text.index("${"))


def _too_long(message: str) -> Problem:
    return Problem("sql_too_long", message, "Use several interceptors, or a shorter expression.")


def _brackets(own: list[Word]) -> Iterator[Problem]:
    open_ones: list[Word] = []
    for word in own:
        if word.kind != "symbol":
            continue
        if word.text in _CLOSING:
            open_ones.append(word)
        elif word.text in _CLOSING.values() and (not open_ones or _CLOSING[open_ones.pop().text] != word.text):
            yield Problem("sql_syntax", f"Nothing is open that {word.text} closes.", "Remove it.", word.at)
            return
        if len(open_ones) > DEEPEST:
            yield Problem("sql_too_deep", f"More than {DEEPEST} brackets are open.", "Use several keys.", word.at)
            return
    for word in open_ones[-1:]:
        yield Problem("sql_syntax", f"The bracket {word.text} has no end.", f"Add {_CLOSING[word.text]}.", word.at)


def _calls(own: list[Word]) -> Iterator[Problem]:
    """Every name before a bracket that is no function of the table."""
    for number, (word, following) in enumerate(pairwise(own)):
        if following.text != "(" or following.kind != "symbol" or word.kind not in ("word", "quoted"):
            continue
        if number and own[number - 1].text == ".":
            yield Problem(
                "sql_function", f"{quote(word.text)} has a qualifier.", "Call functions by one name.", word.at
            )
        elif word.name not in functions() and (word.kind == "quoted" or word.name not in _BEFORE_BRACKETS):
            yield unknown_function(word.text, word.at)


def unknown_function(name: str, at: int | None) -> Problem:
    """A function that expressions may not call."""
    otherwise = "The page of this interceptor lists the functions that there are."
    suggestion = did_you_mean(name.lower(), functions(), otherwise=otherwise)
    return Problem("sql_function", f"Expressions may not call {quote(name)}.", suggestion, at)


def _words_that_are_refused(own: list[Word]) -> Iterator[Problem]:
    for word in _not_fields(own):
        if word.name in _REFUSED:
            advice = "A field of this name is written as json.NAME."
            yield Problem("sql_not_allowed", _REFUSED[word.name], advice, word.at)


def _dates_that_move(own: list[Word]) -> Iterator[Problem]:
    """`TIMESTAMP 'now'` is a constant of the moment at which the expression is read."""
    strings = [word for word in own if word.kind == "string"]
    for word, following in pairwise(own):
        if word.name in _TIME_TYPES and following in strings and _MOVING_DATES.match(following.text):
            message = f"{following.text} can stand for the time at which the agent was started."
            yield Problem("sql_not_allowed", message, "Use current_timestamp() or current_date().", following.at)


def _not_fields(own: list[Word]) -> Iterator[Word]:
    """The unquoted words that are not behind a dot."""
    for number, word in enumerate(own):
        if word.kind == "word" and not (number and own[number - 1].text == "."):
            yield word
