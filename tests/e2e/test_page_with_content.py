"""Pages with something on them, over a database that was filled: no agent runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from controlplane.devstack.services import web_service, web_url
from controlplane.install.services.child import running
from controlplane.install.services.ports import free_port
from tests.chaos.extent import some
from tests.e2e import content
from tests.e2e.conftest import Stack
from tests.e2e.page import LARGEST_AND_SMALLEST, in_every_theme, logged_in
from tests.e2e.test_demo_stack import PROJECT, environment
from tests.e2e.test_page_accessibility import settle

SHOP = "/pipelines/shop"
PAGES = {
    "/": "Pipelines",
    "/secrets": "Secrets",
    "/receivers?id=1": "Receivers",
    "/alerts": "Alerts",
    "/events": "Events",
    "/hosts": "Hosts",
    "/audit": "Audit",
    "/access": "Users and teams",
    "/account": "Account",
    SHOP: "shop",
    f"{SHOP}/throughput": "shop",
    f"{SHOP}/ledger": "shop",
    f"{SHOP}/ledger?view=table&flow=shop/main/filtered/sources.shop.interceptors[0]": "shop",
    f"{SHOP}/dead-letters": "shop",
    f"{SHOP}/runs": "shop",
    f"{SHOP}/log?find=refused&level=WARNING": "shop",
    f"{SHOP}/log?at=2026-03-01T10%3A00%3A02.000Z~00000000": "shop",
    f"{SHOP}/events": "shop",
    f"{SHOP}/revisions": "shop",
}


@contextmanager
def filled(directory: Path, count: int) -> Iterator[Stack]:
    """A web server without workers, over a database with so many pipelines."""
    token, port = fill(directory, str(count)).strip(), free_port()
    with running(web_service(port=port, env=web_environment(directory)), directory / "web.log"):
        yield Stack(web_url(port), content.USER, content.PASSWORD, token)


def web_environment(directory: Path) -> dict[str, str]:
    """Of a web server whose database lies in a directory."""
    own = {
        "HEADGATE_REDIS_URL": "redis://127.0.0.1:1/0",
        "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        "HEADGATE_ALLOWED_ROOTS": "/",
        "HEADGATE_HOST": "alpha",
        "HEADGATE_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
    }
    return environment(directory / "state", **own)


def fill(directory: Path, part: str) -> str:
    """Add to the database of a directory what `tests.e2e.fill` calls by this name; returns what it prints."""
    argv, env = [sys.executable, "-m", "tests.e2e.fill", part], web_environment(directory)
    return subprocess.run(argv, cwd=PROJECT, env=env, stdout=subprocess.PIPE, text=True, check=True, timeout=300).stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """1,000 pipelines."""
    with filled(tmp_path_factory.mktemp("shop"), 1000) as stack:
        yield stack


def test_nothing_is_wrong_with_pages_that_are_full(browser: Browser, shop: Stack) -> None:
    with logged_in(browser, shop) as page:
        assert on_every_page(page, PAGES) == {}


def on_every_page(page: Page, pages: dict[str, str]) -> dict[str, list[str]]:
    """What is wrong in any look, by page, without those where nothing is. In the short selection every other page."""
    found = {}
    for path in some(list(pages), 2):
        page.goto(path)
        settle(page, pages[path])
        found[path] = in_every_theme(page)
    return {path: lines for path, lines in found.items() if lines}


def test_a_flow_leads_to_its_batches_and_their_records(browser: Browser, shop: Stack) -> None:
    with logged_in(browser, shop, f"{SHOP}/ledger?minutes=60") as page:
        expect(page.get_by_test_id("flow")).to_have_text("300 read: 210 delivered, 60 filtered, 30 dead-lettered.")
        flow = page.get_by_role("group", name="Records from where they were read to what became of them")
        flow.get_by_role("button", name="Dead-lettered by out sink, shop to main: 30 records (10.0 %)").press("Enter")
        details = page.get_by_role("dialog", name="Dead-lettered by out sink")
        rows = details.get_by_role("row")
        expect(rows).to_have_count(31)
        page.reload()
        expect(rows).to_have_count(31)
        expect(details.get_by_role("link", name="Dead letters of this component")).to_be_visible()
        assert in_every_theme(page) == []
        details.get_by_role("link", name="Trace orders-in/0:290").click()
        expect(page.get_by_role("textbox", name="Place in the source")).to_have_value("orders-in/0:290")


DIALOGS: dict[str, list[str]] = {
    "/secrets": ["Set secret", "Replace shop-kafka", "Delete shop-kafka"],
    "/receivers": ["Add receiver", "Edit receiver 1", "Delete receiver 1"],
    "/alerts": ["Acknowledge: A cause.", "Silence: A cause."],
    "/access": ["Create user", "Create token"],
    f"{SHOP}/dead-letters": ["Retry all new", "Open the dead letter from orders-in/0@57"],
}


def test_nothing_is_wrong_with_dialogs(browser: Browser, shop: Stack) -> None:
    with logged_in(browser, shop) as page:
        for path, buttons in DIALOGS.items():
            page.goto(path)
            for button in buttons:
                page.get_by_role("button", name=button, exact=True).first.click()
                expect(page.get_by_role("dialog")).to_be_visible()
                assert in_every_theme(page, LARGEST_AND_SMALLEST) == [], button
                page.keyboard.press("Escape")
                expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name=DIALOGS[f"{SHOP}/dead-letters"][-1], exact=True).click()
        for button, title, keep in (
            ("Retry", "Retry this dead letter?", "Cancel"),
            ("Discard", "Discard this dead letter?", "Keep dead letter"),
        ):
            page.get_by_role("dialog", name="Dead letter").get_by_role("button", name=button, exact=True).click()
            asked = page.get_by_role("dialog", name=title)
            expect(asked).to_be_visible()
            assert in_every_theme(page, LARGEST_AND_SMALLEST) == [], title
            asked.get_by_role("button", name=keep).click()


def test_a_thousand_alerts_come_page_by_page_and_are_chosen(browser: Browser, shop: Stack) -> None:
    with logged_in(browser, shop, "/alerts") as page:
        settle(page, "Alerts")
        expect(page.get_by_role("navigation", name="Main")).to_contain_text("502 open alerts")
        firing = page.get_by_role("region", name="Firing")
        cards = firing.get_by_role("list", name="Firing").locator("> li")
        expect(cards).to_have_count(50)
        firing.get_by_role("button", name="Show older").click()
        expect(cards).to_have_count(100)
        page.get_by_role("textbox", name="Label").fill("team:payments")
        expect(cards).to_have_count(1)
        expect(cards).to_contain_text("Silenced until")
        expect(cards).to_contain_text("Operations: firing waiting")
        expect(page.get_by_role("region", name="Active silences")).to_contain_text("Brokers are upgraded")
        page.get_by_role("textbox", name="Label").fill("")
        page.get_by_text("Acknowledged", exact=True).first.click()
        expect(page.get_by_role("region", name="Recently resolved")).to_have_count(0)
        expect(page.get_by_role("region", name="Acknowledged")).to_contain_text("On it.")


def test_an_alert_is_acknowledged_and_silenced_by_keyboard(browser: Browser, shop: Stack) -> None:
    with logged_in(browser, shop, "/alerts") as page:
        settle(page, "Alerts")
        page.set_viewport_size({"width": 390, "height": 800})
        page.get_by_role("button", name="Acknowledge: A cause.").first.press("Enter")
        page.get_by_role("textbox", name="Note").press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("navigation", name="Main")).to_contain_text("501 open alerts")
        page.get_by_role("button", name="Silence: A cause.").first.press("Enter")
        page.get_by_role("textbox", name="Comment").fill("Works.")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("region", name="Active silences")).to_contain_text("Works.")
        page.get_by_role("button", name="End silence 2").press("Enter")
        expect(page.get_by_role("region", name="Active silences")).not_to_contain_text("Works.")


def test_the_audit_is_narrowed_opened_and_exported(browser: Browser, shop: Stack) -> None:
    with logged_in(browser, shop, "/audit?action=pipeline.") as page:
        settle(page, "Audit")
        rows = page.get_by_role("list", name="Audit").locator("> li")
        expect(rows).to_have_count(3)
        page.get_by_role("textbox", name="Object").fill("orders-in")
        expect(rows).to_have_count(1)
        page.set_viewport_size({"width": 390, "height": 800})
        rows.locator("summary").press("Enter")
        changes = page.get_by_role("table", name="Changes of row")
        expect(changes).to_contain_text("spec.topic")
        assert in_every_theme(page) == []
        expect(page.get_by_text("Verified", exact=True)).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("link", name="Export JSON Lines").click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert len(lines) == 2
        page.get_by_role("button", name="Clear filters").click()
        expect(rows).to_have_count(50)
        page.get_by_role("button", name="Show older").click()
        expect(rows.nth(60)).to_be_visible()


def test_what_a_row_offers_is_in_sight_on_a_small_window(browser: Browser, shop: Stack) -> None:
    with logged_in(browser, shop) as page:
        page.set_viewport_size({"width": 768, "height": 900})
        for path, button in {
            "/?sort=name": "Actions for clicks-3",
            "/secrets": f"Delete {content.LONG}",
            "/receivers": "Delete receiver 1",
            "/alerts": f"Silence: Lag: more than 10 records wait. {content.LONG}",
            f"{SHOP}/dead-letters": "Open the dead letter from orders-in/0@57",
        }.items():
            page.goto(path)
            assert right_edge(page.get_by_role("button", name=button, exact=True)) <= 768, path
        page.goto("/?sort=name")
        name = page.get_by_role("link", name="clicks-3", exact=True)
        assert name.evaluate("link => link.offsetWidth <= link.closest('td').clientWidth"), "the name is cut off"


def right_edge(part: Locator) -> float:
    expect(part).to_be_visible()
    box = part.bounding_box()
    assert box is not None
    return box["x"] + box["width"]
