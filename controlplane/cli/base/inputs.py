"""Files, standard input, times and pairs that commands read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from controlplane.cli.base.errors import CommandError, ExitCode


def read_text(file: str, *, most: int, what: str, encoding: str = "utf-8") -> str:
    """The text of a file, or of standard input for `-`. CommandError where it is not text."""
    try:
        return read_bytes(file, most=most, what=what).decode(encoding)
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not UTF-8 text", code="not_text", exit_code=ExitCode.REFUSED) from None


def read_bytes(file: str, *, most: int, what: str) -> bytes:
    """The content of a file, or of standard input for `-`. CommandError where it cannot be read, or has more than
    `most` bytes; `what` it should be is part of the message."""
    try:
        content = sys.stdin.buffer.read(most + 1) if file == "-" else _head(Path(file), most + 1)
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        raise CommandError(message, code="unreadable", exit_code=ExitCode.USAGE) from None
    if len(content) > most:
        raise CommandError(f"{file} is too large for {what}", code="too_large", exit_code=ExitCode.REFUSED)
    return content


def _head(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def moment(text: str, *, wrong: str = "is not a time: use RFC 3339 such as 2026-03-01T18:00:00Z") -> str:
    """An RFC 3339 time, in this machine's time zone where it has none. CommandError with `wrong` for other text."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.astimezone()).isoformat()
    except (ValueError, OverflowError):
        raise CommandError.of_usage(f"{text} {wrong}.") from None


def pairs(texts: Sequence[str], usage: str) -> dict[str, str]:
    """Values of an option that are NAME=VALUE. CommandError with the correct `usage` for other text."""
    split = [text.partition("=") for text in texts]
    if not all(name and equals for name, equals, _ in split):
        raise CommandError.of_usage(f"Write {usage}.")
    return {name: value for name, _, value in split}
