"""Where set-up reads and keeps its files."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from controlplane.install.tools.errors import SETUP_HINT, SetupError

PROJECT = Path(__file__).resolve().parents[3]


def cache_dir() -> Path:
    """Downloaded and built things that a clone can do without: `HEADGATE_CACHE`, default `~/.cache/headgate`."""
    return Path(os.environ.get("HEADGATE_CACHE") or "~/.cache/headgate").expanduser().absolute()


def pyspark_jars() -> Path:
    """The jars inside the installed PySpark, found without importing it."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("PySpark is not installed in this Python.", SETUP_HINT)
    return Path(spec.submodule_search_locations[0]) / "jars"
