"""Files, standard input and times of commands."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from controlplane.cli.base.errors import CommandError, ExitCode


def read_text(file: str, *, most: int, what: str, encoding: str = "utf-8") -> str:
    """The text of a file, or of standard input for `-`. Raises CommandError where it has more than `most` bytes, is no
    text, or cannot be read; `what` it should be is for the words."""
    try:
        content = sys.stdin.buffer.read(most + 1) if file == "-" else _head(Path(file), most + 1)
        if len(content) > most:
            raise CommandError(f"{file} is too large for {what}", code="too_large", exit_code=ExitCode.REFUSED)
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not UTF-8 text", code="not_text", exit_code=ExitCode.REFUSED) from None
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        raise CommandError(message, code="unreadable", exit_code=ExitCode.USAGE) from None


def moment(text: str, *, wrong: str = "is not a time: write one such as 2026-03-01T18:00:00Z") -> str:
    """An RFC 3339 time, in this machine's zone where it names none. CommandError with `wrong` for what is none."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.astimezone()).isoformat()
    except (ValueError, OverflowError):
        raise CommandError(f"{text} {wrong}.", code="usage", exit_code=ExitCode.USAGE) from None


def _head(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)
