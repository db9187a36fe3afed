"""The editor of definitions by keyboard alone: the form and the text are equal, and axe finds nothing in either."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Stack
from tests.e2e.page import in_every_theme, logged_in, violations
from tests.e2e.test_page_accessibility import settle
from tests.e2e.test_page_with_content import filled


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A web server without workers."""
    with filled(tmp_path_factory.mktemp("editor"), 1) as stack:
        yield stack


def test_a_definition_is_edited_by_keyboard_in_form_and_text(browser: Browser, web: Stack) -> None:
    with logged_in(browser, web, "/pipelines/new") as page:
        settle(page, "New pipeline")
        form = page.get_by_role("region", name="Form of the pipeline")
        text = page.get_by_role("textbox", name="Definition", exact=True)
        expect(form.get_by_role("textbox", name="Name", exact=True).first).to_be_visible()
        assert in_every_theme(page) == []

        press(form.get_by_role("button", name="Add channel"), "Enter")
        expect(form.get_by_role("menu")).to_be_visible()
        assert violations(page) == []
        press(form.get_by_role("menuitem", name="Memory"), "Enter")
        name = page.locator(":focus")
        expect(name).to_have_value("channel")
        name.press("ControlOrMeta+a")
        name.press_sequentially("side")
        expect(text).to_contain_text("side:")
        assert written(text)["channels"]["side"] == {"type": "memory"}
        comments = [line for line in lines(text) if line.strip().startswith("#")]

        findings = page.get_by_role("region", name="Findings")
        press(findings.get_by_role("button", name="Show in form channels.side").first, "Enter")
        expect(form.get_by_role("button", name="side memory")).to_be_focused()
        press(findings.get_by_role("button", name="channels.side", exact=True).first, "Enter")
        expect(text).to_be_focused()
        assert page.evaluate("getSelection().toString()") == "side"
        assert in_every_theme(page) == []

        press(form.get_by_role("button", name="Remove side"), "Enter")
        expect(text).not_to_contain_text("side:")
        assert [line for line in lines(text) if line.strip().startswith("#")] == comments

        text.press("ControlOrMeta+End")
        text.press_sequentially("deli")
        page.get_by_role("option", name="delivery").wait_for()
        page.wait_for_timeout(100)  # a completion that has just opened takes no key, so that none is taken by mistake
        text.press("Enter")
        expect(text).to_contain_text("delivery:")
        text.press_sequentially("[")
        text.press("Delete")  # the bracket that the editor has closed
        expect(form.get_by_role("status")).to_contain_text("The YAML cannot be read")
        assert in_every_theme(page) == []


def press(button: Locator, key: str) -> None:
    """Press a key on a button."""
    button.focus()
    button.press(key)


def lines(text: Locator) -> list[str]:
    """The lines of the editor."""
    return [str(line.inner_text()).rstrip("\n") for line in text.locator(".cm-line").all()]


def written(text: Locator) -> dict[str, dict[str, object]]:
    """What the text says."""
    return dict(yaml.safe_load("\n".join(lines(text))))


def test_on_a_narrow_window_a_switch_shows_one_of_both(browser: Browser, web: Stack) -> None:
    with logged_in(browser, web, "/pipelines/new") as page:
        page.set_viewport_size({"width": 390, "height": 844})
        settle(page, "New pipeline")
        form = page.get_by_role("region", name="Form of the pipeline")
        text = page.get_by_role("textbox", name="Definition", exact=True)
        expect(form).to_be_visible()
        expect(text).to_be_hidden()
        switched(page, "YAML")
        expect(text).to_be_visible()
        expect(form).to_be_hidden()


def switched(page: Page, side: str) -> None:
    """Choose a side by keyboard."""
    page.get_by_role("radio", name=side).focus()
    page.keyboard.press("Space")
