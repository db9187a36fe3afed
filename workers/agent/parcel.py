"""The part of Headgate that runs in Python workers, packed for executors: always of the driver's own version."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("pipelines/domain", "workers/agent")


def pack(target: Path) -> Path:
    """Write the archive, with source files only."""
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            archive.write(_ROOT / package.partition("/")[0] / "__init__.py", f"{package.partition('/')[0]}/__init__.py")
            for path in sorted((_ROOT / package).rglob("*.py")):
                archive.write(path, path.relative_to(_ROOT))
    return target
