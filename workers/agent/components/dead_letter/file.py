"""Dead letters as lines of JSON, one file a day."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.domain.ledger.journal import Planned
from workers.agent.base.findings import refuse
from workers.agent.base.reach import require_path
from workers.agent.graph.batch import Refusal, base64_text
from workers.agent.graph.component import DeadLetterBuilder, Place


class Builder(DeadLetterBuilder):
    """Appends to a file of the day (UTC) and makes it durable."""

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._directory = Path(spec.path) / place.pipeline if spec.path else place.state / "dead-letters"

    def probe(self) -> None:
        """The directory can be made and written."""
        try:
            if self.spec.path:
                require_path(self._directory, self.place.reach)
            self._directory.mkdir(parents=True, exist_ok=True)
            if not os.access(self._directory, os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied")
        except OSError as error:
            message = f"The directory {self._directory} cannot be written: {error.strerror or error}."
            advice = "Create it, or give the worker's user the right to write there."
            raise refuse(f"{self.place.path}.path", "DIRECTORY_UNWRITABLE", message, advice) from error

    def store(self, planned: Planned, dead_letters: Sequence[Refusal]) -> list[str]:
        """One line each; a place is `file:byte`."""
        path = self._directory / f"{time.strftime('%Y-%m-%d', time.gmtime())}.jsonl"
        lines = [_line(planned, dead_letter) for dead_letter in dead_letters]
        if self.spec.path:
            require_path(path, self.place.reach)
        with path.open("ab") as file:
            start = file.tell()
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
        places = []
        for line in lines:
            places.append(f"{path}:{start}")
            start += len(line)
        return places


def _line(planned: Planned, dead_letter: Refusal) -> bytes:
    text = {
        "at": time.time(),
        "source": planned.source,
        "channel": planned.channel,
        "component": dead_letter.component,
        "cause": dead_letter.cause,
        "origin": {"topic": dead_letter.topic, "partition": dead_letter.partition, "offset": dead_letter.offset},
        "key": base64_text(dead_letter.key),
        "headers": [[name, base64_text(value)] for name, value in dead_letter.headers],
        "body": base64_text(dead_letter.body),
    }
    return json.dumps(text, separators=(",", ":")).encode() + b"\n"
