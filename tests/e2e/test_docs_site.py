"""The documentation's site as a reader has it: built without a warning, searchable, with nothing from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipelines.api.http.middleware import CONTENT_SECURITY_POLICY

PROJECT = Path(__file__).resolve().parents[2]


class Files(SimpleHTTPRequestHandler):
    """Files under the policy of the web server; `tests/db/test_pages.py` has the server's own view of them."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make docs` builds; strict, so that a warning ends it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site on a port of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that fails the test for a complaint of the browser, and for a request to another server."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(address) else complaints.append(request.url))
    yield page
    context.close()
    assert complaints == []


@pytest.mark.parametrize("path", ["", "get-started/demo/", "concepts/migration/", "reference/components/source_kafka/"])
def test_a_page_needs_nothing_from_elsewhere(page: Page, address: str, path: str) -> None:
    page.goto(f"{address}/{path}", wait_until="networkidle")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    images = page.locator("article img").evaluate_all("all => all.map(each => each.naturalWidth)")
    assert 0 not in images


def test_the_search_finds_a_page_by_a_word_in_it(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".md-search-result__meta")).to_have_text("Type to start searching")  # its index is loaded
    page.get_by_role("textbox", name="Search").press_sequentially("standby")
    found = page.locator(".md-search-result__item a")
    expect(found.first).to_be_visible()
    found.first.click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_the_colours_follow_the_reader(page: Page, address: str) -> None:
    page.goto(address)
    before = page.locator("body").get_attribute("data-md-color-scheme")
    page.locator("label[for=__palette_1]").click()
    after = page.locator("body").get_attribute("data-md-color-scheme")
    assert {before, after} == {"default", "slate"}
    page.goto(f"{address}/concepts/gate/")
    assert page.locator("body").get_attribute("data-md-color-scheme") == after
