"""`python -m tests.supply.sbom FILE`: every package and jar that the locks name, as CycloneDX 1.5 in JSON.

uv and npm describe what they have locked, from their locks alone; jars come from `jars.lock.json`. `scope` says what a
component is for: `required` runs in production, `optional` with an extra or with the embedded broker, `excluded` builds
and tests. The same locks give the same file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from controlplane.install.tools import jars
from controlplane.install.tools.node import find_node
from controlplane.install.tools.paths import PROJECT

SPEC_VERSION = "1.5"
UV = Path(sys.executable).parent / "uv"
TIMEOUT = 120.0
JAR_SETS = {jars.SPARK_KAFKA: "required", jars.KAFKA_BROKER: "optional"}
Part = dict[str, Any]


def bill() -> Part:
    """The whole bill of materials."""
    listed = [*_python(), *_javascript(), *_jars()]
    components = sorted((part for part, _ in listed), key=lambda part: str(part["bom-ref"]))
    depends = sorted(
        ({"ref": part["bom-ref"], "dependsOn": on} for part, on in listed if on), key=lambda row: row["ref"]
    )
    root = {"type": "application", "bom-ref": "headgate", "name": "headgate", "version": version("headgate")}
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": depends,
    }
    return {**made, "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(made, sort_keys=True))}"}


def _python() -> Iterable[tuple[Part, list[str]]]:
    """What uv.lock names, with the hashes of every file of it."""
    needed = {part["purl"] for part in _exported("--no-dev")["components"]}
    extras = {part["purl"] for part in _exported("--no-dev", "--all-extras")["components"]}
    everything = _exported("--all-extras", "--all-groups")
    for part, on in _by_purl(everything):
        purl = part["purl"]
        yield part | {"scope": "required" if purl in needed else "optional" if purl in extras else "excluded"}, on


def _exported(*what: str) -> Part:
    return _printed(UV, "export", "--quiet", "--frozen", "--format", "cyclonedx1.5", "--no-emit-project", *what)


def _javascript() -> Iterable[tuple[Part, list[str]]]:
    """What package-lock.json names. The dashboard is built from it, so its packages are in what users run."""
    npm = find_node().directory / "npm"
    command = ("sbom", "--package-lock-only", "--sbom-format", "cyclonedx", "--offline", "--loglevel", "error")
    for part, on in _by_purl(_printed(npm, *command, cwd=PROJECT / "frontend")):
        marks = {mark["name"] for mark in part.pop("properties", [])}
        yield part | {"scope": "excluded" if "cdx:npm:package:development" in marks else "required"}, on


def _jars() -> Iterable[tuple[Part, list[str]]]:
    """What `jars.lock.json` names. A jar of both sets is required."""
    found: dict[str, Part] = {}
    for name, scope in sorted(JAR_SETS.items(), key=lambda each: each[1] == "required"):
        found |= {jar.coordinates: _jar(jar, scope) for jar in jars.locked(name)}
    return [(part, []) for part in found.values()]


def _jar(jar: jars.Jar, scope: str) -> Part:
    group, artifact, version = jar.coordinates.split(":")
    purl = f"pkg:maven/{group}/{artifact}@{version}?type=jar"
    return {
        "type": "library",
        "bom-ref": purl,
        "group": group,
        "name": artifact,
        "version": version,
        "purl": purl,
        "scope": scope,
        "hashes": [{"alg": "SHA-256", "content": jar.sha256}],
    }


def _by_purl(document: Part) -> Iterable[tuple[Part, list[str]]]:
    """Each component of a tool's document with what it depends on, both by package URL."""
    purls = {part["bom-ref"]: part["purl"] for part in document["components"]}
    depends = {row["ref"]: row.get("dependsOn", []) for row in document["dependencies"]}
    for part in document["components"]:
        on = sorted({purls[ref] for ref in depends.get(part["bom-ref"], []) if ref in purls})
        yield part | {"bom-ref": part["purl"]}, on


def _printed(*command: str | Path, cwd: Path = PROJECT) -> Part:
    """The document that a tool prints. Raises CalledProcessError."""
    argv = [str(each) for each in command]
    printed = subprocess.run(argv, cwd=cwd, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    found: Part = json.loads(printed.stdout)
    return found


def main(arguments: list[str]) -> int:
    """Write the bill."""
    (file,) = map(Path, arguments)
    made = bill()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(made, indent=1) + "\n")
    print(f"{file}: {len(made['components'])} components")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
