"""A diagnostic bundle as an archive: bounded, with a manifest of what is in it, what was cut and what is missing."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import datetime
from typing import Any

MAX_BYTES = 20 * 1024 * 1024
"""Of all parts together, before they are compressed."""
MAX_PART_BYTES = 4 * 1024 * 1024
MANIFEST = "manifest.json"
_FILE_MODE = 0o600 << 16


class Archive:
    """A ZIP archive in memory, so that a full disk does not prevent it. Parts have the names that they are given."""

    def __init__(self, at: datetime, *, limit: int = MAX_BYTES, part_limit: int = MAX_PART_BYTES) -> None:
        self._at = at
        self._left, self._part_limit = limit, part_limit
        self._content = io.BytesIO()
        self._file = zipfile.ZipFile(self._content, "w", zipfile.ZIP_DEFLATED)
        self.parts: list[dict[str, Any]] = []
        self.left_out: list[dict[str, str]] = []

    def add_text(self, name: str, text: str, *, cut: str = "") -> None:
        """Add a text, or its end where there is no room for all of it."""
        data = text.encode("utf-8", "replace")
        if len(data) > self._room:
            kept = data[len(data) - self._room :].partition(b"\n")[2]
            cut = f"The last {len(kept)} of {len(data)} bytes."
            data = kept
        self._put(name, data, cut)

    def add_document(self, name: str, document: Any) -> None:
        """Add JSON; of a list the first rows for which there is room."""
        rows: list[Any] = document.get("results", []) if isinstance(document, dict) else []
        data, kept = _json(document), len(rows)
        while len(data) > self._room and kept:
            kept //= 2
            data = _json({**document, "results": rows[:kept]})
        if len(data) > self._room:
            self.leave_out(name, "bundle_full", f"It has {len(data)} bytes; there is room for {self._room}.")
            return
        cut = f"The first {kept} of {len(rows)} rows." if kept < len(rows) else _more(document)
        self._put(name, data, cut)

    def leave_out(self, name: str, code: str, reason: str) -> None:
        """Say that a part is missing, and why."""
        self.left_out.append({"name": name, "code": code, "reason": reason})

    def finish(self, head: dict[str, Any]) -> bytes:
        """Add the manifest; returns the archive."""
        self._write(MANIFEST, _json({**head, "parts": self.parts, "left_out": self.left_out}))
        self._file.close()
        return self._content.getvalue()

    @property
    def _room(self) -> int:
        return min(self._left, self._part_limit)

    def _put(self, name: str, data: bytes, cut: str) -> None:
        self._left -= len(data)
        self.parts.append({"name": name, "bytes": len(data), "cut": cut})
        self._write(name, data)

    def _write(self, name: str, data: bytes) -> None:
        entry = zipfile.ZipInfo(name, self._at.timetuple()[:6])
        entry.external_attr = _FILE_MODE
        self._file.writestr(entry, data, zipfile.ZIP_DEFLATED)


def _json(document: Any) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _more(document: Any) -> str:
    """What a page of a list leaves out."""
    more = isinstance(document, dict) and document.get("next") is not None and "results" in document
    return f"The first {len(document['results'])} rows; there are more." if more else ""
