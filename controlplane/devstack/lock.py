"""One stack per state directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.environment import private_directory
from controlplane.install.tools.errors import SetupError


@contextmanager
def only_stack(state: Path) -> Iterator[None]:
    """Hold the directory's lock, which the kernel frees however this process ends. Raises SetupError when taken."""
    private_directory(state)
    with (state / "up.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise SetupError(
                f"Another `headgate up` (process {file.read().strip() or 'unknown'}) already uses {state}.",
                "Stop that one with Ctrl-C, or use another directory: HEADGATE_STATE=/path/to/state.",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
