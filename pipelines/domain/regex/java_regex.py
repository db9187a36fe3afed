"""A parser for Java's regular expressions (java.util.regex.Pattern), as far as their structure matters.

It refuses what Java refuses and yields a tree for the analysis in `ambiguity`. Where a set of characters cannot be
known here (Unicode properties), it is taken for all characters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import NoReturn

from pipelines.domain.regex import charsets
from pipelines.domain.regex.charsets import CharSet
from pipelines.domain.regex.tree import (
    NOTHING,
    Assertion,
    BackReference,
    Choice,
    Lookaround,
    Node,
    One,
    Repeat,
    Sequence,
    is_unlimited,
)

MAX_GROUP_DEPTH = 40
_LARGEST_COUNT = 2**31 - 1


class RegexSyntaxError(ValueError):
    """Java would refuse the pattern. `position` counts characters from 0."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


_FLAGS = "imsducxU"
_ANCHORS = "bBAGZz"
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CLASSES = {
    "d": charsets.DIGIT,
    "s": charsets.SPACE,
    "w": charsets.WORD,
    "h": charsets.HORIZONTAL,
    "v": charsets.VERTICAL,
}
_UNICODE_AWARE = "dswDSW"
_CATEGORIES = frozenset(
    (
        "Cn",
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "Mn",
        "Me",
        "Mc",
        "Nd",
        "Nl",
        "No",
        "Zs",
        "Zl",
        "Zp",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "Pd",
        "Ps",
        "Pe",
        "Pc",
        "Po",
        "Sm",
        "Sc",
        "Sk",
        "So",
        "Pi",
        "Pf",
        "L",
        "M",
        "N",
        "Z",
        "C",
        "P",
        "S",
        "LC",
        "LD",
        "L1",
        "all",
    )
)
_PROPERTY = re.compile(
    r"(?:Is|In|java)[A-Za-z0-9_ -]+|(?:sc|script|blk|block|gc|general_category)=[A-Za-z0-9_ -]+", re.IGNORECASE
)


@dataclass
class Parser:
    """A recursive descent over the pattern, in the order of Java's own."""

    text: str
    at: int = 0
    flags: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    capturing: int = 0
    depth: int = 0

    def parse(self) -> Node:
        """The tree of the whole pattern. RegexSyntaxError where Java would refuse it."""
        tree = self._choice()
        if self.at < len(self.text):
            self._fail("a closing parenthesis has no opening one")
        return tree

    def _fail(self, reason: str) -> NoReturn:
        raise RegexSyntaxError(reason, self.at)

    def _peek(self) -> str:
        """The next character that means something, or the empty text at the end."""
        while "x" in self.flags and self.at < len(self.text):
            if self.text[self.at] in " \t\n\x0b\f\r":
                self.at += 1
            elif self.text[self.at] == "#":
                end = re.compile(r"[\n\r\x85\u2028\u2029]|\Z").search(self.text, self.at)
                self.at = end.end() if end else len(self.text)
            else:
                break
        return self.text[self.at : self.at + 1]

    def _next(self) -> str:
        """Take one character, whatever it is."""
        character = self.text[self.at : self.at + 1]
        self.at += 1
        return character

    def _take(self, expected: str) -> bool:
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def _choice(self) -> Node:
        self.depth += 1
        if self.depth > MAX_GROUP_DEPTH:
            self._fail("groups are nested too deeply")
        branches = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self) -> Node:
        items: list[Node] = []
        while (character := self._peek()) and character not in "|)":
            if character in "*+?":
                self._fail(f"there is nothing for {character} to repeat")
            atom = NOTHING if character == "{" else self._atom(character)
            if atom is not None:
                items.append(self._quantified(atom))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _atom(self, character: str) -> Node | None:
        """One unit; None for flags, which nothing can repeat."""
        position = self.at
        if character == "(":
            return self._group()
        self.at += 1
        if character == "[":
            return One(self._folded(self._class()), position)
        if character == "\\":
            return self._escape(position)
        if character == "^":
            return Assertion(start="m" not in self.flags)
        if character == "$":
            return Assertion()
        return One(self._dot() if character == "." else self._folded(charsets.of(character)), position)

    def _dot(self) -> CharSet:
        if "s" in self.flags:
            return charsets.ANY
        return charsets.complement(charsets.of("\n") if "d" in self.flags else charsets.LINE_ENDS)

    def _folded(self, charset: CharSet) -> CharSet:
        return charsets.fold_case(charset) if "i" in self.flags else charset

    def _quantified(self, atom: Node) -> Node:
        character = self._peek()
        if character and character in "*+?":
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
        elif character == "{":
            self.at += 1
            least, most = self._counts()
        else:
            return atom
        if self._peek() in ("?", "+"):
            self.at += 1
        return Repeat(atom, least, most)

    def _counts(self) -> tuple[int, int | None]:
        match = re.compile(r"([0-9]+)(,?)([0-9]*)").match(self.text, self.at)
        if match is None:
            self._fail("a { that begins no repetition must be written \\{")
        self.at = match.end()
        if not self._take("}"):
            self._fail("a counted repetition has no }")
        digits = [text.lstrip("0") for text in (match[1], match[3])]
        if max(map(len, digits)) > len(str(_LARGEST_COUNT)):
            self._fail("a count is too large")
        least = int(match[1])
        most = (int(match[3]) if match[3] else None) if match[2] else least
        if least > _LARGEST_COUNT or (most is not None and not least <= most <= _LARGEST_COUNT):
            self._fail("the counts of a repetition are out of order or too large")
        return least, most

    def _group(self) -> Node | None:
        self.at += 1
        saved = set(self.flags)
        if not self._take("?"):
            self.capturing += 1
            return self._group_body(saved)
        for opening in ("<=", "<!"):
            if self._take(opening):
                return self._lookbehind(saved)
        for opening in ("=", "!"):
            if self._take(opening):
                return Lookaround(self._group_body(saved))
        if self._take("<"):
            self._group_name()
            return self._group_body(saved)
        if self._take(":") or self._take(">"):
            return self._group_body(saved)
        return self._flag_group(saved)

    def _group_body(self, flags_after: set[str]) -> Node:
        body = self._choice()
        if not self._take(")"):
            self._fail("a group has no closing parenthesis")
        self.flags = flags_after
        return body

    def _lookbehind(self, flags_after: set[str]) -> Node:
        body = self._group_body(flags_after)
        if is_unlimited(body):
            self._fail("a look-behind has no greatest length")
        return Lookaround(body)

    def _group_name(self) -> None:
        match = re.compile(r"([A-Za-z][A-Za-z0-9]*)>").match(self.text, self.at)
        if match is None:
            self._fail("a group's name must have letters and digits and end with >")
        if match[1] in self.groups:
            self._fail(f"there are two groups named {match[1]}")
        self.groups.add(match[1])
        self.capturing += 1
        self.at = match.end()

    def _flag_group(self, saved: set[str]) -> Node | None:
        turned_on = True
        while (character := self._next()) not in (")", ":"):
            if character == "-" and turned_on:
                turned_on = False
            elif character and character in _FLAGS:
                (self.flags.add if turned_on else self.flags.discard)(character)
            else:
                self._fail("this kind of group is unknown")
        return self._group_body(saved) if character == ":" else None

    def _escape(self, position: int) -> Node:
        character = self.text[self.at : self.at + 1]
        if character and character in _ANCHORS:
            self.at += 1
            self._take("{g}")
            return Assertion(start=character == "A")
        if character and character in "123456789":
            self.at += 1
            return BackReference(position)
        if character == "k":
            return self._named_reference(position)
        if character in ("R", "X"):
            self.at += 1
            return One(charsets.ANY if character == "X" else charsets.LINE_ENDS, position)
        return One(self._folded(self._escaped_set()), position)

    def _named_reference(self, position: int) -> Node:
        match = re.compile(r"k<([A-Za-z][A-Za-z0-9]*)>").match(self.text, self.at)
        if match is None or match[1] not in self.groups:
            self._fail("there is no group of this name")
        self.at = match.end()
        return BackReference(position)

    def _escaped_set(self) -> CharSet:
        """What an escape stands for, inside or outside a class; the backslash has been taken."""
        character = self._next()
        if not character:
            self._fail("the pattern ends with a backslash")
        if character.lower() in _CLASSES:
            return self._predefined(character)
        if character in "pP":
            return self._property(negated=character == "P")
        if character in _CONTROLS:
            return charsets.of(_CONTROLS[character])
        if character in "0xucN":
            return self._coded(character)
        if character.isascii() and (character.isalpha() or character.isdigit()):
            self._fail(f"there is no escape \\{character}")
        return charsets.of(character)

    def _predefined(self, character: str) -> CharSet:
        charset = _CLASSES[character.lower()]
        if "U" in self.flags and character in _UNICODE_AWARE:
            return charsets.union(
                charsets.complement(charset) if character.isupper() else charset, charsets.BEYOND_ASCII
            )
        return charsets.complement(charset) if character.isupper() else charset

    def _property(self, *, negated: bool) -> CharSet:
        match = re.compile(r"\{(\^?)([^}]*)\}|([A-Z])").match(self.text, self.at)
        if match is None:
            self._fail("a character property has no name")
        name = match[2] if match[2] is not None else match[3]
        if name not in charsets.POSIX and name not in _CATEGORIES and not _PROPERTY.fullmatch(name):
            self._fail(f"there is no character property {name}")
        self.at = match.end()
        charset = charsets.POSIX.get(name)
        if charset is None or "U" in self.flags:
            return charsets.ANY
        return charsets.complement(charset) if negated else charset

    def _coded(self, character: str) -> CharSet:
        pattern = {
            "0": r"([0-3][0-7]{2}|[0-7]{1,2})",
            "x": r"([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\}",
            "u": r"([0-9A-Fa-f]{4})",
            "c": r"(?s:(.))",
            "N": r"\{([^}]+)\}",
        }[character]
        match = re.compile(pattern).match(self.text, self.at)
        if match is None:
            self._fail(f"the escape \\{character} is not complete")
        self.at = match.end()
        if character == "N":
            return self._named_character(match[1])
        if character == "c":
            return ((ord(match[1]) ^ 64, ord(match[1]) ^ 64),)
        code = int(match[1] or match[2], 8 if character == "0" else 16)
        if code > charsets.HIGHEST:
            self._fail("a code point is too large")
        return ((code, code),)

    def _named_character(self, name: str) -> CharSet:
        try:
            return charsets.of(unicodedata.lookup(name))
        except (KeyError, TypeError):
            self._fail(f"there is no character named {name}")

    def _class(self) -> CharSet:
        """A bracket expression; its opening bracket has been taken."""
        self.depth += 1
        if self.depth > MAX_GROUP_DEPTH:
            self._fail("character classes are nested too deeply")
        negated = self._peek() == "^" and self._take("^")
        operands: list[CharSet] = []
        parts: list[CharSet] = []
        while True:
            character = self._peek()
            if not character:
                self._fail("a character class has no closing bracket")
            if character == "]" and (parts or operands):
                break
            if self._take("&&"):
                operands.append(charsets.union(*parts))
                parts = []
            else:
                parts.append(self._class_part(character))
        self.at += 1
        self.depth -= 1
        return self._intersected(operands, parts, negated=negated)

    def _intersected(self, operands: list[CharSet], parts: list[CharSet], *, negated: bool) -> CharSet:
        charset = charsets.union(*parts) if parts or not operands else operands.pop()
        for operand in operands:
            charset = charsets.intersect(charset, operand)
        charset = self._folded(charset)
        return charsets.complement(charset) if negated else charset

    def _class_part(self, character: str) -> CharSet:
        self.at += 1
        if character == "[":
            return self._class()
        first = self._escaped_set() if character == "\\" else charsets.of(character)
        if self._peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("", "]", "["):
            return first
        if not _single(first):
            return first
        self.at += 1
        last = self._escaped_set() if self._take("\\") else charsets.of(self._next())
        if not _single(last) or last[0][0] < first[0][0]:
            self._fail("the ends of a character range are out of order")
        return ((first[0][0], last[0][0]),)


def _single(charset: CharSet) -> bool:
    return len(charset) == 1 and charset[0][0] == charset[0][1]


def unquoted(pattern: str) -> str:
    r"""The pattern with what stands between \Q and \E escaped character by character, as Java does first."""
    written, at = "", 0
    while at < len(pattern):
        if pattern.startswith("\\Q", at):
            end = pattern.find("\\E", at + 2)
            quoted = pattern[at + 2 :] if end < 0 else pattern[at + 2 : end]
            written += "".join(c if c.isalnum() or not c.isascii() else "\\" + c for c in quoted)
            at = len(pattern) if end < 0 else end + 2
        else:
            step = 2 if pattern[at] == "\\" else 1
            written += pattern[at : at + step]
            at += step
    return written


def parse(pattern: str) -> Node:
    """The tree of a Java regular expression. RegexSyntaxError, with the reason, where Java would refuse it."""
    return Parser(unquoted(pattern)).parse()


@dataclass(frozen=True)
class Groups:
    """The capturing groups of a pattern: how many, and the names of those that have one."""

    count: int
    names: frozenset[str]


def groups(pattern: str) -> Groups:
    """The groups that a pattern captures. RegexSyntaxError where Java would refuse it."""
    parser = Parser(unquoted(pattern))
    parser.parse()
    return Groups(parser.capturing, frozenset(parser.groups))
