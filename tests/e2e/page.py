"""The page as a test sees it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import cycle
from typing import Any, Literal

import httpx2
from playwright.sync_api import Browser, Locator, Page, expect
from playwright.sync_api import TimeoutError as TookTooLong

from tests.chaos.extent import WHOLE, some
from tests.e2e.conftest import Stack
from tests.e2e.test_demo_stack import PROJECT

AXE = PROJECT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
# Beyond WCAG 2.2 AA also axe's advice, so that landmarks and headings stay in order.
_RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
_OF_COLOURS = ["color-contrast", "link-in-text-block"]
EVERYTHING: dict[str, Any] = {"runOnly": _RULES}
COLOURS: dict[str, Any] = {"runOnly": {"type": "rule", "values": _OF_COLOURS}}
ALL_BUT_COLOURS: dict[str, Any] = {"runOnly": _RULES, "rules": {rule: {"enabled": False} for rule in _OF_COLOURS}}
_RUN = """async rules => {
    const { violations } = await axe.run(document, { ...rules, resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => [id, nodes.map(node => node.target)])
}"""
"""Nobody reads what holds: axe keeps no more than one element of it."""
SLOW_MS = 60_000
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""After these a colour is the new one: even a change without a transition takes one."""
Scheme = Literal["light", "dark"]
Look = tuple[int, Scheme, dict[str, Any]]
LARGEST_AND_SMALLEST: list[Look] = (
    [(1440, "dark", COLOURS), (390, "light", EVERYTHING), (1440, "light", EVERYTHING)]
    if WHOLE
    else [(1440, "dark", EVERYTHING), (390, "light", EVERYTHING)]
)
"""Widths of the window and schemes of colours, with what axe looks for: rules of colours once in each scheme, the
others once in each width. Enough for dialogs and menus, which have one form on every window wider than they are."""
BETWEEN: list[Look] = [(1024, "dark", ALL_BUT_COLOURS), (768, "light", ALL_BUT_COLOURS)]
_OF_PAGES = cycle(
    [[*BETWEEN, *LARGEST_AND_SMALLEST]] if WHOLE else [[*some(BETWEEN, 2), *LARGEST_AND_SMALLEST], LARGEST_AND_SMALLEST]
)
"""Of one page after the other: in the short selection every other one is seen in a width between those, too."""
QUICK_MS = 5_000
SETTLES_MS = 1_000


@contextmanager
def opened(browser: Browser, stack: Stack, path: str = "/", scheme: Scheme = "light") -> Iterator[Page]:
    """A page of a new visitor; any error that its scripts raise or log fails the test."""
    context = browser.new_context(
        base_url=stack.url,
        color_scheme=scheme,
        reduced_motion="reduce",  # what is half faded in has no contrast yet
        viewport={"width": 1440, "height": 900},
    )
    page = context.new_page()
    page.set_default_timeout(30_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path)
    yield page
    context.close()
    assert errors == []


@contextmanager
def logged_in(browser: Browser, stack: Stack, path: str = "/", scheme: Scheme = "light") -> Iterator[Page]:
    """The page after the login, at the address that was asked for."""
    with opened(browser, stack, path, scheme) as page:
        log_in(page, stack)
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        yield page


def log_in(page: Page, stack: Stack, password: str | None = None) -> None:
    """Fill the login and send it."""
    page.get_by_label("User name").fill(stack.user)
    page.get_by_role("textbox", name="Password").fill(password or stack.password)
    page.get_by_role("button", name="Log in").click()


def phase(page: Page) -> Locator:
    """The badge beside the name of a pipeline."""
    return page.get_by_test_id("phase")


def wait_for_phase(page: Page, word: str) -> None:
    """Wait until the badge says so."""
    expect(phase(page)).to_have_text(word, timeout=SLOW_MS)


def figure(page: Page, label: str) -> int:
    """A figure of the strip at the top, as a number, as soon as it is known."""
    shown = stat(page, label)
    expect(shown).to_have_text(re.compile(r"^[0-9]"))
    return int(re.sub(r"[^0-9]", "", shown.inner_text().split("\n")[0]))


def stat(page: Page, label: str) -> Locator:
    """The value of one figure."""
    return page.locator("dl > div", has=page.get_by_text(label, exact=True)).locator("dd")


def wait_until_above(page: Page, label: str, value: int) -> None:
    """Wait until a figure is larger than a value."""
    page.wait_for_function(
        """([label, value]) => {
            const name = [...document.querySelectorAll('dt')].find(each => each.textContent === label)
            const digits = name?.nextElementSibling.firstElementChild.textContent.replace(/[^0-9]/g, '')
            return Boolean(digits) && Number(digits) > value
        }""",
        arg=[label, value],
        timeout=SLOW_MS,
    )


def positions(page: Page) -> list[str]:
    """The next offset of every partition, as shown."""
    shown = page.get_by_role("table", name=re.compile("^Positions of")).locator("tbody tr > td:nth-child(3)")
    return [re.sub(r"[^0-9]", "", text) for text in shown.all_inner_texts()]


def next_offsets(stack: Stack, pipeline: str) -> list[str]:
    """The same, as the API has it."""
    answer = httpx2.get(
        f"{stack.url}/api/v1/pipelines/{pipeline}/status", headers={"Authorization": f"Token {stack.token}"}, timeout=60
    )
    queries = answer.raise_for_status().json()["queries"]
    return [str(place["next_offset"]) for query in queries for place in query["positions"]]


def wait_until(page: Page, condition: Callable[[], bool], what: str) -> None:
    """Look again and again, while the page goes on."""
    deadline = time.monotonic() + SLOW_MS / 1000
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        page.wait_for_timeout(100)


def in_every_theme(page: Page, looks: Sequence[Look] = ()) -> list[str]:
    """What is wrong with a page that stands, in each of the looks, or in those whose turn it is: what axe finds, and
    whether it scrolls sideways. Nothing is loaded again, and the page stands as a new one afterwards."""
    found = []
    for width, scheme, rules in looks or next(_OF_PAGES):
        look_at(page, width, scheme)
        found += [f"{width}, {scheme}: {each}" for each in (*_lasting(page, rules), *too_wide(page))]
    look_at(page, 1440, "light")
    return found


def look_at(page: Page, width: int, scheme: Scheme) -> None:
    """Show the page in this width and scheme."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
    page.evaluate(TWO_FRAMES)


def _lasting(page: Page, rules: dict[str, Any]) -> list[str]:
    """What axe finds twice: on a busy machine colours follow the scheme a moment later."""
    found = violations(page, rules)
    if found:
        page.wait_for_timeout(SETTLES_MS)
        found = [each for each in violations(page, rules) if each in found]
    return found


def violations(page: Page, rules: dict[str, Any] = EVERYTHING) -> list[str]:
    """What axe finds, one line each."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_axe())
    found: list[tuple[str, Any]] = page.evaluate(_RUN, rules)
    return [f"{rule}: {targets}" for rule, targets in found]


@cache
def _axe() -> str:
    return AXE.read_text()


def too_wide(page: Page) -> list[str]:
    """Charts follow the window a moment later."""
    try:
        page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth", timeout=QUICK_MS)
    except TookTooLong:
        return ["it scrolls sideways"]
    return []
