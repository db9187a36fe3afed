"""The fleet and the list of 1,000 pipelines, over a database that was filled: no agent runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Stack
from tests.e2e.content import LONG
from tests.e2e.page import in_every_theme, logged_in, too_wide, violations
from tests.e2e.test_page_accessibility import settle
from tests.e2e.test_page_with_content import filled, right_edge


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with filled(tmp_path_factory.mktemp("thousand"), 1000) as stack:
        yield stack


def tiles(page: Page) -> Locator:
    return page.get_by_role("article")


def tile(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name, exact=True)


@pytest.mark.parametrize(("path", "title"), [("/", "Pipelines"), ("/fleet", "Fleet")])
def test_what_is_read_ahead_is_read_once(browser: Browser, thousand: Stack, path: str, title: str) -> None:
    """The document names the first reads of the page; one that is named otherwise than it is made is made twice."""
    ahead = ["/api/v1/session", "/api/v1/pipelines?limit=1000"]
    with logged_in(browser, thousand, "/hosts") as page:
        settle(page, "Hosts")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.removeprefix(thousand.url)))
        page.goto(path)
        settle(page, title)
        expect(page.get_by_text(re.compile("^1,000 pipelines, ")).or_(tiles(page).first).first).to_be_visible()
        assert [url for url in asked if url in ahead] == ahead


def test_what_requires_action_is_first_and_says_why(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/fleet") as page:
        settle(page, "Fleet")
        expect(page.get_by_text(re.compile(r"^[0-9]+ pipelines require action$"))).to_be_visible()
        expect(tiles(page).first).to_contain_text("Blocked")
        assert in_every_theme(page) == []
        page.goto("/fleet?q=shop")
        shop = tile(page, "shop")
        expect(shop).to_contain_text("the position 48,210 lies 1,204 records before the start of the log.")
        shop.get_by_role("link", name="shop").press("Enter")
        settle(page, "shop")


def test_a_strip_is_read_as_a_table_by_keyboard(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/fleet?q=shop") as page:
        strip = tile(page, "shop").get_by_role("button", name=re.compile("^Last 24 hours of shop: "))
        expect(strip).to_have_accessible_name("Last 24 hours of shop: running 17 h 30 min, blocked 6 h 30 min")
        strip.press("Enter")
        table = page.get_by_role("table", name="Last 24 hours of shop")
        expect(table.locator("tbody tr")).to_have_count(2)
        expect(table.locator("tbody tr").first).to_contain_text("Blocked")
        assert in_every_theme(page) == []


def test_groups_are_in_the_address_and_begin_with_what_requires_action(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/fleet") as page:
        settle(page, "Fleet")
        page.get_by_role("combobox", name="Group").click()
        page.get_by_role("option", name="By host").click()
        expect(page).to_have_url(re.compile("/fleet.group=host"))
        first = page.get_by_role("heading", level=2).first
        expect(first).to_have_text("Host alpha")
        page.reload()
        expect(first).to_have_text("Host alpha")
        expect(first.locator("..")).to_contain_text("blocked")
        assert in_every_theme(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_one_column_and_whole_names(browser: Browser, thousand: Stack, scheme: str) -> None:
    with logged_in(browser, thousand, "/fleet?group=label:team") as page:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": 390, "height": 844})
        settle(page, "Fleet")
        edges = {round(each.bounding_box()["x"]) for each in tiles(page).all()[:5]}  # type: ignore[index]
        assert len(edges) == 1
        assert too_wide(page) == []
        assert violations(page) == []
        page.goto(f"/fleet?q={LONG}")
        name = tile(page, LONG).get_by_role("link", name=LONG)
        assert right_edge(name) <= 390


def test_of_a_thousand_tiles_only_those_near_the_window_exist(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/fleet") as page:
        settle(page, "Fleet")
        for _ in range(40):
            page.mouse.wheel(0, 900)
            page.wait_for_timeout(50)
        assert page.evaluate("scrollY") > 5_000
        assert tiles(page).count() < 100


def test_favourites_and_views_stay(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/?q=clicks-12") as page:
        settle(page, "Pipelines")
        page.get_by_role("button", name="Favourite: clicks-12", exact=True).press("Enter")
        page.get_by_role("button", name="Views", exact=True).click()
        page.get_by_role("textbox", name="Name of this view").fill("Clicks")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Saved views")
        expect(dialog.get_by_role("button", name="Clicks", exact=True)).to_be_visible()
        assert in_every_theme(page) == []
        page.goto("/fleet?favourites=true")
        expect(tiles(page)).to_have_count(1)
        expect(tiles(page)).to_contain_text("clicks-12")
        page.get_by_role("button", name="Views", exact=True).click()
        dialog.get_by_role("button", name="Clicks", exact=True).click()
        settle(page, "Pipelines")
        expect(page.get_by_role("textbox", name=re.compile("^Filter by name"))).to_have_value("clicks-12")


def test_the_list_is_grouped_too(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/?group=label:team") as page:
        settle(page, "Pipelines")
        head = page.get_by_role("rowheader").first
        expect(head).to_contain_text("team: ")
        expect(head).to_contain_text(re.compile("[0-9]+ pipelines, [0-9]+ require action"))
        assert in_every_theme(page) == []


def test_a_bulk_action_counts_those_that_change_and_says_what_became_of_each(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/?label=team:data&phase=RUNNING,STOPPED") as page:
        settle(page, "Pipelines")
        page.get_by_role("checkbox", name="Select every listed pipeline").check()
        bar = page.get_by_role("region", name="Actions for the selected pipelines")
        expect(bar).to_contain_text("77 pipelines selected")
        for button in ("Start 38", "Pause 39", "Stop 39"):
            expect(bar.get_by_role("button", name=button, exact=True)).to_be_visible()
        expect(bar.get_by_role("button", name="Resume")).to_have_attribute("aria-disabled", "true")
        assert in_every_theme(page) == []
        bar.get_by_role("button", name=re.compile("^Stop ")).click()
        dialog = page.get_by_role("dialog", name="Stop 39 pipelines")
        expect(dialog.get_by_role("textbox")).to_have_count(0)
        assert in_every_theme(page) == []
        dialog.get_by_role("button", name="Cancel").click()
        bar.get_by_role("button", name=re.compile("^Pause ")).click()
        results = page.get_by_role("dialog", name="Pause 39 pipelines")
        expect(results.get_by_role("status")).to_contain_text("rejected", timeout=60_000)


def test_nothing_of_a_host_is_cut_off(browser: Browser, thousand: Stack) -> None:
    with logged_in(browser, thousand, "/hosts") as page:
        settle(page, "Hosts")
        for button in page.get_by_role("button", name=re.compile("^(Remove|Drain|Evacuate)")).all():
            assert right_edge(button) <= 1440
        table = page.get_by_role("group", name="Hosts", exact=True)
        assert table.evaluate("part => part.scrollWidth <= part.clientWidth")
