"""Java's properties files, read as `java.util.Properties.load(Reader)` reads them, with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANKS = " \t\f"
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE = re.compile(r"[0-9A-Fa-f]{4}")
_TRAILING_BACKSLASHES = re.compile(r"\\*\Z")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


class MalformedError(ValueError):
    """The text is not a properties file. `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Property:
    """A key with its value, unescaped, and the number of the line on which it begins."""

    key: str
    value: str
    line: int


def parse(text: str) -> list[Property]:
    """Every property in the order of the file, those that a later one replaces included.

    MalformedError where Java refuses the file: a `\\u` without four hexadecimal digits.
    """
    return [_property(line, written) for line, written in _logical_lines(text)]


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, text) of each line that holds a property, continuations joined, comments and empty lines left out."""
    natural = enumerate(re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")), start=1)
    for number, line in natural:
        rest = line.lstrip(_BLANKS)
        if not rest or rest[0] in "#!":
            continue
        while _continues(rest):
            _, following = next(natural, (0, ""))
            rest = rest[:-1] + following.lstrip(_BLANKS)
        yield number, rest


def _continues(line: str) -> bool:
    backslashes = _TRAILING_BACKSLASHES.search(line)
    return backslashes is not None and len(backslashes[0]) % 2 == 1


def _property(line: int, written: str) -> Property:
    key = _KEY.match(written)
    end = key.end() if key else 0
    separator = _SEPARATOR.match(written, end)
    rest = separator.end() if separator else end
    return Property(_unescaped(written[:end], line), _unescaped(written[rest:], line), line)


def _unescaped(written: str, line: int) -> str:
    if "\\" not in written:
        return written
    parts: list[str] = []
    index = 0
    while index < len(written):
        character = written[index]
        if character != "\\":
            parts.append(character)
            index += 1
            continue
        following = written[index + 1 : index + 2]
        if following == "u":
            digits = _UNICODE.match(written, index + 2)
            if digits is None:
                raise MalformedError(line, "\\u must be followed by four hexadecimal digits")
            parts.append(chr(int(digits[0], 16)))
            index += 6
            continue
        parts.append(_ESCAPED.get(following, following))
        index += 2
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
