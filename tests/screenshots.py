"""`python -m tests.screenshots [NAME …]`: take the pictures of docs/images/screens anew, light and dark, all or those
named, from a stack of its own with four pipelines.

1. `demo` delivers 1,000 records a second, is paused once, and goes through a migration, so that its charts show
   something. A second migration of it is planned.
2. `orders-archive` runs, `stock-mirror` is paused, `clicks-lake` is blocked, since its topic does not exist.
"""

from __future__ import annotations

import base64
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page, expect

from controlplane.devstack.client import Api
from controlplane.devstack.demo import Demo, start
from controlplane.install.services.child import running
from tests.chaos.installation import Installation, installed, wait_for
from tests.chaos.migrating import asked, stamped
from tests.e2e.conftest import Stack, chromium
from tests.e2e.page import Scheme, logged_in

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images" / "screens"
HOST = "alpha"
RATE = 1000.0
WITHIN = 180.0
SHOWN = 60.0
CHART = 75.0  # seconds of the charts before the pause
PAUSE = 15.0
QUALITY = 82
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


@dataclass(frozen=True)
class Screen:
    """A picture of the page at `path`, which has come when it shows `text`; `press`: a button to press first."""

    path: str
    text: str
    height: int = 900
    press: str = ""


EVACUATION = "evacuation"
SCREENS = {
    "guide": Screen("/guide", "Guided demo"),
    "pipelines": Screen("/", "orders-archive", 600),
    "fleet": Screen("/fleet?group=label:team", "Fleet", 700),
    "topology": Screen("/pipelines/demo", "Topology"),
    "throughput": Screen("/pipelines/demo/throughput", "Throughput and lag", 1400),
    "ledger": Screen("/pipelines/demo/ledger", "Ledger", 1400),
    "positions": Screen("/pipelines/demo/positions", "Positions"),
    "records": Screen("/pipelines/demo/records?of=sources.orders", " shown, ", press="Show records"),
    "dead-letters": Screen("/pipelines/demo/dead-letters", "Dead letters"),
    "trace": Screen("/pipelines/demo/trace?at=demo.orders/0:1000", "Delivered", 1200, "Trace record"),
    "runs": Screen("/pipelines/demo/runs", "Runs"),
    "pipeline-events": Screen("/pipelines/demo/events", "Events"),
    "log": Screen("/pipelines/demo/log", "Log"),
    "revisions": Screen("/pipelines/demo/revisions", "Revisions"),
    "definition": Screen("/pipelines/demo/definition", "Definition"),
    "blocked": Screen("/pipelines/clicks-lake", "clicks-lake"),
    "editor": Screen("/pipelines/demo/edit", "New revision"),
    "new-pipeline": Screen("/pipelines/new", "New pipeline"),
    "migrations": Screen("/migrations", "Migrations", 600),
    "migration-rules": Screen("/migrations/rules", "Freezes"),
    "new-migration": Screen("/migrations/new?pipeline=demo&kind=position", "New migration of demo", 1400),
    "migration-plan": Screen("/migrations/{planned}/plan", "Output records"),
    "migration-preflight": Screen("/migrations/{committed}/preflight", "Components of the new agent"),
    "migration-proof": Screen("/migrations/{committed}/proof", "Pause verification"),
    "migration-verify": Screen("/migrations/{committed}/verify", "Verify"),
    "migration-timeline": Screen("/migrations/{committed}/report", "Timeline", 1200),
    "alerts": Screen("/alerts", "Alerts"),
    "alert-rules": Screen("/alerts/rules", "Alert rules"),
    "events": Screen("/events", "Events"),
    "groups": Screen("/groups", "External consumer groups", 600),
    "hosts": Screen("/hosts", "Hosts", 600),
    "secrets": Screen("/secrets", "Secrets", 600),
    "receivers": Screen("/receivers", "Receivers", 600),
    "access": Screen("/access", "Users and teams"),
    "installation": Screen("/installation", "Health"),
    "settings": Screen("/installation/settings", "Settings"),
    "clusters": Screen("/installation/clusters", "Spark clusters", 600),
    "reach": Screen("/installation/reach", "Allowed directories"),
    "interceptors": Screen("/installation/interceptors", "Python interceptors", 600),
    "audit": Screen("/audit", "Audit"),
    "audit-row": Screen("/audit/1", "Audit", 600),
    "account": Screen("/account", "Account"),
    EVACUATION: Screen("/evacuations/{evacuation}", "Evacuation", 600),
}
"""In this order: an evacuation changes what the others show."""


def main(names: list[str]) -> None:
    """Everything, in about eight minutes."""
    wanted = {name: SCREENS[name] for name in names or SCREENS}
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, _installed(Path(directory)) as stack:
        try:
            _take(stack, wanted)
        finally:
            stack.rest()


def _installed(directory: Path) -> AbstractContextManager[Installation]:
    return installed(directory, HEADGATE_HOST=HOST, HEADGATE_DEMO_PIPELINE="demo")


def _take(stack: Installation, wanted: dict[str, Screen]) -> None:
    shown = Demo("demo", stack.servers)
    start(stack.api, shown)
    with running(shown.producer(rate=RATE), log=stack.log.with_name("producer.log")):
        _others(stack.api, shown.definition())
        time.sleep(CHART)
        stack.api.act(shown.name, "pause", timeout=WITHIN)
        time.sleep(PAUSE)
        stack.api.act(shown.name, "resume", timeout=WITHIN)
        time.sleep(PAUSE)
        made = _migrated(stack.api, shown)
        with _page(stack) as page:
            missed = [name for name, screen in wanted.items() if not _taken(stack.api, page, name, screen, made)]
    if missed:
        sys.exit(f"These screens did not show what they are known by: {', '.join(missed)}")


def _taken(api: Api, page: Page, name: str, screen: Screen, made: dict[str, str]) -> bool:
    """Whether the screen has come; one that has not keeps no other from its picture."""
    if name == EVACUATION:
        made[name] = api.post("/evacuations", {"host": HOST, "reason": "Kernel update"})["id"]
    try:
        _pictures(page, name, screen, screen.path.format(**made))
    except (AssertionError, Error):
        return False
    return True


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


def _migrated(api: Api, shown: Demo) -> dict[str, str]:
    """A migration that was committed and one that is planned, each of which adds a header; their ids."""
    committed = asked(api, shown.name, "revision", {"definition": stamped(shown, "7")}, "Name the release").start()
    assert committed.ends()["stage"] == "COMMITTED", committed.shown
    planned = asked(api, shown.name, "revision", {"definition": stamped(shown, "8")}, "Name the release")
    return {"committed": committed.id, "planned": planned.id}


@contextmanager
def _page(stack: Installation) -> Iterator[Page]:
    password = re.search(r"password +(\S+)", stack.log.read_text())
    assert password is not None
    with chromium() as browser, logged_in(browser, Stack(stack.url, "admin", password[1], stack.token)) as page:
        yield page


def _pictures(page: Page, name: str, screen: Screen, path: str) -> None:
    page.set_viewport_size({"width": 1440, "height": screen.height})
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.goto(path)
        if screen.press:
            page.get_by_role("button", name=screen.press).click()
        expect(page.get_by_text(screen.text).first).to_be_visible(timeout=SHOWN * 1000)
        expect(page.locator(".mantine-Skeleton-root")).to_have_count(0, timeout=SHOWN * 1000)
        page.wait_for_timeout(3000)  # charts and live figures
        (IMAGES / f"{name}-{scheme}.webp").write_bytes(_webp(page))
        print(IMAGES / f"{name}-{scheme}.webp", flush=True)


def _webp(page: Page) -> bytes:
    """What the window shows; a third of the size of a PNG."""
    browser = page.context.new_cdp_session(page)
    try:
        shot = browser.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    finally:
        browser.detach()
    return base64.b64decode(shot["data"])


if __name__ == "__main__":
    main(sys.argv[1:])
