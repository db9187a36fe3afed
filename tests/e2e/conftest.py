"""The whole stack and a real browser, for tests that use Headgate as a person does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from controlplane.provision.setup import BROWSERS
from tests.e2e.test_demo_stack import PROJECT, READY, environment, up

expect.set_options(timeout=30_000)  # the machine may be busy
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass(frozen=True)
class Stack:
    """A running demo stack: the pipeline `demo`, fed with 1,000 records a second, and its administrator."""

    url: str
    user: str
    password: str
    token: str


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for the session, on free ports and in a state directory of its own."""
    state = tmp_path_factory.mktemp("page") / "state"
    with up(state, "--demo") as running:
        running.says(READY, timeout=240)
        password = re.search(r"password +(\S+)", running.output)
        assert password is not None, running.output[-3000:]
        yield Stack(f"http://127.0.0.1:{running.web}", "admin", password[1], _token(state))


def _token(state: Path) -> str:
    argv = [sys.executable, "manage.py", "create_token", "admin"]
    done = subprocess.run(argv, cwd=PROJECT, env=environment(state), capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium; a browser that a test tool brings along is not needed."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    assert path is not None, "No Chromium on PATH; `make test` installs one on Debian."
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=120_000)
        yield started
        started.close()
