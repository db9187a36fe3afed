"""The guided demo in a browser: each card breaks the demo pipeline for real, and every record is counted afterwards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from controlplane.devstack import topics
from controlplane.devstack.demo import Demo
from controlplane.devstack.records import number_of
from tests.chaos.installation import Installation, installed, wait_for
from tests.e2e.conftest import Stack
from tests.e2e.page import in_every_theme, logged_in, too_wide, violations
from tests.figures import RecordProperty

RATE = "200"
ENDS_WITHIN_MS = 420_000
"""Of a card, on a machine with other things to do."""
READ_WITHIN = 120.0


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """`make demo`, at a rate that leaves the machine to others."""
    with installed(tmp_path_factory.mktemp("demo"), "--demo", "--rate", RATE) as running:
        yield running


@pytest.fixture(scope="module")
def people(guided: Installation) -> Stack:
    """Who has read the password on the terminal."""
    found = re.search(r"password +(\S+)", guided.log.read_text())
    assert found is not None
    return Stack(guided.url, "admin", found[1], guided.token)


@pytest.fixture(scope="module")
def page(browser: Browser, people: Stack) -> Iterator[Page]:
    """The first login, which comes to the overview."""
    with logged_in(browser, people) as shown:
        yield shown


def card(page: Page, name: str) -> Locator:
    return page.locator(f"[data-card={name}]")


def step(shown: Locator, label: str) -> str:
    """What a card says of one thing that was observed."""
    return shown.locator("dl > div", has_text=re.compile(f"^{label}")).locator("dd").inner_text()


def use(page: Page, name: str) -> Locator:
    """Break it, and wait until it is over."""
    shown = card(page, name)
    shown.get_by_role("button", name=re.compile("Break it")).click()
    expect(shown).to_have_attribute("data-state", re.compile("REQUESTED|BREAKING|BROKEN|NOTICED|RECOVERED"))
    expect(shown).to_have_attribute("data-state", re.compile("DONE|FAILED"), timeout=ENDS_WITHIN_MS)
    assert shown.get_attribute("data-state") == "DONE", shown.inner_text()
    return shown


def counted(shown: Locator) -> tuple[int, int]:
    """Missing and doubled records, as the card says."""
    found = re.search(r"([\d,]+) missing, ([\d,]+) duplicates. The ledger is balanced.", step(shown, "Counted"))
    assert found is not None, shown.inner_text()
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def read_back(guided: Installation, since: dict[int, int]) -> tuple[int, int]:
    """Missing and doubled records of the whole sink, against those that the source has from `since` on."""
    demo = Demo("demo", guided.servers)
    wanted = set(numbers(topics.read(demo.servers, demo.source, since)))
    found: Counter[int] = Counter()

    def all_there() -> bool:
        found.clear()
        found.update(numbers(topics.read_all(demo.servers, demo.sink)))
        return wanted <= set(found)

    wait_for(all_there, READ_WITHIN, "every record of the source is in the sink")
    return len(wanted - set(found)), sum(times - 1 for times in found.values())


def numbers(bodies: Iterator[bytes]) -> Iterator[int]:
    for body in bodies:
        if not body.startswith(b"#"):
            yield number_of(body)


def lose_nothing(guided: Installation, shown: Locator, record_property: RecordProperty) -> None:
    """By the card, and by the topics themselves."""
    missing, doubled = read_back(guided, {})
    record_property("missing", missing)
    record_property("duplicates", doubled)
    assert counted(shown) == (0, 0)
    assert (missing, doubled) == (0, 0)


def test_the_first_login_leads_to_the_cards_and_they_can_be_skipped(page: Page) -> None:
    expect(page.get_by_role("heading", name="Guided demo", level=1)).to_be_visible()
    expect(page.locator("[data-card]")).to_have_count(5)
    assert in_every_theme(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert [*violations(page), *too_wide(page)] == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("link", name="Skip the guided demo").click()
    expect(page.get_by_role("heading", name="Pipelines", level=1)).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Pipelines", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("textbox", name="Page, pipeline or command").fill("guided")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Guided demo", level=1)).to_be_visible()


def test_a_killed_agent_comes_back(page: Page, guided: Installation, record_property: RecordProperty) -> None:
    shown = use(page, "kill-agent")
    assert "SIGKILL" in step(shown, "Broken")
    assert "CRASHED" in step(shown, "Noticed")
    assert "SIGKILL (signal 9)" in step(shown, "Explained")
    assert re.search(r"started run \d+", step(shown, "Recovered"))
    lose_nothing(guided, shown, record_property)


def test_a_frozen_sink_is_named_and_nothing_is_lost(
    page: Page, guided: Installation, record_property: RecordProperty
) -> None:
    shown = use(page, "freeze-sink")
    assert "SIGSTOP" in step(shown, "Broken")
    assert re.search("DEGRADED|STALLED", step(shown, "Noticed"))
    assert re.search(r"sources\.orders|sinks\.clean", step(shown, "Explained"))
    lose_nothing(guided, shown, record_property)


def test_a_regex_that_drops_everything_is_predicted_and_rolled_back(
    page: Page, guided: Installation, record_property: RecordProperty
) -> None:
    shown = use(page, "drop-everything")
    assert re.search(r"predicted that 0 instead of \d+ sampled records", step(shown, "Broken"))
    assert "not be delivered any more" in step(shown, "Broken")
    assert "rolled the migration back" in step(shown, "Recovered")
    shown.get_by_role("link", name="Where Headgate shows it").click()
    expect(page).to_have_url(re.compile("/migrations/"))
    page.go_back()
    lose_nothing(guided, card(page, "drop-everything"), record_property)


def test_deleted_offsets_are_written_again(page: Page, guided: Installation, record_property: RecordProperty) -> None:
    shown = use(page, "delete-offsets")
    assert "GROUP_LOST" in step(shown, "Noticed")
    assert "no longer has a commit" in step(shown, "Explained")
    lose_nothing(guided, shown, record_property)


def test_a_recreated_topic_asks_for_a_decision(
    page: Page, guided: Installation, record_property: RecordProperty
) -> None:
    """The last one: after it the source has the records of the new log alone."""
    shown = use(page, "recreate-topic")
    assert "BLOCKED" in step(shown, "Noticed")
    lose_nothing(guided, shown, record_property)


def test_a_card_can_be_used_again(page: Page, guided: Installation, record_property: RecordProperty) -> None:
    shown = use(page, "kill-agent")
    lose_nothing(guided, shown, record_property)
