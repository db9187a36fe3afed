"""What is shown of an event: without the values of secrets, and of the fields and headers that the definition masks.
Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pipelines.domain.access.secrets import REDACTED, Mask, forms
from pipelines.domain.definitions.document.spec import Masking
from pipelines.domain.preview.json_changes import MISSING, Path, dumped, parsed
from pipelines.domain.preview.outcomes import Content

SHOWN_BYTES = 16 * 1024
"""Of a body, a key and the value of a header; a quarter of what is kept of a body, so that a value of a secret that
begins there is whole."""
_SHOWN_VALUE = 2000
"""Characters of a value in a body that has changed."""
_SHORTEST = 3
"""Characters of a masked value that is also replaced where it turns up elsewhere in the record."""
WITHHELD = "withheld"
TRUNCATED = "truncated"


@dataclass(frozen=True)
class Rules:
    """`fields`: the ends of paths in JSON bodies, each as names; `headers`: names, in lower case; `secrets`: texts."""

    fields: frozenset[tuple[str, ...]] = frozenset()
    headers: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, definitions: Iterable[Any], secrets: Iterable[str] = ()) -> Rules:
        """Of all these definitions together: a revision cannot uncover what another one masks."""
        return cls.of_all((each.masking for each in definitions), secrets)

    @classmethod
    def of_all(cls, masking: Iterable[Masking | None], secrets: Iterable[str] = ()) -> Rules:
        """Of all that is masked, wherever that is written."""
        parts = [each for each in masking if each]
        return cls(
            fields=frozenset(tuple(path.split(".")) for part in parts for path in part.fields),
            headers=frozenset(name.lower() for part in parts for name in part.headers),
            secrets=tuple(secrets),
        )

    def hides(self, path: Path) -> bool:
        """Whether the value at this place of a body is masked, by itself or with what holds it."""
        names = tuple(part for part in path if isinstance(part, str))
        return any(names[: end + 1][-len(field) :] == field for end in range(len(names)) for field in self.fields)

    def hides_header(self, name: str) -> bool:
        """Whether the values of a header are masked."""
        return name.lower() in self.headers

    def values(self, contents: Iterable[Content]) -> set[str]:
        """The texts behind masked fields and headers, which are masked wherever they turn up in the record."""
        found = {text for content in contents for text in self._values(content)}
        return {form for text in found if len(text) >= _SHORTEST for form in forms(text)}

    def _values(self, content: Content) -> Iterator[str]:
        for name, value in content.headers:
            if self.hides_header(name):
                yield value.decode(errors="replace")
        if self.fields and content.is_whole:
            yield from self._leaves(parsed(content.body), ())

    def _leaves(self, value: Any, path: Path) -> Iterator[str]:
        if isinstance(value, dict):
            for key, item in value.items():
                yield from self._leaves(item, (*path, key))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                yield from self._leaves(item, (*path, number))
        elif value is not MISSING and value is not None and not isinstance(value, bool) and self.hides(path):
            yield str(value)

    def for_record(self, contents: Iterable[Content]) -> Shown:
        """What shows the events of one record; `contents`: all that is known of it."""
        return Shown(self, Mask({*self.secrets, *self.values(contents)}))


@dataclass(frozen=True)
class Shown:
    """Shows the events of one record."""

    rules: Rules
    mask: Mask

    def event(self, content: Content) -> dict[str, Any]:
        """An event as JSON has it."""
        headers = [[self.mask.text(name), self.header(name, value)] for name, value in content.headers]
        key = None if content.key is None else self._line(content.key)
        return {"key": key, "headers": headers, "bytes": content.size, **self._body(content)}

    def header(self, name: str, value: bytes) -> str:
        """The value of a header."""
        return REDACTED if self.rules.hides_header(name) else self._line(value)

    def value(self, path: Path, value: Any) -> str | None:
        """A value in a body, as JSON text; None where there is none."""
        if value is MISSING:
            return None
        if self.rules.hides(path):
            return REDACTED
        return self.mask.text(dumped(self._masked(value, path)))[:_SHOWN_VALUE]

    def _line(self, data: bytes) -> str:
        shown = self._text(data)
        return shown.get("body") or f"base64:{shown['body_base64']}" if data else ""

    def _body(self, content: Content) -> dict[str, Any]:
        data = content.body
        if self.rules.fields:
            value = parsed(data) if content.is_whole else MISSING
            if value is MISSING:
                return {"body": None, "note": WITHHELD}
            masked = self._masked(value, ())
            data = data if masked == value else dumped(masked).encode()
        cut = not content.is_whole or len(data) > SHOWN_BYTES
        return {**self._text(data), "note": TRUNCATED if cut else ""}

    def _text(self, data: bytes) -> dict[str, str]:
        """The beginning, as text or in base64. It is cut behind the mask, so that no value is cut in two before."""
        masked = self.mask.text(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        shown = masked[:SHOWN_BYTES]
        try:
            return {"body": shown.decode(errors="ignore" if _is_text(masked) else "strict")}
        except UnicodeDecodeError:
            return {"body_base64": base64.b64encode(shown).decode()}

    def _masked(self, value: Any, path: Path) -> Any:
        if path and self.rules.hides(path):
            return REDACTED
        if isinstance(value, dict):
            return {key: self._masked(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self._masked(item, (*path, number)) for number, item in enumerate(value)]
        return value


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
