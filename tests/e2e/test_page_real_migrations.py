"""The wizard on the real stack, by keyboard alone: a revision is committed across a restart of the web process, another
taken back, a third stopped at its preflight, and a host emptied. Every record is there once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from tests.chaos.installation import Installation, another_host
from tests.chaos.migrating import stamped
from tests.chaos.stream import Stream, streaming
from tests.e2e.conftest import Stack
from tests.e2e.page import logged_in, violations
from tests.e2e.test_page_accessibility import settle
from tests.e2e.test_page_migrations import at, press

NAME = "flowing"
LONG_MS = 480_000
"""For what takes a Spark to start, on a busy machine."""
LOOK_MS = 10_000
QUICK = {
    "Observation window, seconds": "3",
    "Minimum share of the previous rate": "0",
    "Additional lag allowed, records": "1000000",
}
"""So short a window says nothing of rate and lag: a busy machine has not finished its second batch then."""


@pytest.fixture(scope="module")
def flowing(installation: Installation) -> Iterator[Stream]:
    """The only one that flows, so that it is all that a host has to be emptied of."""
    installation.rest()
    with streaming(installation, name=NAME) as stream:
        yield stream


def ask(page: Page, stream: Stream, release: str, *, sink: str = "", rules: dict[str, str] | None = None) -> None:
    """Write a new revision and a reason, plan it, approve it and begin it."""
    definition = stamped(stream.demo, release)
    definition["sinks"]["clean"]["topic"] = sink or stream.demo.sink
    page.goto(f"/migrations/new?pipeline={NAME}&kind=revision")
    settle(page, f"New migration of {NAME}")
    editor = page.get_by_role("textbox", name="Definition")
    editor.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(yaml.safe_dump(definition, sort_keys=False))
    page.get_by_role("textbox", name="Reason").fill(f"Release {release}")
    press(page, "Verification rules and approval gates", role="button")
    for label, value in {**QUICK, **(rules or {})}.items():
        field = page.get_by_role("textbox", name=label)
        field.fill(value)
        field.press("Tab")
    if release == "2":
        gate = page.get_by_role("checkbox", name="Before the new agent takes over")
        gate.focus()
        page.keyboard.press("Space")
    assert violations(page) == []
    press(page, "Next: Plan migration", role="button")
    at(page, "plan")
    expect(page.get_by_role("row", name=re.compile("interceptors")).first).to_be_visible()
    predicted(page)
    assert violations(page) == []
    press(page, "Next: Approve", role="button")
    press(page, "Approve plan", role="button")
    press(page, "Start migration", role="button")
    at(page, "preflight")


def predicted(page: Page) -> None:
    """A host with much to do may be late, in which case one plans again; any other reason is a failure."""
    delivered = page.get_by_role("row", name=re.compile("^Delivered")).first
    without = page.get_by_text(re.compile("^Not predicted, because ")).first
    for _ in range(LONG_MS // LOOK_MS):
        with suppress(AssertionError):
            return expect(delivered).to_be_visible(timeout=LOOK_MS)
        if without.is_visible():
            assert re.search("within 1[25]0 s", without.inner_text()), without.inner_text()
            press(page, "Plan again", role="button")
    return expect(delivered).to_be_visible()


def ends(page: Page, word: str) -> None:
    """Whoever looks goes along with it to the report."""
    expect(page).to_have_url(re.compile("/report$"), timeout=LONG_MS)
    expect(page.get_by_text(word, exact=True).first).to_be_visible()
    assert violations(page) == []


def test_one_is_committed_across_a_restart_of_the_web_process(browser: Browser, people: Stack, flowing: Stream) -> None:
    with logged_in(browser, people) as page:
        ask(page, flowing, "2")
        go_on = page.get_by_role("button", name="Continue migration")
        expect(go_on).to_be_visible(timeout=LONG_MS)
        at(page, "cut-over")
        assert violations(page) == []
        flowing.installation.kill("web")
        flowing.installation.api.get("/migrations")
        page.reload()
        settle(page, f"New revision: {NAME}")
        press(page, "Continue migration", role="button")
        ends(page, "Committed")
        assert flowing.pipeline["revision"] == 2
        page.goto(f"/pipelines/{NAME}/events")
        expect(page.get_by_role("link", name=re.compile("^Show migration")).first).to_be_visible()


def test_one_is_taken_back_and_one_ends_at_its_preflight(browser: Browser, people: Stack, flowing: Stream) -> None:
    revision = flowing.pipeline["revision"]
    with logged_in(browser, people) as page:
        ask(page, flowing, "3", rules={"Observation window, seconds": "600"})
        expect(page).to_have_url(re.compile("/verify$"), timeout=LONG_MS)
        flowing.goes_on(flowing.read)
        press(page, "Roll back migration", role="button")
        dialog = page.get_by_role("dialog", name="Roll back this migration?")
        dialog.get_by_label("Reason").fill("It was only a trial")
        dialog.get_by_label("Reason").press("Enter")
        ends(page, "Rolled back")
        assert flowing.pipeline["revision"] == revision
        flowing.goes_on(flowing.read)

        run = flowing.runs[0]["id"]
        ask(page, flowing, "4", sink="no-such-topic")
        ends(page, "Aborted")
        expect(page.get_by_text("sinks.clean", exact=True).first).to_be_visible()
        assert run in [each["id"] for each in flowing.runs if each["state"] == "LIVE"]
        flowing.goes_on(flowing.read)


def test_a_host_is_emptied_and_every_record_was_delivered_once(
    browser: Browser, people: Stack, flowing: Stream, tmp_path: Path
) -> None:
    with another_host(flowing.installation, tmp_path, "beta"), logged_in(browser, people, "/hosts") as page:
        press(page, "Evacuate host chaos", role="button")
        dialog = page.get_by_role("dialog", name="Evacuate chaos?")
        dialog.get_by_label("Reason").fill("A new kernel")
        dialog.get_by_label("Reason").press("Enter")
        settle(page, "Evacuation of chaos")
        expect(page.get_by_text(re.compile("^1 of 1 pipeline moved"))).to_be_visible(timeout=LONG_MS)
        assert violations(page) == []
        assert flowing.pipeline["host"] == "beta"
        flowing.goes_on(flowing.read)
        flowing.delivered_once()
