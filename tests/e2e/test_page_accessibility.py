"""Every page and every dialog: nothing for axe to find in any look, and no sideways scrolling on a small window."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.chaos.extent import some
from tests.e2e.conftest import Stack
from tests.e2e.page import LARGEST_AND_SMALLEST, in_every_theme, logged_in, opened

DEMO = "/pipelines/demo"
PAGES = {
    "/": "Pipelines",
    "/pipelines/new": "New pipeline",
    "/events": "Events",
    "/hosts": "Hosts",
    "/installation": "Installation",
    "/installation/settings": "Installation",
    "/installation/clusters": "Installation",
    "/installation/reach": "Installation",
    "/installation/interceptors": "Installation",
    "/alerts/rules": "Alert rules",
    "/secrets": "Secrets",
    "/receivers": "Receivers",
    "/nowhere": "Page not found",
    "/pipelines/nobody": "There is no pipeline named nobody",
    DEMO: "demo",
    f"{DEMO}?view=tree&node=sinks.clean": "demo",
    f"{DEMO}/throughput?last=15m": "demo",
    f"{DEMO}/throughput?tables=%5B%22rate%22%2C%22heat%22%5D": "demo",
    f"{DEMO}/ledger": "demo",
    f"{DEMO}/runs": "demo",
    f"{DEMO}/events": "demo",
    f"{DEMO}/log": "demo",
    f"{DEMO}/revisions": "demo",
    f"{DEMO}/definition": "demo",
    f"{DEMO}/edit": "New revision of demo",
}
ALIKE = {
    "/",
    "/events",
    "/hosts",
    "/secrets",
    "/receivers",
    *(f"{DEMO}/{tab}" for tab in ("ledger", "runs", "events", "revisions")),
}
"""Looked at with more on them than this stack has: test_page_with_content."""


def settle(page: Page, heading: str) -> None:
    """Wait until the page stands: its heading is there and nothing is loading any more."""
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)


def test_axe_finds_nothing_on_any_page(browser: Browser, stack: Stack) -> None:
    with opened(browser, stack) as page:
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        found = {"login": in_every_theme(page)}
    with logged_in(browser, stack) as page:
        for path in some(sorted(PAGES.keys() - ALIKE), 2):
            page.goto(path)
            settle(page, PAGES[path])
            found[path] = in_every_theme(page)
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_axe_finds_nothing_in_menus_and_dialogs(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack, DEMO) as page:
        settle(page, "demo")
        openings = {
            "Show API call": page.get_by_role("dialog", name="API call"),
            "Stop": page.get_by_role("dialog", name="Stop demo?"),
            "Restart": page.get_by_role("dialog", name="Restart demo?"),
            "More for demo": page.get_by_role("menu"),
            "admin Administrator": page.get_by_role("group", name="Account and display settings"),
        }
        for button, opened_part in openings.items():
            page.get_by_role("button", name=button, exact=True).click()
            expect(opened_part).to_be_visible()
            assert in_every_theme(page, LARGEST_AND_SMALLEST) == [], button
            page.keyboard.press("Escape")
            expect(opened_part).to_have_count(0)


def test_a_page_is_found_by_typing_its_name(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack) as page:
        settle(page, "Pipelines")
        page.keyboard.press("ControlOrMeta+k")
        palette = page.get_by_role("dialog", name="Command palette")
        expect(palette.get_by_role("button", name=re.compile("^demo"))).to_be_visible()
        assert in_every_theme(page) == []
        palette.get_by_role("textbox").fill("demo")
        assert in_every_theme(page) == []
        page.keyboard.press("Enter")
        settle(page, "demo")
        page.keyboard.press("Shift+?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        assert in_every_theme(page) == []


def test_no_page_scrolls_sideways_on_a_small_window(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack) as page:
        wide = []
        for width in some((768, 400), 2):
            page.set_viewport_size({"width": width, "height": 900})
            for path, heading in PAGES.items():
                page.goto(path)
                settle(page, heading)
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    wide.append((width, path))
        assert wide == []


def test_a_refused_action_is_reached_by_keyboard_and_says_why(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack, DEMO) as page:
        settle(page, "demo")
        start = page.get_by_role("button", name="Start", exact=True)
        expect(start).to_have_attribute("aria-disabled", "true")
        page.get_by_role("link", name="Pipelines").last.focus()
        page.keyboard.press("Tab")
        expect(start).to_be_focused()
        expect(page.get_by_role("tooltip")).to_be_visible()
        expect(start).to_have_accessible_description(re.compile(r"running|starting"))


def test_the_first_tab_stop_leads_to_the_content(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack, "/hosts") as page:
        settle(page, "Hosts")
        page.reload()
        settle(page, "Hosts")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
