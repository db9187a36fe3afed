"""Lists of headers whose separator is a regular expression: RemoveHeaderInterceptor of Flume."""

from __future__ import annotations

import re

from pydantic_core import PydanticCustomError

from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.section import Section
from pipelines.domain.regex.safety import safe_regex

_KEY = "from_list"
_USUAL = r"\s*,\s*"


def read_list(section: Section, draft: Draft) -> None:
    """`fromList`, split at `fromListSeparator` as `String.split` of Java does."""
    listing, separator = section.take("fromList"), section.take("fromListSeparator")
    if listing is None or draft.accepts(_KEY) is None:
        for property_ in filter(None, (listing, separator)):
            draft.no_equivalent(property_, "there is no fromList")
        return
    pattern = _compiled(separator.value if separator else _USUAL)
    if pattern is None and separator is not None:
        draft.bad_value(separator, _KEY, "it is a regular expression that cannot be used")
        draft.report.used(listing)
        return
    names = [name for name in re.split(pattern or _USUAL, listing.value) if name]
    draft.put(_KEY, list(dict.fromkeys(name.strip() for name in names)), listing)
    if separator is not None:
        draft.report.used(separator)
        _check(separator, pattern, names, draft)


def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(safe_regex(pattern))
    except (PydanticCustomError, re.error):
        return None


def _check(separator: Property, pattern: re.Pattern[str] | None, names: list[str], draft: Draft) -> None:
    if pattern is not None and pattern.match(""):
        _note(
            separator,
            "matches nothing at all, so that Flume splits fromList into single characters",
            "from_list has these characters.",
            draft,
        )
    elif any(name != name.strip() for name in names):
        _note(
            separator,
            "leaves blanks around names, so that Flume looks for headers with blanks and removes none of these",
            "from_list has the names without blanks.",
            draft,
        )


def _note(separator: Property, what: str, done: str, draft: Draft) -> None:
    draft.report.note(
        "list_separator",
        f"{separator.key} is a regular expression that {what}.",
        done,
        about=separator,
        path=(*draft.path, _KEY),
        suggestion="Compare from_list with the headers that are meant.",
    )
