"""`python -m tests.screenshots`: take the pictures of docs/images anew, from a stack of its own with four pipelines.

1. `demo` delivers 1,000 records a second, and is paused once, so that its charts show something.
2. `orders-archive` runs, `stock-mirror` is paused, `clicks-lake` is blocked, since its topic does not exist.
3. A migration of `demo` is planned.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from controlplane.devstack.client import Api
from controlplane.devstack.demo import Demo, start
from controlplane.install.services.child import running
from tests.chaos.installation import Installation, installed, wait_for
from tests.e2e.conftest import Stack, chromium
from tests.e2e.page import logged_in

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
HOST = "alpha"
RATE = 1000.0
WITHIN = 180.0
CHART = 75.0  # seconds of the charts before the pause
PAUSE = 15.0
HEIGHTS = {"overview": 600, "fleet": 700, "pipeline": 900, "migration": 900}


def main() -> None:
    """Everything, in about four minutes."""
    with tempfile.TemporaryDirectory() as directory, installed(Path(directory), HEADGATE_HOST=HOST) as stack:
        try:
            _take(stack)
        finally:
            stack.rest()


def _take(stack: Installation) -> None:
    shown = Demo("demo", stack.servers)
    start(stack.api, shown)
    with running(shown.producer(rate=RATE), log=stack.log.with_name("producer.log")):
        _others(stack.api, shown.definition())
        time.sleep(CHART)
        stack.api.act(shown.name, "pause", timeout=WITHIN)
        time.sleep(PAUSE)
        stack.api.act(shown.name, "resume", timeout=WITHIN)
        time.sleep(PAUSE)
        with _page(stack) as page:
            _picture(page, "overview", "/", "Pipelines")
            _picture(page, "fleet", "/fleet?group=label:team", "Fleet")
            _picture(page, "pipeline", f"/pipelines/{shown.name}", shown.name)
            plan = _plan(stack.api, shown)
            _picture(page, "migration", f"/migrations/{plan}/plan", "Output records")


def _others(api: Api, definition: dict[str, Any]) -> None:
    """Three more pipelines that read what the demo reads, each in another phase."""
    for name, team, topics, phase in (
        ("orders-archive", "payments", None, "RUNNING"),
        ("stock-mirror", "logistics", None, "PAUSED"),
        ("clicks-lake", "web", ["shop.clicks"], "BLOCKED"),
    ):
        own = _named(definition, name, team, topics)
        api.post("/pipelines", {"definition": own})
        api.post(f"/pipelines/{name}/start", {})
        if phase == "PAUSED":
            _wait(api, name, "RUNNING")
            api.act(name, "pause", timeout=WITHIN)
        _wait(api, name, phase)


def _named(definition: dict[str, Any], name: str, team: str, topics: list[str] | None) -> dict[str, Any]:
    own = deepcopy(definition) | {"name": name, "labels": {"team": team}}
    (source,) = own["sources"].values()
    source |= {"group_id": f"headgate.{name}"} | ({"topics": topics} if topics else {})
    own["sinks"] = {"clean": {"type": "null", "channel": "clean"}}
    return own


def _wait(api: Api, name: str, phase: str) -> None:
    wait_for(lambda: api.get(f"/pipelines/{name}")["phase"] == phase, WITHIN, f"{name} is {phase}")


def _plan(api: Api, shown: Demo) -> str:
    """A migration that adds a header; its id."""
    changed = shown.definition()
    changed["sources"]["orders"]["interceptors"].append({"type": "static", "key": "region", "value": "eu"})
    asked = {"pipeline": shown.name, "kind": "revision", "spec": {"definition": changed}, "reason": "Add the region"}
    return str(api.post("/migrations", asked)["id"])


@contextmanager
def _page(stack: Installation) -> Iterator[Page]:
    password = re.search(r"password +(\S+)", stack.log.read_text())
    assert password is not None
    with chromium() as browser, logged_in(browser, Stack(stack.url, "admin", password[1], stack.token)) as page:
        yield page


def _picture(page: Page, name: str, path: str, text: str) -> None:
    page.set_viewport_size({"width": 1440, "height": HEIGHTS[name]})
    page.goto(path)
    expect(page.get_by_text(text).first).to_be_visible(timeout=WITHIN * 1000)
    page.wait_for_timeout(3000)  # charts and live figures
    page.screenshot(path=IMAGES / f"{name}.png")
    print(IMAGES / f"{name}.png", flush=True)


if __name__ == "__main__":
    main()
