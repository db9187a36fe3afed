"""Takes given texts out of a stream of bytes, also where a read ends in the middle of one."""

from __future__ import annotations

import re
from collections.abc import Iterable

REDACTED = b"[redacted]"


class Redactor:
    """Replaces every occurrence of `texts`, the longest first.

    No text has a line feed, so whole lines pass at once. Of an unfinished line at most one byte less than the longest
    text is kept back, since it may be the beginning of one. The cost is one search over each byte that comes.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        ordered = sorted({text for text in texts if text and b"\n" not in text}, key=lambda text: (-len(text), text))
        self._pattern = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None
        self._reach = len(ordered[0]) - 1 if ordered else 0
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be shown now."""
        if self._pattern is None:
            return chunk
        data = self._held + chunk
        safe = max(data.rfind(b"\n") + 1, len(data) - self._reach)
        return self._show(self._pattern, data, safe)

    def flush(self) -> bytes:
        """The rest, when nothing more will come."""
        rest, self._held = self._held, b""
        return self._pattern.sub(REDACTED, rest) if self._pattern else rest

    def _show(self, pattern: re.Pattern[bytes], data: bytes, safe: int) -> bytes:
        """Everything before `safe`, and the whole of a text that begins there; the rest is held."""
        shown, done = [], 0
        for match in pattern.finditer(data):
            if match.start() >= safe:
                break
            shown += [data[done : match.start()], REDACTED]
            done = match.end()
        end = max(done, safe)
        self._held = data[end:]
        return b"".join([*shown, data[done:end]])
