"""What a change would do, shown on the pages before it is made, and what became of one record: previews, tests,
predictions, a shadow, traces and the note of an unusual output, of one pipeline that runs on the real stack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from confluent_kafka import Message, Producer
from playwright.sync_api import Browser, Locator, Page, expect

from tests import command_line
from tests.chaos.installation import Installation, wait_for
from tests.chaos.stream import Stream, streaming
from tests.e2e.conftest import Stack
from tests.e2e.page import logged_in, too_wide, violations
from tests.e2e.test_page_accessibility import settle
from tests.e2e.test_page_migrations import at, press

NAME = "proved"
EDIT, FORM = f"/pipelines/{NAME}/edit", f"/migrations/new?pipeline={NAME}&kind=revision"
WITHIN = 240.0
LONG_MS = 1000 * WITHIN
"""For what takes a Spark to start, on a busy machine."""
RATE = 200.0
SHADOWED = 100_000
NOISE, CAST, ADDED = (f"sources.orders.interceptors[{number}]" for number in (1, 2, 3))
"""The interceptors that filter noise and refuse what is no number, and the first one that a change adds."""
NO_CZECHS = {"type": "regex_filter", "regex": '"CZ"', "exclude_events": True}
NOTHING = {"type": "regex_filter", "regex": ".", "exclude_events": True}
MARKED = {
    "delivered": b'{"number": 4711, "note": "marked"}',
    "filtered": b"# marked noise",
    "dead": b'{"number": "many", "note": "marked"}',
}
"""A record for each outcome, by its key."""


@pytest.fixture(scope="module")
def proved(installation: Installation) -> Iterator[Stream]:
    installation.rest()
    cast = {"type": "sql", "where": "json:number::BIGINT >= 0"}
    with streaming(installation, name=NAME, rate=RATE, interceptors=[cast]) as stream:
        yield stream
        stream.act("stop", drain=False)  # its output stays unusual, which would require action on every other page


@pytest.fixture(scope="module")
def definition(proved: Stream) -> dict[str, Any]:
    found: dict[str, Any] = proved.pipeline["definition"]
    return found


def changed(definition: dict[str, Any], *interceptors: dict[str, Any], **more: Any) -> str:
    """The definition with more interceptors, and more keys."""
    orders = definition["sources"]["orders"]
    sources = {"orders": orders | {"interceptors": [*orders["interceptors"], *interceptors]}}
    return yaml.safe_dump(definition | {"sources": sources} | more, sort_keys=False)


def write(page: Page, text: str) -> None:
    """Put the text into the editor in place of what is there."""
    page.get_by_role("textbox", name="Definition").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def press_when_ready(page: Page, name: str) -> None:
    button = page.get_by_role("button", name=name, exact=True)
    expect(button).not_to_have_attribute("aria-disabled", "true")
    button.click()


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=re.compile(rf"^{re.escape(option)}")).click()


def stands_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    assert too_wide(page) == []
    assert violations(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})


def figures(row: Locator) -> tuple[int, int]:
    """The counts of a row, under both revisions."""
    old, new = (row.get_by_role("cell").nth(column).inner_text().replace(",", "") for column in (2, 3))
    return int(old), int(new)


def previewed(page: Page, taking: str) -> Locator:
    """The events that differ, once the preview is made: what is not delivered any more is what a component takes."""
    press_when_ready(page, "Run preview")
    counts = page.get_by_role("table", name="Events by outcome and component")
    expect(counts).to_be_visible(timeout=LONG_MS)
    old, new = figures(counts.get_by_role("row", name=re.compile("^Delivered")))
    before, after = figures(counts.get_by_role("row").filter(has_text=taking))
    assert (before, old - new) == (0, after)
    assert after > 0
    return page.get_by_role("article")


def test_an_edit_is_previewed_and_a_record_of_it_is_saved_as_a_test(
    browser: Browser, people: Stack, definition: dict[str, Any]
) -> None:
    with logged_in(browser, people, EDIT) as page:
        settle(page, f"New revision of {NAME}")
        preview = page.get_by_role("button", name="Run preview")
        expect(preview).to_have_accessible_description("Nothing has changed yet.")
        write(page, changed(definition, NO_CZECHS, {"type": "static", "key": "seen", "value": "yes"}))
        differing = previewed(page, ADDED)
        choose(page, "Only what this component changed", ADDED)
        expect(differing.first.get_by_text(f"changed by {ADDED}", exact=True)).to_be_visible()
        expect(differing.first).to_contain_text("Newly filtered")
        expect(differing.first).to_contain_text("Before Delivered (clean)")
        expect(differing.first).to_contain_text(f"After Filtered ({ADDED})")
        choose(page, "Only what this component changed", "sources.orders.interceptors[4]")
        expect(differing.first.get_by_role("table", name="Changed places")).to_contain_text("header seen")
        assert violations(page) == []
        stands_on_a_phone(page)

        differing.first.get_by_role("button", name="Save as test").click()
        expect(page.get_by_text(re.compile("^A test was added to the definition"))).to_be_visible()
        expect(page.get_by_text(re.compile("^This preview is of what was asked for before"))).to_be_visible()
        press_when_ready(page, "Run tests")
        expect(page.get_by_text("1 test passed.")).to_be_visible(timeout=LONG_MS)
        expect(page.get_by_role("list", name="Tests", exact=True)).to_contain_text(f"Passed record {NAME}.orders/")


def test_a_failing_test_and_sql_that_spark_refuses_stand_at_their_place_and_are_not_planned(
    browser: Browser, people: Stack, definition: dict[str, Any]
) -> None:
    wrong = {"name": "noise arrives", "given": [{"body": "# keep-alive"}], "expect": [{"channels": ["clean"]}]}
    with logged_in(browser, people, FORM) as page:
        settle(page, f"New migration of {NAME}")
        page.get_by_role("textbox", name="Reason").fill("Fewer records")
        write(page, changed(definition, NO_CZECHS, tests=[wrong]))
        press_when_ready(page, "Next: Plan migration")
        expect(page.get_by_role("alert").filter(has_text="1 of 1 test failed.")).to_be_visible(timeout=LONG_MS)
        expect(page.get_by_role("list", name="Tests", exact=True)).to_contain_text(f"filtered by {NOISE}")
        page.get_by_role("button", name="tests[0].expect[0]", exact=True).click()
        expect(page.locator(".cm-activeLine")).to_contain_text("channels")
        assert violations(page) == []

        write(page, changed(definition, {"type": "sql", "where": "nobody > 1"}))
        press_when_ready(page, "Next: Plan migration")
        expect(page.get_by_role("alert").filter(has_text="Spark refuses SQL")).to_be_visible(timeout=LONG_MS)
        place = page.get_by_role("button", name=f"{ADDED}.where", exact=True)
        expect(page.get_by_role("listitem").filter(has=place)).to_contain_text("Line 1, column 1")
        place.click()
        expect(page.locator(".cm-activeLine")).to_contain_text("nobody > 1")
        assert violations(page) == []
        assert "/migrations/new" in page.url


def test_a_loss_is_predicted_acknowledged_and_compared_in_a_shadow(
    browser: Browser, people: Stack, proved: Stream, definition: dict[str, Any]
) -> None:
    right = {"name": "noise is filtered", "given": [{"body": "#"}], "expect": [{"filtered_by": NOISE}]}
    with logged_in(browser, people, FORM) as page:
        settle(page, f"New migration of {NAME}")
        write(page, changed(definition, NOTHING, tests=[right]))
        assert_that_all_is_filtered(previewed(page, ADDED))
        page.get_by_role("textbox", name="Reason").fill("A better filter")
        with_shadow(page)
        assert violations(page) == []
        press_when_ready(page, "Next: Plan migration")

        table = page.get_by_role("table", name="Prediction for orders")
        expect(table.get_by_role("row", name=re.compile("^Delivered"))).to_contain_text("0 of ", timeout=LONG_MS)
        at(page, "plan")
        expect(page.get_by_role("list", name="Tests that passed")).to_have_text("noise is filtered")
        assert violations(page) == []
        press(page, "Next: Approve", role="button")
        at(page, "approve")
        press(page, "Approve plan", role="button")
        acknowledge(page)
        press(page, "Start migration", role="button")

        expect(page).to_have_url(re.compile("/shadow$"), timeout=LONG_MS)
        comparison = page.get_by_role("region", name="Comparison")
        expect(comparison).to_contain_text(f"{SHADOWED:,} records, 1 h at most; nothing is written")
        expect(page.get_by_text(re.compile(f"of {SHADOWED} records compared")).first).to_be_visible()
        assert violations(page) == []
        press(page, "Cancel migration", role="button")
        dialog = page.get_by_role("dialog", name="Cancel this migration?")
        dialog.get_by_role("button", name="Cancel migration", exact=True).press("Enter")
        expect(page).to_have_url(re.compile("/report$"), timeout=LONG_MS)
    proved.goes_on(proved.read)


def assert_that_all_is_filtered(differing: Locator) -> None:
    expect(differing.first).to_contain_text("Newly filtered")
    expect(differing.first).to_contain_text(f"After Filtered ({ADDED})")


def with_shadow(page: Page) -> None:
    """Compare both revisions on more records than come while the test looks."""
    choose(page, "Compare", "A number of records")
    page.get_by_role("region", name="Shadow").get_by_role("textbox", name="Records").fill(str(SHADOWED))


def acknowledge(page: Page) -> None:
    """Type the number of records that would not be delivered any more; nothing else lets the migration start."""
    start = page.get_by_role("button", name="Start migration", exact=True)
    expect(start).to_have_accessible_description("Type the number of records first.")
    label = re.compile("^Type [0-9]+ to acknowledge$")
    number = re.sub("[^0-9]", "", page.get_by_text(label).inner_text())
    field = page.get_by_role("textbox", name=label)
    field.fill("1")
    expect(start).to_have_attribute("aria-disabled", "true")
    assert violations(page) == []
    field.fill(number)
    expect(start).not_to_have_attribute("aria-disabled", "true")


@pytest.fixture(scope="module")
def marked(proved: Stream) -> dict[str, str]:
    """Where the marked records are in the source, by key, once they have been read."""
    places: dict[str, str] = {}

    def arrived(_error: object, message: Message) -> None:
        places[(message.key() or b"").decode()] = f"{message.topic()}/{message.partition()}:{message.offset()}"

    producer = quiet_producer(proved)
    for key, body in MARKED.items():
        producer.produce(proved.demo.source, body, key=key, partition=2, on_delivery=arrived)
    assert producer.flush(60) == 0
    last = max(int(place.rpartition(":")[2]) for place in places.values())
    wait_for(lambda: read_in(proved, 2) > last, WITHIN, "they are read")
    return places


def quiet_producer(stream: Stream) -> Producer:
    """One that does not say when the stack is stopped before it."""
    return Producer({"bootstrap.servers": stream.demo.servers, "log_level": 0})


def read_in(stream: Stream, partition: int) -> int:
    return max((each["next_offset"] for each in stream.positions if each["partition"] == partition), default=0)


def traced(page: Page, way: str, value: str) -> Locator:
    """The outcome of a record, once it is known. A search that ends before it has seen every record, as it does while a
    busy machine writes more, lets a person choose among those that match."""
    page.get_by_text(way, exact=True).click()
    page.get_by_role("textbox").fill(value)
    press_when_ready(page, "Trace record")
    found = page.get_by_role("status").filter(has_text=f"{NAME}.orders/2:")
    match = page.get_by_role("button", name=f"Trace {NAME}.orders/2:")
    expect(found.or_(match).first).to_be_visible(timeout=LONG_MS)
    if match.count():
        match.click()
    expect(found).to_be_visible(timeout=LONG_MS)
    return found


def test_a_record_that_arrived_one_that_was_filtered_and_a_dead_letter_are_traced(
    browser: Browser, people: Stack, marked: dict[str, str]
) -> None:
    with logged_in(browser, people, f"/pipelines/{NAME}/trace") as page:
        settle(page, NAME)
        timeline = page.get_by_role("list", name="Timeline")
        outcome = traced(page, "Key", "delivered")
        expect(outcome).to_have_text(f"{marked['delivered']}: orders.clean Delivered (found in the sink)")
        expect(timeline).to_contain_text(re.compile("Batch [0-9,]+ of run 1, revision 1"))
        expect(timeline).to_contain_text(re.compile(rf"Found at {NAME}\.clean/[0-9]:[0-9]+"))
        assert violations(page) == []
        stands_on_a_phone(page)

        page.reload()
        outcome = traced(page, "Place", marked["filtered"])
        expect(outcome).to_contain_text(f"orders.clean Filtered by {NOISE} (evaluated again, not recorded)")
        expect(timeline).to_contain_text("# marked noise")
        assert violations(page) == []

        page.reload()
        outcome = traced(page, "Place", marked["dead"])
        expect(outcome).to_contain_text(f"orders.clean Dead letter by {CAST} (proved by the ledger)")
        assert violations(page) == []
        timeline.get_by_role("link", name="Dead letter").click()
        expect(page).to_have_url(re.compile("/dead-letters.*component="))
        expect(page.get_by_role("table", name=re.compile("Dead letters")).get_by_text(CAST).first).to_be_visible()


def test_the_page_says_that_nothing_is_delivered_and_what_takes_the_records(
    browser: Browser, people: Stack, proved: Stream
) -> None:
    limits = ("--pipeline", NAME, "--records", "100", "--seconds", "20")
    code, said = command_line.headgate(people.url, people.token, "alerts", "rules", "set", "output", *limits)
    assert code == 0, said
    proved.producer.stop()
    noise = quiet_producer(proved)

    def is_unusual() -> bool:
        for _ in range(200):
            noise.produce(proved.demo.source, b"# keep-alive")
        assert noise.flush(60) == 0
        conditions = proved.installation.api.get(f"/pipelines/{NAME}/status")["conditions"]
        return any(each["type"] == "Output" and each["status"] == "False" for each in conditions)

    wait_for(is_unusual, WITHIN, "the output is unusual")  # it is checked once a minute
    with logged_in(browser, people, f"/pipelines/{NAME}") as page:
        settle(page, NAME)
        note = page.get_by_role("alert").filter(has_text="The output is unusual")
        expect(note).to_contain_text("Nothing was delivered in")
        expect(note).to_contain_text(f"{NOISE} filtered")
        expect(page.get_by_role("list", name="Conditions")).to_contain_text("Output unusual")
        assert violations(page) == []
        note.get_by_role("link", name="ledger").click()
        expect(page).to_have_url(re.compile(f"/pipelines/{NAME}/ledger"))
