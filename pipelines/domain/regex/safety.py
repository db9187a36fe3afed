"""Regular expressions that are safe to run on every event.

Java's matcher backtracks and has no time limit: one record that meets an unlucky pattern holds a pipeline for ever.
"""

from __future__ import annotations

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import refuse
from pipelines.domain.regex import ambiguity, budget, java_regex
from pipelines.domain.regex.automaton import UnsafeRegexError

LONGEST_PATTERN = 1000

_CHANGE = (
    "Let neighbouring repetitions match different characters, remove nested ones, or use [^…]* instead of .*; "
    "a leading .* is never needed."
)


def whole(pattern: str) -> str:
    """The pattern that, searched for, is found where `pattern` matches the whole text, as Java's `matches` does."""
    return rf"\A(?:{pattern})\z"


def safe_regex(pattern: str) -> str:
    """Return the pattern, or refuse it: Java would not compile it, or its run time can explode."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        refuse("regex_syntax", f"A pattern has 1 to {LONGEST_PATTERN} characters.", "Write a shorter one.")
    try:
        ambiguity.check(java_regex.parse(pattern))
    except java_regex.RegexSyntaxError as error:
        where = f"at character {error.position + 1}"
        refuse("regex_syntax", f"Java does not accept {quote(pattern)}: {error.reason} ({where}).", "Fix the pattern.")
    except UnsafeRegexError as error:
        where = f"near character {error.position + 1}"
        refuse("regex_unsafe", f"The pattern {quote(pattern)} can take too long: {error.reason} ({where}).", _CHANGE)
    except budget.OverBudgetError as error:
        refuse("regex_budget", f"{error} {quote(pattern)} was not checked.", "Use fewer or simpler patterns.")
    return pattern
