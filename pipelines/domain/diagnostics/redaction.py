"""What a diagnostic bundle must not have: known values wherever they stand, and what looks like a credential.

Each pattern looks a bounded number of characters ahead, so that no text makes it slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pipelines.domain.access.secrets import REDACTED, forms
from pipelines.domain.definitions.document.references import REFERENCE

_NAMES = "password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?"
_NAMED = re.compile(rf"(?:{_NAMES}|authorization|cookie|jaas\.config)$", re.IGNORECASE)
"""A key whose text is a secret."""
_VALUE = r"""(?:"[^"\n]{0,4096}"|'[^'\n]{0,4096}'|[^\s,;&"'\\)\]}]{1,4096})"""
_PATTERNS = [
    (re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,16384}"), REDACTED),
    (re.compile(r"""(://)[^\s/"'<>]{1,512}@"""), rf"\1{REDACTED}@"),
    (re.compile(r"\b(bearer\s{1,4})[\w.~+/=-]{8,4096}", re.IGNORECASE), rf"\1{REDACTED}"),
    (re.compile(r"\b((?:basic|token)\s{1,4})(?=[a-z_.~+/=-]{0,512}\d)[\w.~+/=-]{8,4096}", re.I), rf"\1{REDACTED}"),
    (re.compile(r"""\b((?:authorization|cookie)\\?["']?\s{0,4}[:=]\s{0,4})[^\n"']{1,4096}""", re.I), rf"\1{REDACTED}"),
    (re.compile(r"\bhg_[A-Za-z0-9]{20,128}"), REDACTED),
    (re.compile(r"\beyJ[\w-]{8,4096}\.[\w-]{8,4096}\.[\w-]{0,4096}"), REDACTED),
    (re.compile(r"\b(?:AKIA[0-9A-Z]{12}|AIza[\w-]{20})[\w-]{0,64}"), REDACTED),
    (re.compile(r"\b(?:ghp|gho|ghs|github_pat|glpat|xox[abp]|whsec|hvs)[_.-][\w-]{8,512}"), REDACTED),
    (re.compile(r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)[\w-]{8,512}"), REDACTED),
]
_ASSIGNED = re.compile(
    rf"""(?<!\$\{{)((?:{_NAMES})[\w.-]{{0,40}}\\?["']?\s{{0,4}}[:=]\s{{0,4}}\\?)({_VALUE})""", re.IGNORECASE
)


class Redaction:
    """Takes values out of texts, the longest first, and then what looks like a credential."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        texts: set[str] = set().union(*map(forms, filter(None, values)))
        self._texts = sorted(texts, key=lambda text: (-len(text), text))

    def text(self, text: str) -> str:
        """The text without them."""
        for each in self._texts:
            if each in text:
                text = text.replace(each, REDACTED)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return _ASSIGNED.sub(_assigned, text)

    def document(self, value: Any) -> Any:
        """A copy of JSON-like data without them, its keys included."""
        if isinstance(value, dict):
            return {self.text(key): self._item(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.document(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _item(self, key: str, item: Any) -> Any:
        if isinstance(item, str) and item and _NAMED.search(key) and not REFERENCE.fullmatch(item):
            return REDACTED
        return self.document(item)


def _assigned(match: re.Match[str]) -> str:
    """A name with its value hidden; a reference is no value."""
    value = match[2].strip("\"'")
    return match[0] if value.startswith(("${", REDACTED[:9])) else match[1] + REDACTED
