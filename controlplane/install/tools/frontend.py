"""The dashboard's build: dependencies when the lock changed, the bundle when a source changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from controlplane.install.tools.node import Node
from controlplane.install.tools.paths import PROJECT

FRONTEND = PROJECT / "frontend"
NOT_SOURCES = {"node_modules", "dist", "coverage", "test-results"}


def ensure_dependencies(node: Node, root: Path = FRONTEND) -> bool:
    """`npm ci` unless the last one was for this lock file and this node. Returns whether it ran."""
    stamp = root / "node_modules" / ".headgate-dependencies"
    key = _digest(root, [root / "package.json", root / "package-lock.json"], node.version)
    if _read(stamp) == key:
        return False
    node.npm("ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=root, timeout=900, quiet=True)
    stamp.write_text(key)
    return True


def ensure_build(node: Node, root: Path = FRONTEND) -> bool:
    """`npm run build` unless the last one was of these sources. Returns whether it ran."""
    stamp = root / "node_modules" / ".headgate-build"
    key = _digest(root, sources(root), node.version)
    if _read(stamp) == key and (root / "dist" / "index.html").is_file():
        return False
    node.npm("run", "--silent", "build", cwd=root, timeout=600, quiet=True)
    stamp.write_text(key)
    return True


def sources(root: Path) -> list[Path]:
    """Every file of the dashboard that a build could depend on."""
    top = [
        entry for entry in root.iterdir() if entry.name not in NOT_SOURCES and not entry.name.endswith(".tsbuildinfo")
    ]
    files = [file for entry in top for file in ([entry] if entry.is_file() else entry.rglob("*"))]
    return sorted(file for file in files if file.is_file())


def _digest(root: Path, files: Iterable[Path], *more: str) -> str:
    """Of contents and of paths below the root: a copy of the project elsewhere has the same."""
    digest = hashlib.sha256("\0".join(more).encode())
    for file in files:
        digest.update(f"\0{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _read(stamp: Path) -> str:
    return stamp.read_text() if stamp.is_file() else ""
