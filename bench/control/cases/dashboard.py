"""What people feel of the dashboard while a thousand pipelines move: how soon it stands, whether it halts, what memory
and what share of a core its open tabs take."""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright

from bench.control.fleet import Plan
from bench.control.server import web
from bench.control.stage import Fleet, Stage, Values
from controlplane.provision.setup import found_browser
from pipelines.domain.base.roles import Role
from pipelines.services.access import access

PLAN = Plan(1_000, busy=200)
SETTLE = 3
USER, PASSWORD = "viewer", "correct horse battery"
PIPELINE = "/pipelines/pipeline-00000"
FIRST_VIEWS = {
    "list": ("/", "tbody tr a[href^='/pipelines/']"),
    "fleet": ("/fleet", "article"),
    "pipeline": (PIPELINE, "dl dd"),
}
"""Addresses, and what a view shows as soon as it can be read."""
VIEWS = 5
"""How often each of them is opened in a run."""
TABS = ("/", "/fleet", "/events", PIPELINE, f"{PIPELINE}/throughput")
SCROLLED = ("/", "/fleet")
SCREENS = 100
OPEN_SECONDS = 600
COLLECT_SECONDS = 60
"""Between two looks at the memory, each after a garbage collection."""
FEW = 3
"""The first and the last so many looks are compared, so that one of them alone says nothing."""

_NOT_OF_THE_PAGE = frozenset({"code", "native", "hidden", "synthetic"})
"""Kinds of nodes of a heap snapshot that are the engine's: machine code that it makes as it optimises, own tables."""
_MOVER_NICENESS = 10

_WATCH = """
window.bench = { longest: 0 }
new PerformanceObserver(list => {
  for (const task of list.getEntries()) bench.longest = Math.max(bench.longest, task.duration)
}).observe({ type: 'longtask', buffered: true })
"""
_SHOWN = """selector => new Promise(done => {
  const look = () => document.querySelector(selector) ? done(performance.now()) : requestAnimationFrame(look)
  look()
})"""
_SCRIPTS = """() => performance.getEntriesByType('resource')
  .filter(each => each.initiatorType === 'script' || each.name.endsWith('.js'))
  .reduce((sum, each) => sum + each.encodedBodySize, 0)"""


def measure(stage: Stage) -> Values:
    """A viewer's browser on the real web server."""
    access.create_user(username=USER, password=PASSWORD, role=Role.VIEWER)
    with stage.fleet(PLAN) as fleet, web(stage.state / "web.log") as (address, process):
        for _ in range(SETTLE):
            fleet.live()
            fleet.tick()
        with _browser() as browser, _logged_in(browser, address) as context:
            views = _first_views(context, stage.runs)  # at rest: a supervisor beside takes half of the machine
            with _moving(fleet):
                return {
                    **views,
                    "longest_task_ms": [_longest_task(context) for _ in range(stage.runs)],
                    **_open_tabs(context, process),
                }


@contextmanager
def _moving(fleet: Fleet) -> Iterator[None]:
    """Every second the agents work and the supervisor looks, beside the block. Raises what went wrong there.

    They give way to the browser, which has a machine of its own elsewhere."""
    ended, failed = threading.Event(), []

    def move() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _MOVER_NICENESS)
        try:
            while not ended.is_set():
                following = time.monotonic() + 1.0
                fleet.live()
                fleet.tick()
                ended.wait(max(0.0, following - time.monotonic()))
        except Exception as error:
            failed.append(error)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        yield
    finally:
        ended.set()
        mover.join(60)
    if failed:
        raise failed[0]


@contextmanager
def _browser() -> Iterator[Browser]:
    path = found_browser()
    if path is None:
        raise RuntimeError("no Chromium on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def _logged_in(browser: Browser, address: str) -> Iterator[BrowserContext]:
    """What the first view needs is in the cache of this context."""
    context = browser.new_context(base_url=address, viewport={"width": 1440, "height": 900})
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("User name").fill(USER)
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("navigation", name="Main").wait_for()
    page.close()
    yield context
    context.close()


def _first_views(context: BrowserContext, runs: int) -> dict[str, list[float]]:
    """Milliseconds from the navigation to the first content of each view, medians of VIEWS."""
    found: dict[str, list[float]] = {}
    for name, (path, selector) in FIRST_VIEWS.items():
        _shown(context, path, selector)
        for _ in range(runs):
            views = [_shown(context, path, selector) for _ in range(VIEWS)]
            found.setdefault(f"{name}_first_view_ms", []).append(statistics.median(ms for ms, _ in views))
            found.setdefault(f"{name}_scripts_kb", []).append(views[0][1])
    return found


def _shown(context: BrowserContext, path: str, selector: str) -> tuple[float, float]:
    """Milliseconds until the selector matches in a new tab, and kilobytes of its scripts as they are sent."""
    page = context.new_page()
    page.goto(path, wait_until="commit")
    spent: float = page.evaluate(_SHOWN, selector)
    kilobytes: float = page.evaluate(_SCRIPTS) / 1000
    page.close()
    return spent, kilobytes


def _longest_task(context: BrowserContext) -> float:
    """Milliseconds of the longest task while list and fleet are loaded and scrolled through."""
    longest = []
    for path in SCROLLED:
        page = _tab(context, path)
        for _ in range(SCREENS):
            page.mouse.wheel(0, 900)
            page.wait_for_timeout(100)
        longest.append(float(page.evaluate("bench.longest")))
        page.close()
    return max(longest)


def _open_tabs(context: BrowserContext, web_process: psutil.Process) -> dict[str, list[float]]:
    """The web server's share of a core, and the growth of what the pages keep: objects in the heap, and nodes."""
    pages = [_tab(context, path) for path in TABS]
    sessions = [context.new_cdp_session(page) for page in pages]
    kept: list[list[_Kept]] = [[] for _ in pages]
    before, start = sum(web_process.cpu_times()[:2]), time.monotonic()
    for look in range(1, OPEN_SECONDS // COLLECT_SECONDS + 1):
        pages[0].wait_for_timeout(max(0.0, start + look * COLLECT_SECONDS - time.monotonic()) * 1000)
        for looks, session in zip(kept, sessions, strict=True):
            looks.append(_look(session))
    spent = time.monotonic() - start
    share = (sum(web_process.cpu_times()[:2]) - before) / spent * 100
    return {
        "web_cpu_of_5_tabs_percent": [share],
        "heap_after_10_min_mb": [max(looks[-1].heap_mb for looks in kept)],
        "objects_growth_in_10_min_mb": [max(_growth([each.objects_mb for each in looks]) for looks in kept)],
        "growth_in_10_min_nodes": [max(_growth([each.nodes for each in looks]) for looks in kept)],
    }


def _tab(context: BrowserContext, path: str) -> Page:
    page = context.new_page()
    page.goto(path)
    page.get_by_role("heading", level=1).wait_for()
    return page


@dataclass(frozen=True)
class _Kept:
    """What a tab keeps after a garbage collection: its heap, the page's own objects in it, nodes of the document."""

    heap_mb: float
    objects_mb: float
    nodes: int


def _look(session: CDPSession) -> _Kept:
    objects = _objects_mb(session)  # collects garbage
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    return _Kept(used / 1e6, objects, session.send("Memory.getDOMCounters")["nodes"])


def _objects_mb(session: CDPSession) -> float:
    chunks: list[str] = []

    def take(event: dict[str, str]) -> None:
        chunks.append(event["chunk"])

    session.on("HeapProfiler.addHeapSnapshotChunk", take)
    session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    session.remove_listener("HeapProfiler.addHeapSnapshotChunk", take)
    found = json.loads("".join(chunks))
    fields, (kinds, *_) = found["snapshot"]["meta"]["node_fields"], found["snapshot"]["meta"]["node_types"]
    nodes, width = found["nodes"], len(fields)
    kind, size = nodes[fields.index("type") :: width], nodes[fields.index("self_size") :: width]
    own = {number for number, name in enumerate(kinds) if name not in _NOT_OF_THE_PAGE}
    total: int = sum(each for number, each in zip(kind, size, strict=True) if number in own)
    return total / 1e6


def _growth(looks: Sequence[float]) -> float:
    return statistics.median(looks[-FEW:]) - statistics.median(looks[:FEW])


CASES = {"dashboard": measure}
