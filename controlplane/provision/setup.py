"""The steps of `make setup`, each idempotent, printed with what it found or did and how long that took."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from controlplane.devstack.redis import server_binary
from controlplane.provision import apt, archive, frontend, jars
from controlplane.provision import postgres as postgresql
from controlplane.provision.errors import SetupError
from controlplane.provision.java import Java, check_modules, find_java
from controlplane.provision.node import find_node

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def setup() -> None:
    """Make this machine able to run Headgate. Raises SetupError at the first step that cannot be done."""
    runtime()
    step("redis", lambda: str(server_binary()))
    step("dashboard packages", lambda: "installed" if frontend.ensure_dependencies(find_node()) else "unchanged")
    step("dashboard", lambda: "built" if frontend.ensure_build(find_node()) else "unchanged")


def runtime() -> None:
    """What agents need: Java, jars and the start-up archive. Raises SetupError."""
    step("java", _java)
    step("jars", _jars)
    step("start-up archive", lambda: "built" if archive.ensure(find_java()) else "fits this Java and these jars")


def browser() -> None:
    """A Chromium for the end-to-end tests. Raises SetupError when there is none and none can be installed."""
    step("browser", _browser)


def postgres() -> None:
    """A PostgreSQL server for the tests. Raises SetupError when there is none and none can be installed."""
    step("postgres", postgresql.ensure)


def step(name: str, action: Callable[[], str]) -> None:
    print(f"  {name:<20}", end="", flush=True)
    started = time.monotonic()
    try:
        outcome = action()
    except SetupError:
        print("failed", flush=True)
        raise
    print(f"{outcome}  ({time.monotonic() - started:.1f} s)", flush=True)


def _java() -> str:
    java = _find_or_install_java()
    check_modules(java)
    return f"Java {java.feature} at {java.executable}"


def _find_or_install_java() -> Java:
    try:
        return find_java()
    except SetupError:
        if not apt.can_install():
            raise
    apt.install("openjdk-17-jre-headless", "openjdk-21-jre-headless")
    return find_java()


def _jars() -> str:
    java = find_java()
    fetched = sum(jars.ensure(name, java) for name in (jars.SPARK_KAFKA, jars.KAFKA_BROKER))
    return f"{fetched} downloaded, checksums right" if fetched else "all there, checksums right"


def _browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found:
        return found
    if not apt.can_install():
        raise SetupError(
            "The end-to-end tests need Chromium, and there is none on PATH.",
            "Debian and Ubuntu: sudo apt-get install -y chromium",
        )
    apt.install("chromium", "chromium-browser")
    return str(shutil.which("chromium") or shutil.which("chromium-browser"))
