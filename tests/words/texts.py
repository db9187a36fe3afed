"""The texts of a file that users read, with their lines: literals of code, text of JSX, and prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`[^`]*`|\$?\{[^{}]*\}|\S*[/_]\S*|<[a-z/][^>]*>|--[a-z-]+")
_TARGET = re.compile(r"\]\([^)]*\)")
_PROSE = re.compile(r"[^\W\d_]{2,}\W*\s\W*[^\W\d_]")
_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", re.DOTALL)
_QUOTED = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`")
_JSX = re.compile(r"(?<!=)[>}]([^<>{}=;()]+)(?=[<{])")


class Text(NamedTuple):
    """What a user reads, and the line of the file on which it begins."""

    line: int
    text: str


def texts(path: Path) -> Iterator[Text]:
    """The prose of a file. Names in it (code, paths, options, placeholders) are left out."""
    read = {".py": _python, ".md": _markdown, ".ts": _script, ".tsx": _script}[path.suffix]
    for text in read(path.read_text()):
        prose = _NAME.sub(_blank, text.text)
        if path.suffix == ".md" or _PROSE.search(prose):
            yield Text(text.line, prose)


def _blank(name: re.Match[str]) -> str:
    return " … " + "\n" * name[0].count("\n")


def _python(source: str) -> Iterator[Text]:
    """Every literal that is an operand; a literal that is a statement is a docstring."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            left_out.update(id(part) for part in node.values)
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield _literal(node, "".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield _literal(node, node.value)


def _literal(node: ast.expr, value: str) -> Text:
    """Line breaks of a literal on fewer lines are escaped ones."""
    written = value.count("\n") <= (node.end_lineno or node.lineno) - node.lineno
    return Text(node.lineno, _without_code(value) if written else _without_code(value).replace("\n", " "))


def _markdown(source: str) -> Iterator[Text]:
    """Paragraphs, entries of lists and rows of tables: a term may be divided by the end of a line."""
    started: list[str] = []
    for number, line in enumerate([*_without_code(source).split("\n"), ""], 1):
        if started and (not line.strip() or line.lstrip().startswith(("|", "- ", "#", ":", ">"))):
            yield Text(number - len(started), "\n".join(started))
            started = []
        if started or line.strip():
            started.append(_TARGET.sub("]", line))


def _without_code(text: str) -> str:
    return _FENCE.sub(lambda code: "\n" * code[0].count("\n"), text)


def _script(source: str) -> Iterator[Text]:
    """Literals, and what stands between the tags of JSX."""
    code = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source)
    for found in _QUOTED.finditer(code):
        yield Text(code.count("\n", 0, found.start()) + 1, found[0][1:-1])
    bare = _QUOTED.sub(lambda quoted: '""' + "\n" * quoted[0].count("\n"), code)
    for found in _JSX.finditer(bare):
        yield Text(bare.count("\n", 0, found.start(1)) + 1, found[1])
