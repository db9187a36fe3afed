"""The file in which a source of files remembers how far they go. Without it nobody knows what was read of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from workers.agent.base.findings import Refused, refuse

_ADVICE = (
    "Restore the file from a backup. Without one, move it away and choose where each file continues "
    "(headgate positions plan) before the next start."
)


_SIMPLE: Mapping[str, type] = {"int": int, "str": str, "bool": bool}
_LEAST = -1
"""Of all numbers that are kept: a size that is not known yet."""


class RegistryDamaged(Exception):
    """The file is there, and does not say what it should."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever cannot be understood of a registry is RegistryDamaged, with the cause in words."""
    try:
        yield
    except OSError as error:
        raise RegistryDamaged(f"{path} cannot be read: {error.strerror}") from error
    except KeyError as error:
        raise RegistryDamaged(f"{path} is damaged: {error} is missing") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise RegistryDamaged(f"{path} is damaged: {error}") from error


def of_type(kind: type, written: Any) -> Mapping[str, Any]:
    """The fields of a dataclass as they were written, which has all of them and no other.

    A default in place of a field that is missing would move a position. Raises KeyError, TypeError or ValueError.
    """
    if not isinstance(written, dict):
        raise TypeError(f"an object is expected in place of {written!r:.50}")
    for field in fields(kind):
        value, expected = written[field.name], str(field.type)
        of_another_kind = expected in _SIMPLE and type(value) is not _SIMPLE[expected]
        if of_another_kind or (isinstance(value, int) and value < _LEAST):
            raise ValueError(f"{field.name} is {value!r:.50}")
    if unknown := written.keys() - {field.name for field in fields(kind)}:
        raise ValueError(f"{min(unknown)} is unknown")
    return written


def refused(path: str, error: RegistryDamaged) -> Refused:
    """The finding of a source at `path`. Nothing is read or skipped until a person has decided."""
    message = f"The registry of the files cannot be used: {error}. Nothing was read."
    return refuse(path, "REGISTRY_DAMAGED", message, _ADVICE)
