"""Reading and writing the run directory. A reader, or a crash, sees the old or the new content and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any


def write_atomically(path: Path, document: dict[str, Any]) -> None:
    """Replace `path`: temporary file, fsync, rename. Raises OSError, for example where the disk is full."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        remove(temporary)
        raise


def remove(path: Path) -> None:
    """Remove a file, if it is there and that is possible."""
    with contextlib.suppress(OSError):
        path.unlink()


def read(path: Path) -> dict[str, Any] | None:
    """The document, or None where the file is absent, torn or not an object."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
