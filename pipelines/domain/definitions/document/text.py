"""Definitions as text: the plain subset of YAML 1.2 that JSON is part of, read within bounds.

Only what JSON could hold is built, out of the parser's events: no tags, no merge keys, no dates, no `yes` for true. So
no text can construct an object, and depth, size and the expansion of aliases are bounded before anything is copied.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from pipelines.domain.base.findings import Finding, PathParts, dotted, quote
from pipelines.domain.base.plain import MAX_CHARACTERS, MAX_DEPTH, MAX_VALUES
from pipelines.domain.definitions.document.spec import Definition

Place = tuple[int, int]

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]{1,25}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_OF_KEYS = frozenset({"unknown_key", "belongs_to_cluster", "forbidden_option"})
_TEXT_TAG = "tag:yaml.org,2002:str"


@dataclass
class Loaded:
    """`data` is None where nothing could be read. `places` has the line and column, from 1, of the value of every path,
    `keys` that of its key."""

    data: Any
    findings: list[Finding]
    places: dict[str, Place] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)

    def located(self, finding: Finding) -> Finding:
        """The finding with the line and column of its path: of the key, where the key itself is wrong; of the nearest
        place above, where the path is not in the text."""
        path = finding.path
        while path and path not in self.places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        places = self.keys if finding.code in _OF_KEYS and path in self.keys else self.places
        line, column = places.get(path, (None, None))
        return finding.model_copy(update={"line": line, "column": column})


class RefusedError(Exception):
    """The text as a whole cannot be used; the finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def load(text: str) -> Loaded:
    """Read YAML or JSON. Never raises; a text that cannot be read gives one finding that says where."""
    if len(text) > MAX_CHARACTERS:
        suggestion = f"Use at most {MAX_CHARACTERS // 1024} KiB."
        return Loaded(None, [_finding("too_large", "The definition is too large.", suggestion)])
    try:
        return Builder().build(text)
    except RefusedError as refused:
        return Loaded(None, [refused.finding])
    except (yaml.YAMLError, UnicodeError) as error:
        return _json(text) or Loaded(None, [_syntax_finding(error)])


def dump(definition: Definition | Mapping[str, Any]) -> str:
    """Write a definition as YAML, keys in the order of the format."""
    data = definition.plain() if isinstance(definition, Definition) else dict(definition)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _finding(code: str, message: str, suggestion: str, place: Place | None = None, path: PathParts = ()) -> Finding:
    line, column = place or (None, None)
    where = f" (line {line}, column {column})" if place else ""
    return Finding(
        path=dotted(path), code=code, message=message + where, suggestion=suggestion, line=line, column=column
    )


def _syntax_finding(error: Exception) -> Finding:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "the text is not valid"
    place = _place(mark) if mark else None
    return _finding("syntax", f"This is not YAML: {problem}", "Fix the text here, or just above.", place)


def _place(mark: Any) -> Place:
    return (mark.line + 1, mark.column + 1)


def _json(text: str) -> Loaded | None:
    """JSON that is not YAML: escaped surrogate pairs and the like."""
    if not text.lstrip().startswith("{"):
        return None
    findings: list[Finding] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(key for key, _ in pairs)
        findings.extend(_duplicate(key, None, ()) for key, count in counts.items() if count > 1)
        return dict(pairs)

    try:
        return Loaded(json.loads(text, object_pairs_hook=unique), findings)
    except (ValueError, RecursionError):
        return None


def _duplicate(key: str, place: Place | None, path: PathParts) -> Finding:
    return _finding("duplicate_key", f"The key {quote(key)} occurs twice", "Keep one of them.", place, path)


@dataclass
class Open:
    """A mapping or list whose end has not been reached. `key` is what the next value of a mapping belongs to, and
    `key_place` where it is written."""

    value: Any
    path: PathParts
    anchor: str | None
    weight_before: int
    key: str | None = None
    key_place: Place | None = None


class Builder:
    """Builds plain data from parser events."""

    def __init__(self) -> None:
        self.open: list[Open] = []
        self.root: Any = None
        self.findings: list[Finding] = []
        self.places: dict[str, Place] = {}
        self.keys: dict[str, Place] = {}
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.weight = 0

    def build(self, text: str) -> Loaded:
        """Read the one document of `text`. RefusedError or yaml.YAMLError where that cannot be done."""
        documents = 0
        for event in yaml.parse(text, Loader=LOADER):
            place = _place(event.start_mark)
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
            if documents > 1:
                raise RefusedError(_finding("two_documents", "There is a second document", "Keep one.", place))
            self._handle(event, place)
        return Loaded(self.root, self.findings, self.places, self.keys)

    def _handle(self, event: Any, place: Place) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._alias(event, place)
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, place)
        elif isinstance(event, yaml.MappingStartEvent):
            self._start({}, event, place)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._start([], event, place)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()

    def _start(self, value: Any, event: Any, place: Place) -> None:
        self._refuse_tag(event.tag, place)
        if len(self.open) >= MAX_DEPTH:
            raise RefusedError(_finding("too_deep", f"Nested deeper than {MAX_DEPTH} levels", "Flatten it.", place))
        if self._expects_key():
            raise RefusedError(_finding("bad_key", "A key must be text", "Write a plain word as the key.", place))
        path = self._add(value, 1, place, of_key=not event.flow_style)
        self.open.append(Open(value, path, event.anchor, self.weight))

    def _end(self) -> None:
        closed = self.open.pop()
        if closed.anchor:
            self.anchors[closed.anchor] = (closed.value, self.weight - closed.weight_before + 1)

    def _alias(self, event: Any, place: Place) -> None:
        if event.anchor not in self.anchors:
            message = f"The alias *{event.anchor} has no anchor before it"
            raise RefusedError(_finding("bad_alias", message, "Write the value out.", place))
        if self._expects_key():
            raise RefusedError(_finding("bad_key", "A key must be text", "Write a plain word as the key.", place))
        value, weight = self.anchors[event.anchor]
        self._add(value, weight, place)

    def _scalar(self, event: Any, place: Place) -> None:
        self._refuse_tag(event.tag, place)
        value = _resolved(event.value) if event.implicit[0] else event.value
        if self._expects_key():
            self._key(value, event.value, place)
            return
        self._add(value, 1, place)
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)

    def _key(self, value: Any, written: str, place: Place) -> None:
        owner = self.open[-1]
        integer = isinstance(value, int) and not isinstance(value, bool)
        name = str(value) if integer else written
        if not integer and not isinstance(value, str):
            self.findings.append(_finding("bad_key", f"The key {written} is not text", "Quote it.", place, owner.path))
        elif name == "<<":
            message = "Merge keys are not supported"
            self.findings.append(_finding("merge_key", message, "Write the keys out.", place, owner.path))
        elif name in owner.value:
            self.findings.append(_duplicate(name, place, (*owner.path, name)))
        owner.key, owner.key_place = name, place

    def _expects_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1].value, dict) and self.open[-1].key is None

    def _add(self, value: Any, weight: int, place: Place, *, of_key: bool = False) -> PathParts:
        """Put a value where the innermost open collection expects one; returns its path. `of_key`: it begins below its
        key, so a finding about it stands at the key."""
        self.weight += weight
        if self.weight > MAX_VALUES:
            suggestion = "Remove repetitions and aliases."
            raise RefusedError(_finding("too_large", f"More than {MAX_VALUES} values", suggestion, place))
        if not self.open:
            self.root = value
            return ()
        owner = self.open[-1]
        part: str | int = len(owner.value) if owner.key is None else owner.key
        path = (*owner.path, part)
        written = dotted(path)
        self.places[written] = place
        if owner.key is None:
            owner.value.append(value)
        else:
            if owner.key_place is not None:
                self.keys[written] = owner.key_place
                self.places[written] = owner.key_place if of_key else place
            owner.value[owner.key] = value
            owner.key = None
        return path

    def _refuse_tag(self, tag: str | None, place: Place) -> None:
        if tag not in (None, "!", _TEXT_TAG):
            raise RefusedError(_finding("tag", f"The tag {tag} is not allowed", "Write plain values.", place))


def _resolved(written: str) -> Any:
    """What an unquoted scalar means in YAML 1.2's core schema, without octal and hexadecimal numbers."""
    if written in _CONSTANTS:
        return _CONSTANTS[written]
    if _INTEGER.fullmatch(written):
        return int(written)
    if _FLOAT.fullmatch(written):
        return float(written)
    return written
