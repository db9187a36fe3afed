"""The Java that runs Spark and the embedded Kafka broker."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from controlplane.install.tools.errors import SETUP_HINT, SetupError

MINIMUM = 17
VECTOR_MODULE = "jdk.incubator.vector"
INSTALL_HINT = (
    "Debian and Ubuntu: sudo apt-get install -y openjdk-17-jre-headless || "
    "sudo apt-get install -y openjdk-21-jre-headless\n"
    f"  or point JAVA_HOME at a Java 17 or newer. {SETUP_HINT}"
)
_HOME = re.compile(r"^ *java\.home = (.+?) *$", re.MULTILINE)
_MODE = re.compile(r", [^,()]*\bmode\b[^()]*(?=\))")
"""How it compiles and what it shares, which follow from its flags."""
_VERSION = re.compile(r'version "(?P<first>\d+)(?:\.(?P<second>\d+))?')


@dataclass(frozen=True)
class Java:
    """An executable, its feature version (17, 21, ...), and what identifies the JVM, whatever link or script starts it:
    what `java -version` says, and the directory that it calls its home."""

    executable: Path
    feature: int
    banner: str
    home: str = ""


def feature_version(banner: str) -> int:
    """The feature version in the output of `java -version`; 8 for "1.8.0_402". Raises ValueError."""
    match = _VERSION.search(banner)
    if match is None:
        raise ValueError(f"no version in {banner!r}")
    first = int(match["first"])
    return int(match["second"]) if first == 1 and match["second"] else first


def find_java() -> Java:
    """The Java of `JAVA_HOME`, else of `PATH`. Raises SetupError when it is missing, older than 17 or incomplete."""
    java = _identify(_executable())
    if java.feature < MINIMUM:
        raise SetupError(
            f"Java {java.feature} at {java.executable} is too old: Spark needs Java {MINIMUM} or newer.", INSTALL_HINT
        )
    return java


def check_modules(java: Java) -> None:
    """Raise SetupError when the runtime was stripped of the incubator module that Spark's columns use."""
    probe = _run(java.executable, "--add-modules", VECTOR_MODULE, "-version")
    if probe.returncode != 0:
        raise SetupError(
            f"The Java at {java.executable} has no module {VECTOR_MODULE}, which Spark needs.", INSTALL_HINT
        )


def _executable() -> Path:
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    if found is None:
        raise SetupError("Java was not found: JAVA_HOME is not set and there is no `java` on PATH.", INSTALL_HINT)
    executable = Path(found)
    if not os.access(executable, os.X_OK):
        raise SetupError(f"JAVA_HOME is {home}, and there is no Java at {executable}.", INSTALL_HINT)
    return executable


def _identify(executable: Path) -> Java:
    result = _run(executable, "-XshowSettings:properties", "-version")
    said = result.stderr + result.stdout
    try:
        feature = feature_version(said)
    except ValueError as error:
        raise SetupError(
            f"{executable} -version did not report its version: {said.strip()[:300]}", INSTALL_HINT
        ) from error
    home = _HOME.search(said)
    return Java(executable, feature, _banner(said), home[1] if home else "")


def _banner(said: str) -> str:
    """What follows the properties: the version, and the lines behind it, without what follows from flags."""
    version = _VERSION.search(said)
    return _MODE.sub("", said[said.rfind("\n", 0, version.start()) + 1 if version else 0 :].strip())


def _run(executable: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([str(executable), *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{executable} does not run: {error}", INSTALL_HINT) from error
