"""Javas for tests: one that does not compile twice what a test runs once, and one that never becomes a JVM."""

from __future__ import annotations

from pathlib import Path

from controlplane.install.tools.java import find_java

_QUICK = "-XX:TieredStopAtLevel=1"
"""The quick compiler alone: no test runs so long that the optimising one would pay, which takes a third of a start."""


def quick_java(home: Path) -> str:
    """A Java home whose JVMs have the quick compiler only; class-data archives of the real one fit them."""
    return _home(home, f'exec "{find_java().executable}" {_QUICK} "$@"')


def no_java(home: Path) -> str:
    """A Java home whose JVMs never come up, and end with their standard input: for agents that refuse to start, which
    they do before they need a session."""
    return _home(home, "exec cat > /dev/null")


def _home(home: Path, script: str) -> str:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return str(home)
