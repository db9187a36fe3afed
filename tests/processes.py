"""What tests ask about processes that may end at any moment."""

from __future__ import annotations

import psutil


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; empty where it is gone."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []
