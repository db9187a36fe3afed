"""The commonest jobs, each in few clicks from the list of pipelines. Typing is no click."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from tests.chaos.stream import Stream
from tests.e2e.conftest import Stack
from tests.e2e.page import SLOW_MS, figure, logged_in, wait_for_phase
from tests.e2e.test_page_accessibility import settle
from tests.e2e.test_page_real_migrations import LONG_MS, predicted
from tests.e2e.test_page_with_content import filled

COUNT = """
addEventListener('pointerdown', () => {
  sessionStorage.setItem('clicks', Number(sessionStorage.getItem('clicks')) + 1)
}, true)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One pipeline that is blocked and some that are well."""
    with filled(tmp_path_factory.mktemp("shop"), 12) as stack:
        yield stack


@contextmanager
def within(clicks: int, browser: Browser, stack: Stack) -> Iterator[Page]:
    """The list as it stands after the login; what is done in the block takes no more clicks than so many."""
    with logged_in(browser, stack) as page:
        settle(page, "Pipelines")
        page.evaluate(COUNT)
        page.context.add_init_script(COUNT)
        yield page
        assert int(page.evaluate("sessionStorage.getItem('clicks')") or 0) <= clicks


def test_whether_everything_is_healthy_takes_none(browser: Browser, stack: Stack) -> None:
    with within(0, browser, stack) as page:
        expect(page.get_by_text("No pipeline requires action")).to_be_visible()


def test_why_a_pipeline_is_not_healthy_takes_one(browser: Browser, shop: Stack) -> None:
    with within(1, browser, shop) as page:
        page.get_by_role("link", name="Open shop").click()
        expect(page.get_by_test_id("headline")).to_contain_text("lies 1,204 records before the start of the log")


def test_where_records_were_lost_takes_two(browser: Browser, shop: Stack) -> None:
    with within(2, browser, shop) as page:
        page.get_by_role("link", name="Open shop").click()
        page.get_by_role("link", name="Ledger", exact=True).click()
        expect(page.get_by_test_id("flow")).to_have_text("300 read: 210 delivered, 60 filtered, 30 dead-lettered.")
        expect(page.get_by_role("button", name=re.compile("^Dead-lettered by out sink"))).to_be_visible()


def test_a_pause_of_all_for_maintenance_takes_two(browser: Browser, stack: Stack) -> None:
    with within(2, browser, stack) as page:
        page.get_by_role("checkbox", name="Select every listed pipeline").click()
        page.get_by_role("button", name="Pause 1", exact=True).click()
        results = page.get_by_role("dialog", name=re.compile("^Pause 1 pipeline"))
        expect(results.get_by_role("status")).to_contain_text("accepted", timeout=SLOW_MS)
        page.keyboard.press("Escape")
        expect(page.get_by_role("row", name=re.compile("^Select demo "))).to_contain_text("Paused", timeout=SLOW_MS)


def test_a_regular_expression_is_changed_with_its_preview_in_five(browser: Browser, stack: Stack, demo: Stream) -> None:
    """The plan predicts the outcome on real records before anything starts."""
    demo.flow()
    with logged_in(browser, stack, "/pipelines/demo") as page:
        wait_for_phase(page, "Running")
        figure(page, "Rate")
    with within(5, browser, stack) as page:
        page.get_by_role("link", name="demo", exact=True).click()
        page.get_by_role("button", name="Change", exact=True).click()
        editor = page.get_by_role("textbox", name="Definition")
        expect(editor).to_be_visible()
        page.keyboard.press("Escape")
        definition = yaml.safe_load(
            str(page.evaluate("fetch('/api/v1/pipelines/demo').then(all => all.json()).then(it => it.definition_yaml)"))
        )
        definition["sources"]["orders"]["interceptors"].append(
            {"type": "regex_filter", "regex": "^no such record$", "exclude_events": True}
        )
        editor.focus()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.insert_text(yaml.safe_dump(definition, sort_keys=False))
        page.get_by_role("textbox", name="Reason").fill("One more filter")
        page.get_by_role("button", name="Next: Plan migration", exact=True).click()
        predicted(page)
        page.get_by_role("button", name="Next: Approve", exact=True).click()
        page.get_by_role("button", name="Approve and start", exact=True).click()
        expect(page).to_have_url(re.compile("/report$"), timeout=LONG_MS)
        expect(page.get_by_text("Committed", exact=True).first).to_be_visible()
