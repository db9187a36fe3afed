"""Every address of the page has its picture."""

from __future__ import annotations

import re
from pathlib import Path

from tests.screenshots import SCREENS

PROJECT = Path(__file__).resolve().parents[3]
ROUTER = PROJECT / "frontend" / "src" / "app" / "router.tsx"
ROUTE = re.compile(r"const (\w+) = createRoute\(\{\s+getParentRoute: \(\) => (\w+),\s+path: '([^']*)'")
LEADS_ON = {"/migrations/$id"}
"""Shows nothing itself."""


def routes() -> set[str]:
    """Addresses of the page, with names for what differs."""
    found = {"root": ""}
    for name, parent, path in ROUTE.findall(ROUTER.read_text()):
        found[name] = "/".join([found[parent].rstrip("/"), path.strip("/")]).rstrip("/")
    return {path or "/" for name, path in found.items() if name != "root"}


def test_every_route_has_a_picture() -> None:
    shown = [screen.path.partition("?")[0].rstrip("/") or "/" for screen in SCREENS.values()]
    known = routes() - LEADS_ON
    assert len(known) > 30
    missing = [route for route in known if not any(_is_at(route, path) for path in shown)]
    assert missing == []


def _is_at(route: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\$\w+", "[^/]+", re.escape(route).replace(r"\$", "$")), path) is not None
