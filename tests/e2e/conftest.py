"""The whole stack and a real browser, for tests that use Headgate as a person does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from controlplane.provision.setup import found_browser
from tests.chaos.installation import Installation
from tests.chaos.stream import Stream, streaming

expect.set_options(timeout=30_000)  # the machine may be busy
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass(frozen=True)
class Stack:
    """Where a web server is, and its administrator."""

    url: str
    user: str
    password: str
    token: str


@pytest.fixture(scope="session")
def people(installation: Installation) -> Stack:
    """The shared stack for those who come with a name and a password."""
    password = re.search(r"password +(\S+)", installation.log.read_text())
    assert password is not None
    return Stack(installation.url, "admin", password[1], installation.token)


@pytest.fixture(scope="session")
def demo(installation: Installation) -> Iterator[Stream]:
    with streaming(installation, name="demo") as flowing:
        flowing.watch.end()  # nobody looks for two agents of it
        yield flowing


@pytest.fixture(scope="module")
def stack(people: Stack, demo: Stream) -> Iterator[Stack]:
    """The same with the pipeline `demo` alone, fed with 500 records a second; between two modules it rests."""
    demo.installation.rest(but=demo.demo.name)
    demo.flow()
    yield people
    demo.producer.stop()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; a browser that a test tool brings along is not needed."""
    path = found_browser()
    assert path is not None, "No Chromium on PATH; `make test` installs one on Debian."
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=120_000)
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for a module: while Playwright runs, Django refuses its database to all tests of the same process."""
    with chromium() as started:
        yield started
