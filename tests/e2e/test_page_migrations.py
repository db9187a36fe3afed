"""The wizard with no migration, with one of every look, and with many; requested, continued and cancelled by users:
no agent runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Stack
from tests.e2e.page import in_every_theme, logged_in
from tests.e2e.test_page_accessibility import settle
from tests.e2e.test_page_supervision import Place, errors_of
from tests.e2e.test_page_with_content import filled, on_every_page

INSPECTED_AT = {
    "planned": ["change", "plan", "approve"],
    "blocked": ["plan"],
    "preflight": ["preflight"],
    "shadowed": ["shadow"],
    "pausing": ["pause"],
    "gated": ["cut-over"],
    "verifying": ["proof", "snapshot", "verify"],
    "committed": ["commit", "report"],
    "stuck": ["back"],
}
"""Pages of the wizard by pipeline: each page once with everything that it can show."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server without any pipeline; the tests of this module add some, in their order."""
    directory: Path = tmp_path_factory.mktemp("migrations")
    with filled(directory, 0) as stack:
        yield Place(stack, directory)


def get(stack: Stack, path: str) -> Any:
    answer = httpx2.get(f"{stack.url}/api/v1{path}", headers={"Authorization": f"Token {stack.token}"}, timeout=60)
    return answer.raise_for_status().json()


def newest(stack: Stack, pipeline: str) -> str:
    """Where the newest migration of a pipeline has its pages."""
    return f"/migrations/{get(stack, f'/migrations?pipeline={pipeline}')['results'][0]['id']}"


def heading(page: Page, name: str, *, level: int = 2) -> None:
    expect(page.get_by_role("heading", name=name, level=level, exact=True)).to_be_visible()


def at(page: Page, step: str) -> None:
    expect(page).to_have_url(re.compile(f"/{step}$"))


def test_a_list_without_migrations_says_how_one_is_made(browser: Browser, place: Place) -> None:
    with logged_in(browser, place.stack) as page:
        logged = errors_of(page)
        assert on_every_page(page, {"/migrations/rules": "Freezes and approvals", "/migrations": "Migrations"}) == {}
        page.goto("/migrations")
        expect(page.get_by_text("No migrations yet")).to_be_visible()
        page.goto("/migrations/00000000-0000-4000-8000-000000000000")
        settle(page, "Migration not found")
        assert [line for line in logged if "404" not in line] == []


def test_a_person_plans_by_keyboard_another_goes_on_and_gives_it_up(browser: Browser, place: Place) -> None:
    place.add("moving")
    with logged_in(browser, place.stack, "/pipelines/orders") as page:
        press(page, "More for orders", role="button")
        page.get_by_role("menuitem", name="New migration").press("Enter")
        settle(page, "New migration of orders")
        host = page.get_by_role("radio", name=re.compile("^Host"))
        host.focus()
        page.keyboard.press("Space")
        blocked = page.get_by_role("button", name="Next: Plan migration")
        expect(blocked).to_have_attribute("aria-disabled", "true")
        expect(page.get_by_text("Choose a host first.").first).to_be_visible()
        choice = page.get_by_role("combobox", name="Host")
        choice.focus()
        choice.press("ArrowDown")
        page.get_by_role("option", name="charlie").wait_for()
        type_choice(page, "charlie")
        page.get_by_role("textbox", name="Reason").fill("A larger machine")
        assert in_every_theme(page) == []
        press(page, "Next: Plan migration", role="button")
        at(page, "plan")
        heading(page, "Blockers")
        expect(page.get_by_text("charlie, revision 1")).to_be_visible()
        page.reload()
        settle(page, "Host: orders")
        press(page, "Next: Approve", role="button")
        at(page, "approve")
        press(page, "Approve plan", role="button")
        expect(page.get_by_role("row", name=re.compile("admin.*for this plan"))).to_be_visible()
        press(page, "Start migration", role="button")
        at(page, "preflight")
        address = page.url

    with logged_in(browser, place.stack, address.removeprefix(place.stack.url)) as other:
        settle(other, "Host: orders")
        expect(other.get_by_text("The old agent keeps running.").first).to_be_visible()
        other.get_by_role("button", name="Cancel migration").click()
        dialog = other.get_by_role("dialog", name="Cancel this migration?")
        dialog.get_by_label("Reason").fill("Not tonight")
        assert in_every_theme(other) == []
        dialog.get_by_role("button", name="Cancel migration", exact=True).click()
        expect(dialog).to_have_count(0)
        expect(other.get_by_text("Rolling back", exact=True).first).to_be_visible()
        other.goto("/pipelines/orders")
        expect(other.get_by_role("region", name="Open migration")).to_contain_text("(host)")
        other.get_by_role("navigation", name="Parts of orders").get_by_role("link", name="Events").click()
        expect(other.get_by_role("link", name=re.compile("^Show migration")).first).to_be_visible()


def press(page: Page, name: str, *, role: Any) -> None:
    """As a user without a mouse does."""
    part = page.get_by_role(role, name=name, exact=True)
    expect(part).to_be_enabled()
    part.focus()
    part.press("Enter")


def type_choice(page: Page, name: str) -> None:
    """Go down the open list until the option is chosen."""
    for _ in range(10):
        chosen = page.locator("[role=option][data-combobox-selected]")
        if chosen.count() and (chosen.first.text_content() or "").startswith(name):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


@pytest.fixture(scope="module")
def migrated(place: Place) -> Place:
    """A migration of every look, sixty more in the list, an evacuation and a freeze."""
    place.add("migrated")
    return place


def test_nothing_is_wrong_with_any_page_of_the_wizard(browser: Browser, migrated: Place) -> None:
    pages = {
        f"{newest(migrated.stack, name)}/{step}": f"New revision: {name}"
        for name, steps in INSPECTED_AT.items()
        for step in steps
    }
    evacuation = get(migrated.stack, "/evacuations")["results"][0]["id"]
    pages |= {"/migrations": "Migrations", "/migrations/rules": "Freezes and approvals", "/hosts": "Hosts"}
    pages |= {f"{newest(migrated.stack, 'elsewhere')}/plan": "Kafka cluster: elsewhere"}
    pages |= {f"/evacuations/{evacuation}": "Evacuation of bravo", "/migrations/new": "New migration"}
    with logged_in(browser, migrated.stack) as page:
        logged = errors_of(page)
        assert on_every_page(page, pages) == {}
    assert logged == []


def test_each_stage_shows_its_evidence_and_its_price(browser: Browser, migrated: Place) -> None:
    stack = migrated.stack
    with logged_in(browser, stack, newest(stack, "pausing")) as page:
        at(page, "pause")
        expect(page.get_by_text("up to 1,250", exact=True)).to_be_visible()
        expect(page.get_by_text("sinks.out", exact=True)).to_be_visible()
        page.goto(newest(stack, "blocked"))
        at(page, "plan")
        expect(page.get_by_role("button", name="Next: Approve")).to_have_attribute("aria-disabled", "true")
        page.goto(f"{newest(stack, 'planned')}/plan")
        expect(page.get_by_role("row", name=re.compile("sinks.out.options"))).to_contain_text("${secret:shop-kafka}")
        page.goto(f"{newest(stack, 'elsewhere')}/plan")
        expect(page.get_by_role("row", name=re.compile("^elsewhere-in.0"))).to_contain_text("1,048,000")
        page.goto(f"{newest(stack, 'preflight')}/preflight")
        expect(page.get_by_role("row", name=re.compile("^out sink kafka alpha Failed"))).to_be_visible()
        page.goto(newest(stack, "shadowed"))
        at(page, "shadow")
        compared = page.get_by_role("table", name="Comparison of both revisions")
        expect(compared.get_by_role("row", name=re.compile("^Records compared"))).to_contain_text("5,000 of 10,000")
        expect(compared.get_by_role("row", name=re.compile("^Share that differs"))).to_contain_text("20.00 %")
        expect(page.get_by_text("Unlike the ledger", exact=True)).to_be_visible()
        expect(page.get_by_role("article", name="shadowed-in/0:48000")).to_contain_text("Newly filtered")
        expect(page.get_by_role("table", name="Changed places")).to_contain_text("header seen")
        page.goto(newest(stack, "gated"))
        at(page, "cut-over")
        page.get_by_role("button", name="Continue migration").click()
        expect(page.get_by_text("Awaiting approval")).to_have_count(0)
        page.goto(newest(stack, "verifying"))
        at(page, "verify")
        page.get_by_role("button", name="Commit migration").click()
        expect(page.get_by_text("continued the migration (COMMITTED)").first).to_be_visible()
        page.goto(newest(stack, "reverted"))
        at(page, "report")
        page.goto(newest(stack, "stuck"))
        at(page, "back")
        expect(page.get_by_role("button", name="Retry failed step")).to_be_enabled()


def test_the_report_has_a_timeline_of_both_agents_and_its_pause(browser: Browser, migrated: Place) -> None:
    """The gap between their bars is as wide as the pause that the report states."""
    stack = migrated.stack
    report = f"{newest(stack, 'reverted')}/report"
    pauses = get(stack, f"{newest(stack, 'reverted')}/timeline")["timeline"]["pauses"]
    assert [(each["way"], each["measured"]) for each in pauses] == [("migration", True), ("rollback", True)]
    with logged_in(browser, stack, report) as page:
        chart = page.get_by_role("img", name=re.compile("^Old agent: runs 1, 3,"))
        expect(chart.get_by_text(f"Pause {pauses[0]['seconds']:.0f} s", exact=True)).to_be_visible()
        old, new = (chart.locator(f"[data-side={side}]").first.bounding_box() for side in ("old", "new"))
        assert old is not None
        assert new is not None
        found = page.locator("[class*=plot]").first.bounding_box()
        assert found is not None
        shown = get(stack, f"{newest(stack, 'reverted')}/timeline")["timeline"]
        whole = datetime.fromisoformat(shown["until"]) - datetime.fromisoformat(shown["since"])
        gap = (new["x"] - old["x"] - old["width"]) / found["width"] * whole.total_seconds()
        assert gap == pytest.approx(pauses[0]["seconds"], abs=2)
        assert in_every_theme(page) == []
        page.goto(f"{report}?timeline=table")
        expect(page.get_by_role("row", name=re.compile("^Rollback pause .*Measured between two"))).to_be_visible()
        assert in_every_theme(page) == []
        page.goto(f"{newest(stack, 'committed')}/report")
        outcome = page.get_by_role("region", name=re.compile("^Events filtered"))
        expect(outcome).to_contain_text(re.compile("Present revision.*5.0 %.*Predicted.*38.0 %.*Outcome.*38.8 %"))


def test_the_report_is_downloaded_and_the_way_back_planned(browser: Browser, migrated: Place) -> None:
    stack = migrated.stack
    committed = newest(stack, "committed")
    with logged_in(browser, stack, committed) as page:
        at(page, "report")
        heading(page, "Report")
        expect(page.get_by_text(re.compile("^SHA-256 [0-9a-f]{64}$"))).to_be_visible()
        with page.expect_download() as started:
            page.get_by_role("link", name="Download JSON").click()
        document = json.loads(Path(started.value.path()).read_text())
        assert (document["format"], document["content"]["gap"]) == ("headgate/migration-evidence/v1", 0)
        with page.context.expect_page() as opened:
            page.get_by_role("link", name=re.compile("printable report")).click()
        expect(opened.value.get_by_role("heading", level=1)).to_have_text(re.compile("Migration of committed"))
        page.get_by_role("button", name="Plan revert").click()
        dialog = page.get_by_role("dialog", name="Plan a migration that reverts this one?")
        dialog.get_by_label("Reason").fill("Too slow")
        assert in_every_theme(page) == []
        dialog.get_by_role("button", name="Plan revert").click()
        expect(page).not_to_have_url(re.compile(f"{committed}/"))
        heading(page, "New revision: committed", level=1)
        back = get(stack, newest(stack, "committed"))
        assert (back["reverts"], back["reason"]) == (committed.rpartition("/")[2], "Too slow")
        assert page.url.startswith(f"{stack.url}{newest(stack, 'committed')}/")


def test_a_long_list_has_more_and_is_filtered(browser: Browser, migrated: Place) -> None:
    with logged_in(browser, migrated.stack, "/migrations") as page:
        rows = page.get_by_role("table", name="Migrations").locator("tbody tr")
        expect(rows).to_have_count(50)
        page.get_by_role("button", name="Show older").click()
        expect(page.get_by_role("button", name="Show older")).to_have_count(0)
        page.get_by_role("textbox", name="Pipeline").fill("pausing")
        expect(rows).to_have_count(1)
        expect(page).to_have_url(re.compile("pipeline=pausing"))
        page.get_by_text("Completed", exact=True).click()
        expect(page.get_by_text("No migration matches the filter")).to_be_visible()


def test_a_host_is_evacuated_and_a_freeze_holds_migrations_up(browser: Browser, migrated: Place) -> None:
    with logged_in(browser, migrated.stack, "/hosts") as page:
        page.get_by_role("button", name="Evacuate host alpha").click()
        dialog = page.get_by_role("dialog", name="Evacuate alpha?")
        dialog.get_by_label("Reason").fill("A new kernel")
        assert in_every_theme(page) == []
        dialog.get_by_role("button", name="Evacuate host", exact=True).click()
        settle(page, "Evacuation of alpha")
        expect(page.get_by_text(re.compile("^0 of [0-9]+ pipelines moved"))).to_be_visible()
        page.get_by_role("button", name="Cancel evacuation").click()
        expect(page.get_by_text("Cancelled. Running migrations were completed.")).to_be_visible()

        page.goto("/migrations/rules")
        expect(page.get_by_text("Active", exact=True)).to_be_visible()
        page.get_by_role("button", name="Add freeze").click()
        dialog = page.get_by_role("dialog", name="Add freeze")
        dialog.get_by_label("From").fill("2020-01-01T00:00")
        dialog.get_by_label("Until").fill("2120-01-01T00:00")
        dialog.get_by_label("Reason").fill("The audit")
        assert in_every_theme(page) == []
        dialog.get_by_role("button", name="Add freeze", exact=True).click()
        expect(page.get_by_role("row", name=re.compile("every pipeline.*The audit"))).to_be_visible()
        page.goto(f"{newest(migrated.stack, 'planned')}/plan")
        page.get_by_role("button", name="Plan again").click()
        expect(page.get_by_text(re.compile("Frozen until 2120"))).to_be_visible()
        page.goto("/migrations/rules")
        page.get_by_role("button", name="End freeze: every pipeline, The audit").click()
        dialog = page.get_by_role("dialog", name="End the freeze of every pipeline?")
        assert in_every_theme(page) == []
        dialog.get_by_role("button", name="End freeze").click()
        expect(page.get_by_role("row", name=re.compile("The audit"))).to_have_count(0)
        page.get_by_role("button", name="Set policy").click()
        dialog = page.get_by_role("dialog", name="Set approval policy")
        assert in_every_theme(page) == []
        dialog.get_by_role("button", name="Set policy").click()
        expect(page.get_by_role("row", name=re.compile("^every pipeline 1 1 d"))).to_be_visible()
        page.get_by_role("button", name="Remove policy: every pipeline").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove policy", exact=True).click()
        expect(page.get_by_text("No approval policies")).to_be_visible()
