"""Character sets of texts, by the names that Java knows on every platform, and those that a full Java adds."""

from __future__ import annotations

from pipelines.domain.base.findings import did_you_mean, quote
from pipelines.domain.base.values import refuse

_NAMES = (
    "UTF-8",
    "US-ASCII",
    "UTF-16",
    "UTF-16BE",
    "UTF-16LE",
    "UTF-32",
    "UTF-32BE",
    "UTF-32LE",
    *(f"ISO-8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16)),
    *(f"windows-125{part}" for part in range(9)),
    "KOI8-R",
    "KOI8-U",
    "IBM850",
    "IBM852",
    "IBM437",
    "IBM037",
    "IBM500",
    "IBM1047",
    "Shift_JIS",
    "EUC-JP",
    "ISO-2022-JP",
    "EUC-KR",
    "GBK",
    "GB2312",
    "GB18030",
    "Big5",
    "TIS-620",
)
_ALIASES = {"utf8": "UTF-8", "ascii": "US-ASCII", "latin1": "ISO-8859-1", "iso8859-1": "ISO-8859-1"}
_KNOWN = {name.lower(): name for name in _NAMES} | _ALIASES


def charset_name(name: str) -> str:
    """The name as Java writes it; a set that is not known is refused."""
    known = _KNOWN.get(name.strip().lower())
    if known is None:
        suggestion = did_you_mean(name, _NAMES, otherwise="Use UTF-8, ISO-8859-1 or windows-1252, for example.")
        refuse("unknown_charset", f"There is no character set {quote(name)}.", suggestion)
    return known
