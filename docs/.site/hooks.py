"""What `mkdocs.yml` cannot say: a folder in the navigation stands for its pages, the index first."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Put the pages of folders into the navigation."""
    config.nav = _filled(config.nav, Path(config.docs_dir))
    return config


def _filled(nav: Any, docs: Path) -> Any:
    if isinstance(nav, list):
        return [_filled(entry, docs) for entry in nav]
    if isinstance(nav, dict):
        return {title: _filled(entry, docs) for title, entry in nav.items()}
    folder = docs / nav
    if not folder.is_dir():
        return nav
    pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
    return [page.relative_to(docs).as_posix() for page in pages]
