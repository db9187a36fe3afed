"""Pages on which people answer what supervision asks, with 0, 1 and 1,000 pipelines in the database: no agent runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from controlplane.install.services.child import Service, running
from tests.e2e.conftest import Stack
from tests.e2e.page import in_every_theme, logged_in, wait_until
from tests.e2e.test_page_with_content import fill, filled, on_every_page, right_edge, web_environment

ORDERS = "/pipelines/orders"
LISTS = {"/": "Pipelines", "/hosts": "Hosts"}
OTHERS = {"/alerts": "Alerts", "/groups": "External consumer groups"}
EMPTY = {"/secrets": "Secrets", "/receivers": "Receivers", "/events": "Events"}
PAGES = {
    f"{ORDERS}/positions": "orders",
    f"{ORDERS}/runs": "orders",
    "/pipelines/pushed": "pushed",
    "/pipelines/pushed/throughput": "pushed",
    "/pipelines/pushed/positions": "pushed",
    "/pipelines/crashing/dead-letters": "crashing",
    "/pipelines/silent": "silent",
    "/pipelines/behind": "behind",
    "/pipelines/stopping": "stopping",
}
SMALL = 768


@dataclass(frozen=True)
class Place:
    """A server, the directory of its database, and the parts that were added."""

    stack: Stack
    directory: Path
    parts: list[str] = field(default_factory=list)

    def add(self, *parts: str) -> None:
        """Add parts of `supervised` that are not there yet: other tests of a module may have another turn."""
        for part in parts:
            if part not in self.parts:
                fill(self.directory, part)
                self.parts.append(part)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server without any pipeline; the tests of this module add some, in their order."""
    directory = tmp_path_factory.mktemp("supervision")
    with filled(directory, 0) as stack:
        yield Place(stack, directory)


def errors_of(page: Page) -> list[str]:
    """What the page's scripts log as errors from now on."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    return found


@pytest.mark.parametrize(
    ("parts", "pages", "words"),
    [
        ([], LISTS | OTHERS | EMPTY, "No pipelines yet"),
        (["one"], LISTS | OTHERS, "1 pipeline,"),
        (["one", "many"], LISTS, "1,000 pipelines,"),
    ],
    ids=["none", "one", "many"],
)
def test_lists_stand_with_no_pipeline_with_one_and_with_a_thousand(
    browser: Browser, place: Place, parts: list[str], pages: dict[str, str], words: str
) -> None:
    place.add(*parts)
    with logged_in(browser, place.stack) as page:
        logged = errors_of(page)
        assert on_every_page(page, pages) == {}
        assert logged == []
        page.goto("/")
        expect(page.get_by_text(words).first).to_be_visible()


@pytest.fixture(scope="module")
def asking(place: Place) -> Iterator[Place]:
    """Every question stands open, and somebody answers for the host alpha what is asked about positions."""
    place.add("one", "many")
    argv = [sys.executable, "-m", "tests.e2e.fill", "witness"]
    witness = Service("witness", argv, lambda: True, web_environment(place.directory), stop_timeout=5)
    with running(witness, place.directory / "witness.log"):
        yield place


def test_nothing_is_wrong_with_any_page_on_which_people_decide(browser: Browser, asking: Place) -> None:
    with logged_in(browser, asking.stack) as page:
        logged = errors_of(page)
        assert on_every_page(page, PAGES) == {}
    assert logged == []


def test_a_position_is_decided_by_the_plan_that_was_shown(browser: Browser, asking: Place) -> None:
    with logged_in(browser, asking.stack, ORDERS) as page:
        page.get_by_role("link", name="Choose start position").click()
        page.get_by_role("button", name="Choose: Log start").click()
        page.get_by_role("button", name="Review change").click()
        dialog = page.get_by_role("dialog", name="Change positions of orders?")
        row = dialog.get_by_role("row", name="orders-in/0")
        expect(row).to_contain_text("1,204")
        confirm(page, dialog, "orders", "Apply positions")
        result = page.get_by_role("dialog", name="Positions of orders applied")
        expect(result.get_by_role("row", name="orders-in/0")).to_contain_text("Applied")
        result.get_by_role("button", name="Close", exact=True).last.click()
        ledger = page.get_by_role("table", name="Positions by partition").get_by_role("row", name="orders-in/0")
        expect(ledger.get_by_role("cell").nth(1)).to_have_text("49,414")


def test_what_cannot_be_taken_back_is_asked_for_by_name(browser: Browser, asking: Place) -> None:
    with logged_in(browser, asking.stack, "/pipelines/stopping") as page:
        page.get_by_role("button", name="Force stop", exact=True).click()
        confirm(page, page.get_by_role("dialog", name="Force stop stopping?"), "stopping", "Force stop")
        expect(page.get_by_role("heading", name="Force-stopping")).to_be_visible()

        page.goto("/pipelines/crashing")
        page.get_by_role("button", name="Quarantine records").click()
        dialog = page.get_by_role("dialog", name="Quarantine records of crashing?")
        expect(dialog.get_by_role("row", name=re.compile("48,217"))).to_be_visible()
        dialog.get_by_role("switch", name="Start the pipeline afterwards").uncheck()
        confirm(page, dialog, "crashing", "Quarantine 1 record")
        page.get_by_role("link", name="Dead letters", exact=True).click()
        expect(page.get_by_role("table", name="Quarantine").get_by_text("48,217")).to_be_visible()

        page.goto("/pipelines/behind")
        page.get_by_role("button", name="Choose source of truth").click()
        dialog = page.get_by_role("dialog", name="Source of truth for behind?")
        confirm(page, dialog, "behind", "Use the host")

        page.goto("/pipelines/silent")
        page.get_by_role("button", name="Declare run lost").click()
        dialog = page.get_by_role("dialog", name="Declare run 4 of silent lost?")
        confirm(page, dialog, "silent", "Declare run lost")
        page.get_by_role("link", name="Runs", exact=True).click()
        expect(page.get_by_role("row", name=re.compile("Lost"))).to_be_visible()


def confirm(page: Page, dialog: Locator, name: str, act: str) -> None:
    """Nothing is wrong with the dialog; it does what it says once the name was typed."""
    expect(dialog).to_be_visible()
    assert in_every_theme(page) == [], act
    dialog.get_by_label(f"Type {name} to confirm").fill(name)
    dialog.get_by_role("button", name=act, exact=True).click()
    expect(dialog).to_have_count(0)


def test_a_range_is_planned_replayed_and_cancelled(browser: Browser, asking: Place) -> None:
    with logged_in(browser, asking.stack, "/pipelines/pushed/positions") as page:
        page.get_by_role("button", name=re.compile("^Cancel the replay")).click()
        expect(page.get_by_role("row", name=re.compile("Cancelled"))).to_be_visible()
        page.get_by_role("button", name="Replay range", exact=True).click()
        dialog = page.get_by_role("dialog", name="Replay a range of pushed")
        dialog.get_by_label("From offset").fill("100")
        dialog.get_by_label("To offset").fill("350")
        dialog.get_by_role("button", name="Plan replay").click()
        expect(dialog.get_by_text("At most 250 records")).to_be_visible()
        confirm(page, dialog, "pushed", "Replay range")
        expect(page.get_by_role("row", name=re.compile("from 100 up to 350.*Waiting"))).to_be_visible()


def test_a_host_says_what_is_tied_to_it_and_is_drained_and_taken_back(browser: Browser, asking: Place) -> None:
    with logged_in(browser, asking.stack, "/hosts") as page:
        page.get_by_role("button", name="Show the pipelines on alpha").click()
        dialog = page.get_by_role("dialog", name="Pipelines on alpha")
        expect(dialog.get_by_role("row")).to_have_count(101)
        expect(dialog.get_by_role("link", name="Pin behind to alpha")).to_be_visible()
        assert in_every_theme(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.set_viewport_size({"width": SMALL, "height": 900})
        drain = page.get_by_role("button", name="Drain alpha", exact=True)
        wait_until(page, lambda: right_edge(drain) <= SMALL, "the table follows the window")
        drain.click()
        assert in_every_theme(page) == []
        page.get_by_role("dialog", name="Drain alpha?").get_by_role("button", name="Drain host", exact=True).click()
        page.get_by_role("button", name="Undrain alpha", exact=True).click()
        expect(page.get_by_role("button", name="Drain alpha", exact=True)).to_be_visible()
