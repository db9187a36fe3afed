"""Where classes of Python interceptors are looked for: the installed packages, then directories of the administrator.

The directories are added behind everything else, in the processes that run interceptors and in no other, so that none
of their modules can take the place of one of Python, of Headgate or of a package.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_WORKERS_UID = "HEADGATE_WORKER_UID"
"""The keeper sets it where the agent runs as another user than the worker."""
UNSAFE = "INTERCEPTOR_PATH_UNSAFE"
UNSAFE_ADVICE = (
    "HEADGATE_INTERCEPTOR_PATH of the host names the directories: correct it, or make the worker's user or root the "
    "owner and take the write permission from others (chmod go-w)."
)


class NotFound(Exception):
    """There is no such module or class, or it must not be used; the text says where it was looked for."""


def problems(directories: Sequence[str]) -> Iterator[str]:
    """Why a directory cannot be used, for each that cannot."""
    for directory in directories:
        path = Path(directory)
        if not path.is_absolute():
            yield f"The directory {directory} is not absolute."
        elif not path.is_dir():
            yield f"The directory {directory} does not exist, or is none."
        elif not os.access(path, os.R_OK | os.X_OK):
            yield f"The directory {directory} cannot be read by the worker's user."
        elif trouble := unsafe(path):
            yield f"The directory {trouble}"


def unsafe(path: Path) -> str:
    """Who else could put code there; empty where nobody can."""
    found = path.stat()
    if found.st_uid not in (0, os.getuid(), int(os.environ.get(_WORKERS_UID, "0"))):
        return f"{path} belongs to the user {found.st_uid}, who is neither the worker's user nor root."
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):o})."
    return ""


def load(class_name: str, directories: Sequence[str]) -> Any:
    """The class that `module:Class` names. Raises NotFound, or whatever the module raises."""
    sys.path.extend(directory for directory in directories if directory not in sys.path)
    importlib.invalidate_caches()
    module, _, name = class_name.partition(":")
    for path in _files(module, directories):
        if trouble := unsafe(path):
            raise NotFound(f"{trouble} {UNSAFE_ADVICE}")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        wanted = error.name or ""
        if module != wanted and not module.startswith(f"{wanted}."):
            raise NotFound(f"{module} needs the module {wanted}, which is missing. {_looked(directories)}") from error
        raise NotFound(f"There is no module {wanted}. {_looked(directories)}") from error
    if not hasattr(found, name):
        raise NotFound(f"The module {module} ({getattr(found, '__file__', 'built in')}) has no class {name}.")
    return getattr(found, name)


def _files(module: str, directories: Sequence[str]) -> Iterator[Path]:
    """The packages and the file of a module that lies in one of the directories, without running it."""
    search, name = None, ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        found = importlib.machinery.PathFinder.find_spec(name, search)
        if found is None:
            return
        places = [*(found.submodule_search_locations or []), *([found.origin] if found.origin else [])]
        paths = [Path(place) for place in places if os.path.isabs(place)]  # noqa: PTH117 - a text of Python's
        yield from (path for path in paths if path.exists() and any(path.is_relative_to(each) for each in directories))
        search = list(found.submodule_search_locations or [])


def _looked(directories: Sequence[str]) -> str:
    given = ", ".join(directories)
    own = f"in HEADGATE_INTERCEPTOR_PATH ({given})" if given else "HEADGATE_INTERCEPTOR_PATH is not set on the host"
    return f"Searched: the packages of {sys.prefix}, and {own}."
