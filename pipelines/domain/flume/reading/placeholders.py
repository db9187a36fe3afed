"""What Flume replaces in values (environment, configuration filters, look-ups), as references of a definition.

Flume reads `${NAME}` and `${env:NAME}` from its environment, and asks a configuration filter where it finds
`${filter['key']}` (FlumeConfiguration, AbstractConfigFilter of 1.11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_FILTERED = re.compile(r"\$\{([\w.-]+)\[(|'|\")([-_A-Za-z0-9]+)\2\]\}")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}")
_OURS = re.compile(r"\$\{(?:secret|env):[A-Za-z0-9][A-Za-z0-9._/-]*\}")
_ANY = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True)
class Translated:
    """A value with our references; the variables and secrets that it now needs, and what was left as it is."""

    text: str
    variables: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    defaults_dropped: bool = False
    unknown: tuple[str, ...] = ()


def translate(value: str, filters: Mapping[str, str]) -> Translated:
    """Rewrite every placeholder. `filters` has the type of each configuration filter by name."""
    if "${" not in value:
        return Translated(value)
    variables: list[str] = []
    secrets: list[str] = []
    dropped = False

    def filtered(match: re.Match[str]) -> str:
        name, key = match[1], match[3]
        if name not in filters:
            return match[0]
        if filters[name].lower() in ("env", "org.apache.flume.configfilter.environmentvariableconfigfilter"):
            variables.append(key)
            return f"${{env:{key}}}"
        secret = key.strip("-_") or "secret"
        secrets.append(secret)
        return f"${{secret:{secret}}}"

    def variable(match: re.Match[str]) -> str:
        nonlocal dropped
        dropped = dropped or bool(match[2])
        name = match[1].lstrip("_")
        if not name:
            return match[0]
        variables.append(match[1])
        return f"${{env:{match[1]}}}"

    text = _VARIABLE.sub(variable, _FILTERED.sub(filtered, value))
    unknown = tuple(found for found in _ANY.findall(text) if not _OURS.fullmatch(found))
    return Translated(text, tuple(dict.fromkeys(variables)), tuple(dict.fromkeys(secrets)), dropped, unknown)
