"""A person at the page: logs in, looks, starts, pauses, resumes and stops a pipeline that moves real records."""

from __future__ import annotations

import re

import httpx2
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Stack
from tests.e2e.page import (
    SLOW_MS,
    figure,
    in_every_theme,
    log_in,
    logged_in,
    next_offsets,
    opened,
    positions,
    wait_for_phase,
    wait_until,
    wait_until_above,
)

DEMO = "/pipelines/demo"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_a_wrong_password_is_refused_in_words_and_the_address_survives_the_login(
    browser: Browser, stack: Stack
) -> None:
    with opened(browser, stack, f"{DEMO}/ledger?channel=clean") as page:
        log_in(page, stack, "wrong")
        expect(page.get_by_role("alert")).to_be_visible()
        log_in(page, stack)
        expect(page.get_by_role("heading", level=1)).to_have_text("demo")
        assert page.url == f"{stack.url}{DEMO}/ledger?channel=clean"


def test_the_topology_shows_what_goes_through_each_component(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack, DEMO) as page:
        wait_for_phase(page, "Running")
        graph = page.get_by_role("application", name="Components and what goes through them")
        stamp = graph.get_by_role("button", name=re.compile("^timestamp interceptors"))
        expect(stamp).to_contain_text(re.compile(r"receives [1-9][\d,.]*/s"), timeout=SLOW_MS)
        expect(graph.get_by_role("button", name=re.compile("^clean kafka sink"))).to_contain_text(
            re.compile(r"delivers [1-9][\d,.]*/s"), timeout=SLOW_MS
        )
        stamp.focus()
        page.keyboard.press("Enter")
        details = page.get_by_role("dialog", name="timestamp")
        expect(details.get_by_role("row", name="header_name timestamp")).to_be_visible()
        assert "node=sources.orders.interceptors" in page.url
        page.reload()
        expect(details).to_be_visible()
        page.keyboard.press("Escape")
        expect(details).to_have_count(0)
        page.get_by_text("Tree", exact=True).click()
        tree = page.get_by_role("group", name="Components", exact=True)
        expect(tree.get_by_role("button", name=re.compile("^clean kafka sink"))).to_be_visible()


def test_numbers_move_stand_still_while_paused_and_move_again(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack, f"{DEMO}/throughput") as page:
        wait_for_phase(page, "Running")
        expect(page.get_by_text("Live", exact=True).first).to_be_visible()
        wait_until_above(page, "Delivered", figure(page, "Delivered"))

        press(page, "Pause")
        wait_for_phase(page, "Paused")
        expect(page.get_by_test_id("headline")).to_contain_text("Nothing is being read.")
        expect(page.get_by_test_id("headline")).to_contain_text("0 in flight.")
        expect(page.get_by_role("button", name="Pause", exact=True)).to_have_attribute("aria-disabled", "true")
        stood, lag = next_offsets(stack, "demo"), figure(page, "Lag")
        assert len(stood) == 4
        wait_until(page, lambda: positions(page) == stood, "the page to show where it stands")
        wait_until_above(page, "Lag", lag)
        assert positions(page) == stood

        press(page, "Resume")
        wait_for_phase(page, "Running")
        wait_until_above(page, "Delivered", figure(page, "Delivered"))
        wait_until(page, lambda: positions(page) not in ([], stood), "the cursor to move")


def test_a_stop_asks_once_and_a_start_goes_on_where_it_stopped(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack, DEMO) as page:
        wait_for_phase(page, "Running")
        press(page, "Stop")
        dialog = page.get_by_role("dialog", name="Stop demo?")
        dialog.get_by_role("button", name="Drain and stop").click()
        wait_for_phase(page, "Stopped")
        expect(page.get_by_test_id("headline")).to_contain_text("No process exists")
        delivered = figure(page, "Delivered")

        press(page, "Start")
        wait_for_phase(page, "Running")
        wait_until_above(page, "Delivered", delivered)
        page.get_by_role("link", name="Ledger", exact=True).click()
        expect(page.get_by_test_id("ledger-totals")).to_contain_text("every record is accounted for")
        expect(page.get_by_test_id("flow")).to_contain_text(re.compile("^[1-9][0-9,]* read: [1-9][0-9,]* delivered"))
        assert in_every_theme(page) == []
        page.get_by_role("link", name="Runs", exact=True).click()
        bars = page.get_by_role("list", name="Runs over time").get_by_role("listitem")
        expect(bars.nth(0)).to_contain_text(re.compile("Running.* starting, .* running"))
        expect(bars.nth(1)).to_contain_text(re.compile("Clean.* stopping"))
        assert in_every_theme(page) == []
        rows = page.get_by_role("row").filter(has_text=re.compile("^[0-9]"))  # others explain numbers that are missing
        expect(rows.nth(0)).to_contain_text("Running")
        expect(rows.nth(1)).to_contain_text("Clean")


def test_findings_lead_to_their_line_and_a_repaired_definition_becomes_a_pipeline(
    browser: Browser, stack: Stack
) -> None:
    with logged_in(browser, stack, "/pipelines/new") as page:
        text = page.get_by_role("textbox", name="Definition")
        definition = VALID.replace("topics:", "topicz:")
        text.fill(definition)
        if text.inner_text().count("api_version") > 1:  # the editor had not taken over the selection yet
            text.fill(definition)
        finding = page.get_by_role("button", name=re.compile(r"^sources\.\S*topicz$"))
        expect(finding).to_be_visible()
        expect(page.get_by_role("button", name="Create pipeline", exact=True)).to_have_attribute(
            "aria-disabled", "true"
        )
        finding.click()
        expect(text).to_be_focused()

        text.fill(VALID)
        expect(page.get_by_text("Valid", exact=True)).to_be_visible()
        press(page, "Create pipeline")
        expect(page.get_by_role("heading", level=1)).to_have_text("by-hand")
        wait_for_phase(page, "Stopped")
        delete_by_hand(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Pipelines")
        expect(page.get_by_role("link", name="by-hand")).to_have_count(0)


def delete_by_hand(page: Page) -> None:
    page.get_by_role("button", name="More for by-hand").click()
    page.get_by_role("menuitem", name="Delete pipeline").click()
    dialog = page.get_by_role("dialog", name="Delete by-hand?")
    dialog.get_by_label("Type by-hand to confirm").fill("by-hand")
    dialog.get_by_role("button", name="Delete pipeline", exact=True).click()


VALID = """\
api_version: headgate/v1
name: by-hand
sources:
  shop:
    type: kafka
    bootstrap_servers: localhost:9092
    topics: [orders]
    group_id: headgate.by-hand
    start_from: earliest
channels:
  main: {type: direct}
sinks:
  out: {type: logger, channel: main}
"""


def test_what_others_do_appears_without_a_reload(browser: Browser, stack: Stack) -> None:
    api = httpx2.Client(base_url=f"{stack.url}/api/v1", headers={"Authorization": f"Token {stack.token}"}, timeout=30)
    with logged_in(browser, stack) as page:
        api.post("/pipelines", json={"definition": VALID.replace("by-hand", "by-others")}).raise_for_status()
        expect(page.get_by_role("link", name="by-others")).to_be_visible()
        api.delete("/pipelines/by-others").raise_for_status()
        expect(page.get_by_role("link", name="by-others")).to_have_count(0)


def test_an_ended_session_brings_the_login_back_without_losing_the_text(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack, "/pipelines/new") as page:
        page.get_by_role("textbox", name="Definition").fill("name: kept\n")
        page.context.clear_cookies()
        page.get_by_role("textbox", name="Definition").press_sequentially("# more")
        expect(page.get_by_text("Your session has ended.")).to_be_visible()
        log_in(page, stack)
        expect(page.get_by_text("Your session has ended.")).to_have_count(0)
        expect(page.get_by_role("textbox", name="Definition")).to_contain_text("name: kept")
        assert page.url.endswith("/pipelines/new")


def test_logging_out_ends_the_session(browser: Browser, stack: Stack) -> None:
    with logged_in(browser, stack) as page:
        page.get_by_role("button", name=re.compile("^admin")).click()
        press(page, "Log out")
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        page.reload()
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
