"""What `headgate setup` and `make setup` do, each part idempotent: it returns what it found or did in a few words.

Each part runs in a process of its own, mostly to find that nothing is to do, so it imports what it needs when it runs.
"""

from __future__ import annotations

import shutil
import sys

from controlplane.install.tools import apt
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.java import Java, check_modules, find_java
from controlplane.provision.steps import Step

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def provision(*arguments: str) -> tuple[str, ...]:
    """The command that runs one part."""
    return (sys.executable, "-m", "controlplane.provision", *arguments)


AGENTS = (
    Step("java", provision("java")),
    Step("jars", provision("jars"), needs=("java",)),
    Step("agent module", provision("module"), needs=("jars",)),
)
"""What agents cannot start without."""
HOST = (
    *AGENTS,
    Step("start-up archive", provision("archive"), needs=("agent module",)),
    Step("redis", provision("redis")),
)
"""What a machine needs beside the installed wheel."""
SETUP = (
    *HOST,
    Step("dashboard packages", provision("packages")),
    Step("dashboard", provision("page"), needs=("dashboard packages",)),
)
"""What a checkout needs."""


def java() -> str:
    found = _find_or_install_java()
    check_modules(found)
    return f"Java {found.feature} at {found.executable}"


def jars() -> str:
    from controlplane.install.tools.jars import KAFKA_BROKER, SPARK_KAFKA, ensure

    found = find_java()
    fetched = sum(ensure(name, found) for name in (SPARK_KAFKA, KAFKA_BROKER))
    return f"{fetched} downloaded, checksums right" if fetched else "all there, checksums right"


def module() -> str:
    from controlplane.provision.module import ensure

    return "compiled" if ensure(find_java()) else "compiled from these sources"


def archive() -> str:
    from controlplane.provision.archive import ensure

    return "built" if ensure(find_java()) else "fits this Java and these jars"


def redis() -> str:
    from controlplane.install.tools.redis import server_binary

    return str(server_binary())


def packages() -> str:
    from controlplane.install.tools.frontend import ensure_dependencies
    from controlplane.install.tools.node import find_node

    return "installed" if ensure_dependencies(find_node()) else "unchanged"


def page() -> str:
    from controlplane.install.tools.frontend import ensure_build
    from controlplane.install.tools.node import find_node

    return "built" if ensure_build(find_node()) else "unchanged"


def found_browser() -> str | None:
    """The Chromium on PATH."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def browser() -> str:
    found = found_browser()
    if found:
        return found
    if not apt.can_install():
        raise SetupError(
            "The end-to-end tests need Chromium, and there is none on PATH.",
            "Debian and Ubuntu: sudo apt-get install -y chromium",
        )
    apt.install("chromium", "chromium-browser")
    return str(found_browser())


def postgres() -> str:
    from controlplane.install.tools.postgres import ensure

    return ensure()


def _find_or_install_java() -> Java:
    try:
        return find_java()
    except SetupError:
        if not apt.can_install():
            raise
    apt.install("openjdk-17-jre-headless", "openjdk-21-jre-headless")
    return find_java()
