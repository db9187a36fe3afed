"""The Python interceptor that is measured: parse JSON, add a field, dump."""

from __future__ import annotations

import json
from typing import Any


class AddField:
    """Adds one field to every record."""

    def initialize(self, context: Any) -> None:
        """Nothing to prepare."""

    def intercept(self, event: Any) -> Any:
        """Answer the same event with a longer body."""
        record = json.loads(event.body)
        record["checked"] = True
        event.body = json.dumps(record).encode()
        return event

    def close(self) -> None:
        """Nothing to give back."""
