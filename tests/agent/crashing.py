"""An agent that kills itself at a named point: `python -m tests.agent.crashing RUNDIR POINT`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.domain.journal import Done, Planned
from workers.agent.__main__ import main
from workers.agent.components import sink_file, sink_postgres
from workers.agent.delivery import SinkGroup
from workers.agent.ledger import Journal
from workers.agent.postgres_batches import Batches


def die_after(owner: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:
    """Let the call happen, then die."""
    real = getattr(owner, name)

    def call(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named)
        if when(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, call)


def is_second(payload: type) -> Callable[..., bool]:
    """Whether a journal entry is that of the second batch."""
    return lambda _journal, entry: isinstance(entry, payload) and entry.batch == 1  # type: ignore[attr-defined]


def is_second_attempt(_builder: Any, attempt: Any, *_: Any) -> bool:
    """Whether an attempt is one of the second batch."""
    return bool(attempt.planned.batch == 1)


POINTS: dict[str, Callable[[], None]] = {
    "planned": lambda: die_after(Journal, "append", is_second(Planned)),
    "delivered": lambda: die_after(SinkGroup, "deliver", lambda _self, batch, *_: batch.planned.batch == 1),
    "done": lambda: die_after(Journal, "append", is_second(Done)),
    "staged": lambda: die_after(sink_file, "keep_parts", lambda _storage, staging, _: "-1.staging" in staging),
    "manifest": lambda: die_after(sink_file, "write_manifest", lambda _storage, path, _: "-1.manifest" in path),
    "postgres_staged": lambda: die_after(sink_postgres.Builder, "_copy", is_second_attempt),
    "postgres_committed": lambda: die_after(Batches, "commit", lambda _self, _connection, key, *_: key.batch == 1),
}

if __name__ == "__main__":
    POINTS[sys.argv[2]]()
    os._exit(main(Path(sys.argv[1])))
