"""Keeps the evidence of real migrations as the examples of the documentation.

Tests that have carried out a migration on the real stack call `keep_example`, which writes where HEADGATE_EXAMPLES=1 is
set alone. `manage.py render_migration_examples` then makes pages and index anew. A document that lies in a file already
is taken by `python -m tests.chaos.examples NAME FILE`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.domain.migration import evidence, report

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "migration-examples"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_OF_A_MACHINE = re.compile(r"/(?:tmp|work|home|root|Users|var)/[^\s\"']*")


def keep_example(
    name: str, found: Mapping[str, Any] | str | bytes, html: str | bytes | None = None, *, folder: Path = FOLDER
) -> list[Path]:
    """Write an answer of GET /migrations/ID/evidence, and its page, unless nobody wants examples: [] then.

    Raises ValueError for what is no example: it does not verify, its page is of another document, or it names files of
    the machine on which it was made.
    """
    if os.environ.get("HEADGATE_EXAMPLES") != "1":
        return []
    return _keep(name, found, html, folder)


def _keep(name: str, found: Mapping[str, Any] | str | bytes, html: str | bytes | None, folder: Path) -> list[Path]:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an example: small letters, digits and hyphens")
    document = json.loads(found) if isinstance(found, str | bytes) else dict(found)
    text = evidence.text(document)
    page = report.html(document) if html is None else html.decode() if isinstance(html, bytes) else html
    for wrong in problems(text, page):
        raise ValueError(f"{name}: {wrong}")
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.json", folder / f"{name}.html"]
    for file, content in zip(files, (text, page), strict=True):
        file.write_text(content)
    return files


def problems(text: str, page: str) -> list[str]:
    """What keeps a document and its page from being an example."""
    verified = evidence.verify(text)
    found = [] if verified.holds else [verified.reason]
    if verified.sha256 not in page:
        found.append("The page is of another document.")
    found += [f"It names {path}." for path in sorted(set(_OF_A_MACHINE.findall(text + page)))]
    return found


def main() -> None:
    """Take a document from a file."""
    name, file = sys.argv[1:]
    for written in _keep(name, Path(file).read_bytes(), None, FOLDER):
        print(written.relative_to(FOLDER.parents[2]))


if __name__ == "__main__":
    main()
