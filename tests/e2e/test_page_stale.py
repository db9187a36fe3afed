"""What the page shows is current or says how old it is: each source of its figures falls silent in turn, while every
screen stands open. When the source is back, everything moves again without a reload."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pipelines.domain.runs.protocol import ProcessIdentity
from tests.chaos.installation import Installation
from tests.chaos.stream import Stream
from tests.e2e.conftest import Stack
from tests.e2e.page import SLOW_MS, figure, log_in, stat, wait_for_phase, wait_until_above
from tests.fakes.proxy import Network, Proxy
from workers.adapters.processes import HostProcesses

DEMO = "/pipelines/demo"
OF_PIPELINE = {
    "topology": DEMO,
    "throughput": f"{DEMO}/throughput",
    "ledger": f"{DEMO}/ledger",
    "runs": f"{DEMO}/runs",
    "log": f"{DEMO}/log",
}
OTHERS = {"list": "/", "fleet": "/fleet", "hosts": "/hosts", "alerts": "/alerts"}
STATS = ("Rate", "Lag", "In flight", "Delivered")
MARKED_MS = 30_000
"""A figure is marked after 5 s, an open stream is dead after 12 s, a host is unsupervised after 15 s, and what is read
every 10 s is overdue 5 s later; the machine may be busy."""
OLD = re.compile(r"\d+ (s|min)( \d+ s)? old(?!er)")
OVERDUE = re.compile(r"These figures are from \d\d:\d\d:\d\d")
SILENT = re.compile(r"^No report from the agent since \d\d:\d\d:\d\d")
BANNER = re.compile(r"Figures on this page are from \d\d:\d\d:\d\d or earlier")


class Screens:
    """Every screen, open at once in a browser of its own each, behind a network that can fail."""

    def __init__(self, pages: dict[str, Page], proxy: Proxy, target: int) -> None:
        self.pages, self.proxy, self._target = pages, proxy, target

    def __getitem__(self, name: str) -> Page:
        return self.pages[name]

    def disconnect(self) -> None:
        """Nothing listens any longer."""
        self.proxy.stop()

    def connect(self) -> None:
        """The same address listens again."""
        self.proxy = Proxy(self._target, self.proxy.port)
        self.proxy.start()

    def cut_requests(self, names: tuple[str, ...], *, off: bool) -> None:
        """Requests fail, and the open stream goes on."""
        for name in names:
            self[name].context.set_offline(off)


@pytest.fixture(scope="module")
def screens(browser: Browser, stack: Stack) -> Iterator[Screens]:
    target = urlsplit(stack.url).port
    assert target is not None
    proxy = Proxy(target)
    proxy.start()
    url = f"http://127.0.0.1:{proxy.port}"
    with _page(browser, url) as page:
        page.goto("/")
        log_in(page, stack)
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        session = page.context.storage_state()
    pages: dict[str, Page] = {}
    for name, path in (OF_PIPELINE | OTHERS).items():
        context = browser.new_context(
            base_url=url, storage_state=session, reduced_motion="reduce", viewport={"width": 1440, "height": 900}
        )
        pages[name] = context.new_page()
        pages[name].goto(path)
    made = Screens(pages, proxy, target)
    all_are_fresh(made)
    yield made
    for page in pages.values():
        page.context.close()
    made.proxy.stop()


@contextmanager
def _page(browser: Browser, url: str) -> Iterator[Page]:
    context = browser.new_context(base_url=url)
    yield context.new_page()
    context.close()


@pytest.fixture(autouse=True)
def moves(screens: Screens) -> Iterator[None]:
    """Before a fault, and after it without a reload: every screen is fresh, and its figures move."""
    delivered = figure(screens["topology"], "Delivered")
    yield
    all_are_fresh(screens)
    for name in OF_PIPELINE:
        wait_until_above(screens[name], "Delivered", delivered)


def badge(page: Page) -> Locator:
    """What stands beside the account."""
    return page.get_by_role("region", name="Connection and account").get_by_role("status")


def status(page: Page, words: re.Pattern[str]) -> Locator:
    return page.get_by_role("status").filter(has_text=words).first


def all_are_fresh(screens: Screens) -> None:
    """Nothing is marked any longer, and everything is live."""
    for name, page in screens.pages.items():
        expect(badge(page), name).to_have_text("Live", timeout=SLOW_MS)
        for mark in (BANNER, OVERDUE, SILENT, OLD):
            expect(page.get_by_role("main").get_by_text(mark), name).to_have_count(0, timeout=SLOW_MS)
        expect(page.get_by_text(BANNER), name).to_have_count(0)
    expect(figures_of(screens["list"])).to_have_text(re.compile(r"[1-9]"), timeout=SLOW_MS)
    wait_for_phase(screens["topology"], "Running")


def figures_of(page: Page) -> Locator:
    """The row, or the tile, of the pipeline."""
    return page.get_by_role("row", name=re.compile("^Select demo ")).or_(page.get_by_role("article", name="demo"))


def says_that_nothing_is_current(screens: Screens) -> None:
    """On every screen: the badge, and of when the figures are. The verdict over all pipelines is none."""
    for name, page in screens.pages.items():
        expect(badge(page), name).to_have_text(re.compile(r"^Stale since \d\d:\d\d:\d\d"), timeout=MARKED_MS)
        expect(page.get_by_role("alert").filter(has_text=BANNER), name).to_be_visible(timeout=MARKED_MS)
    for name in ("list", "fleet"):
        expect(screens[name].get_by_text("Not current", exact=True)).to_be_visible()
        expect(screens[name].get_by_text("No pipeline requires action")).to_have_count(0)
    figures_are_marked(screens)


def figures_are_marked(screens: Screens) -> None:
    """What comes from the agent has its age, in every place that shows it."""
    for name in ("list", "fleet"):
        expect(figures_of(screens[name]), name).to_contain_text(OLD, timeout=MARKED_MS)
    for name in OF_PIPELINE:
        for label in STATS:
            expect(stat(screens[name], label), f"{label} on {name}").to_contain_text(OLD, timeout=MARKED_MS)
        expect(status(screens[name], SILENT), name).to_be_visible()
        expect(screens[name].get_by_test_id("headline"), name).to_contain_text("Last report at")


def act(page: Page, action: str, answer: str | re.Pattern[str]) -> None:
    """Try it; the page answers in words, and with what to do next."""
    page.get_by_role("button", name=action, exact=True).click()
    expect(page.get_by_role("alert").filter(has_text=answer).last).to_be_visible(timeout=MARKED_MS)


MAY_BE_MADE = "The server did not answer. The change may have been made."


def test_a_connection_that_is_lost(screens: Screens) -> None:
    screens.disconnect()
    try:
        says_that_nothing_is_current(screens)
        act(screens["topology"], "Pause", MAY_BE_MADE)
    finally:
        screens.connect()


def test_a_server_that_takes_requests_and_never_answers(screens: Screens) -> None:
    """The action was carried out, and the page did not say that it was not."""
    page = screens["topology"]
    screens.proxy.network = Network.UNRESPONSIVE
    try:
        says_that_nothing_is_current(screens)
        act(page, "Pause", MAY_BE_MADE)
    finally:
        screens.proxy.network = Network.PASSES
    wait_for_phase(page, "Paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    wait_for_phase(page, "Running")


def test_a_web_process_that_is_killed_and_starts_again(screens: Screens, installation: Installation) -> None:
    installation.kill("web")
    for name, page in screens.pages.items():
        expect(badge(page), name).to_have_text(re.compile("^(Reconnecting|Stale since)"), timeout=MARKED_MS)


def test_requests_that_fail_while_the_stream_goes_on(screens: Screens) -> None:
    names = ("topology", "throughput", "ledger", "hosts", "alerts")
    screens.cut_requests(names, off=True)
    try:
        for name in names:
            expect(status(screens[name], OVERDUE), name).to_be_visible(timeout=2 * MARKED_MS)
        expect(stat(screens["topology"], "Delivered")).to_contain_text(OLD, timeout=MARKED_MS)
        expect(stat(screens["topology"], "Rate")).not_to_contain_text(OLD)
        act(screens["topology"], "Pause", MAY_BE_MADE)
    finally:
        screens.cut_requests(names, off=False)


def test_a_worker_that_halts_and_is_killed(screens: Screens, installation: Installation) -> None:
    installation.signal("worker", signal.SIGSTOP)
    try:
        figures_are_marked(screens)
        for name in OF_PIPELINE:
            expect(screens[name].get_by_role("list", name="Conditions"), name).to_contain_text(
                "Not supervised", timeout=MARKED_MS
            )
        expect(screens["list"].get_by_text("1 pipeline requires action")).to_be_visible(timeout=MARKED_MS)
        expect(screens["fleet"].get_by_text("1 pipeline requires action")).to_be_visible(timeout=MARKED_MS)
        host = screens["hosts"].get_by_role("row", name=re.compile("^chaos "))
        expect(host.get_by_text("not supervised")).to_be_visible(timeout=MARKED_MS)
    finally:
        installation.kill("worker")


def test_an_agent_that_is_silent(screens: Screens, demo: Stream) -> None:
    processes = HostProcesses().holders()[demo.identity.token]
    send(processes, signal.SIGSTOP)
    alerts = screens["alerts"]
    try:
        figures_are_marked(screens)
        wait_for_phase(screens["topology"], "Unknown")
        expect(screens["topology"].get_by_test_id("headline")).to_contain_text("kill -CONT")
        expect(screens["list"].get_by_text("1 pipeline requires action")).to_be_visible(timeout=MARKED_MS)
        advice = alerts.get_by_role("main").get_by_text(re.compile("kill -CONT"))
        expect(advice.first).to_be_visible(timeout=MARKED_MS)
        firing = alerts.get_by_role("region", name="Firing")
        expect(firing.get_by_role("link", name="demo", exact=True)).to_be_visible()
        count = alerts.get_by_role("navigation", name="Main").get_by_text(re.compile("open alerts"))
        expect(count).to_have_text(re.compile("open alerts$"), timeout=MARKED_MS)
        alerts.context.set_offline(True)
        expect(count).to_have_text(re.compile(r"open alerts as of \d\d:\d\d:\d\d$"), timeout=MARKED_MS)
    finally:
        alerts.context.set_offline(False)
        send(processes, signal.SIGCONT)
    expect(firing).to_be_visible()
    expect(firing.get_by_role("link", name="demo", exact=True)).to_have_count(0, timeout=SLOW_MS)


def send(processes: Iterable[ProcessIdentity], number: signal.Signals) -> None:
    for each in processes:
        os.kill(each.pid, number)


def test_a_database_that_is_away(screens: Screens, installation: Installation) -> None:
    file = installation.state / "headgate.sqlite3"
    moved = file.with_name("moved.sqlite3")
    file.rename(moved)
    file.mkdir()
    try:
        says_that_nothing_is_current(screens)
        for page in screens.pages.values():
            expect(page.get_by_role("alert").filter(has_text="The database is unavailable.")).to_be_visible()
        act(screens["topology"], "Pause", re.compile("Pause of demo was rejected.*database", re.DOTALL))
    finally:
        file.rmdir()
        moved.rename(file)


def test_a_broker_that_is_silent_stops_no_figure(screens: Screens, installation: Installation) -> None:
    """The database is the source of every figure; that messages do not arrive is said of the host."""
    hosts = screens["hosts"]
    installation.signal("redis", signal.SIGSTOP)
    try:
        expect(hosts.get_by_text("broker unreachable")).to_be_visible(timeout=2 * MARKED_MS)
        expect(badge(hosts)).to_have_text("Live")
        delivered = figure(screens["topology"], "Delivered")
        wait_until_above(screens["topology"], "Delivered", delivered)
        expect(stat(screens["topology"], "Rate")).not_to_contain_text(OLD)
    finally:
        installation.signal("redis", signal.SIGCONT)
    expect(hosts.get_by_text("broker connection healthy")).to_be_visible(timeout=SLOW_MS)
