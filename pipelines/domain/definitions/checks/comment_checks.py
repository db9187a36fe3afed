"""Findings about comments, which are stored with the definition and shown to every viewer of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from pipelines.domain.base.findings import Finding, quote
from pipelines.domain.definitions.checks.exposure_checks import CREDENTIAL_VALUE
from pipelines.domain.definitions.document.diff import names_secret
from pipelines.domain.definitions.document.text import LOADER

_COMMENT = re.compile(r"#[^\r\n]*")
_ASSIGNMENT = re.compile(r"""["']?([\w.-]+)["']?\s*[:=]\s*["']?([^\s"',}]{4,})["']?\s*[,}]?\s*(?:#|$)""")
_AUTHORIZATION = re.compile(r"\b(?:bearer|basic)\s+[A-Za-z0-9+/._=-]{16,}", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\$\{.*|<.*>|[.*x…_-]+|null|true|false|~", re.IGNORECASE)


def comments_hold_no_credentials(text: str) -> Iterator[Finding]:
    """A key that is commented out keeps its value."""
    for line, comment in comments(text):
        if name := _credential_in(comment):
            yield Finding(
                path="",
                code="secret_in_comment",
                message=f"The comment holds what looks like a credential ({name}), which every viewer could read here.",
                suggestion="Remove the value, or write a reference to a secret in its place.",
                line=line,
                column=1,
            )


def comments(text: str) -> Iterator[tuple[int, str]]:
    """The comments of a definition, each with its line from 1: what the scanner takes for no token, from a `#` on. JSON
    that is not YAML has none."""
    text, end = text.removeprefix("\ufeff"), 0
    try:
        tokens = list(yaml.scan(text, Loader=LOADER))
    except yaml.YAMLError:
        return
    for token in tokens:
        yield from _between(text, end, token.start_mark.index)
        end = max(end, token.end_mark.index)
    yield from _between(text, end, len(text))


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for found in _COMMENT.finditer(text, start, end):
        yield text.count("\n", 0, found.start()) + 1, found.group()


def _credential_in(comment: str) -> str:
    """What looks like a credential there; empty where nothing does."""
    if CREDENTIAL_VALUE.search(comment) or _AUTHORIZATION.search(comment):
        return "a token or a key"
    for name, value in _ASSIGNMENT.findall(comment):
        if names_secret(name) and not _PLACEHOLDER.fullmatch(value):
            return quote(name)
    return ""
