"""What runs in Python workers, packed for executors: always the versions that the driver has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

ARCHIVE = "headgate.zip"
_ROOT = Path(__file__).resolve().parents[3]
_OWN = ("pipelines/domain", "workers/agent")
_BESIDE = "workers/crash_points.py"


def pack(target: Path, names: Sequence[str]) -> Path:
    """Write an archive of source files: this agent's own, and those of top-level packages or modules."""
    files = dict(_own())
    for name in names:
        files |= dict(_found(name))
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            archive.write(path, name)
    return target


def _own() -> Iterator[tuple[str, Path]]:
    for package in _OWN:
        top = package.partition("/")[0]
        yield f"{top}/__init__.py", _ROOT / top / "__init__.py"
        yield from _below(_ROOT / package, _ROOT)
    yield _BESIDE, _ROOT / _BESIDE


def _found(name: str) -> Iterator[tuple[str, Path]]:
    """One that cannot be found here is left to the executors' own interpreter."""
    spec = find_spec(name)
    if spec is None:
        return
    for location in spec.submodule_search_locations or ():
        yield from _below(Path(location), Path(location).parent)
    if spec.submodule_search_locations is None and spec.origin:
        yield Path(spec.origin).name, Path(spec.origin)


def _below(directory: Path, root: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.rglob("*.py")):
        yield str(path.relative_to(root)), path
