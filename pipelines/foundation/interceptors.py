"""The administrator's registry of Python interceptors."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points

ENTRY_POINTS = "headgate.interceptors"


def allowed_interceptors(listed: Iterable[str]) -> frozenset[str]:
    """The classes that definitions may name, as module:Class: those of the settings, and of installed packages."""
    return frozenset([*listed, *(point.value for point in entry_points(group=ENTRY_POINTS))])


def directories(text: str) -> list[str]:
    """The directories of HEADGATE_INTERCEPTOR_PATH, which are separated by colons."""
    return [part.strip() for part in text.split(":") if part.strip()]
