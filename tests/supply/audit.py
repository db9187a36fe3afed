"""`python -m tests.supply.audit [DIRECTORY]`: what a directory of advisories says of the locked packages and jars.

DIRECTORY has advisories in the format of OSV, as JSON or YAML, in any layout: a checkout of an advisory database. The
network is not used. Exit codes: 0, everything was checked and nothing found; 1, found; 3, something was not checked.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from tests.supply.sbom import bill
from tests.supply.versions import KEYS, Key

ECOSYSTEMS = {"pypi": "PyPI", "npm": "npm", "maven": "Maven"}
FRESH = timedelta(days=30)
FOUND, NOT_CHECKED = 1, 3
PURL = re.compile(r"pkg:(\w+)/([^@?]+)@([^?]+)")
Packages = dict[tuple[str, str], set[str]]
"""Locked versions, by ecosystem and name."""


@dataclass(frozen=True)
class Finding:
    """An advisory about a version that is locked."""

    purl: str
    advisory: str
    summary: str

    def __str__(self) -> str:
        return f"{self.purl}: {self.advisory} {self.summary}".rstrip()


@dataclass(frozen=True)
class Audit:
    """`not_checked`: why the answer is not complete, one reason each."""

    findings: list[Finding]
    not_checked: list[str]

    @property
    def code(self) -> int:
        """The exit code."""
        return FOUND if self.findings else NOT_CHECKED if self.not_checked else 0


def locked() -> Packages:
    """What the list of components names."""
    found: Packages = {}
    for part in bill()["components"]:
        kind, name, version = PURL.match(part["purl"]).groups()  # type: ignore[union-attr]
        found.setdefault((ECOSYSTEMS[kind], _name(kind, unquote(name))), set()).add(unquote(version))
    return found


def _name(kind: str, name: str) -> str:
    if kind == "maven":
        return name.replace("/", ":")
    return re.sub(r"[-_.]+", "-", name).lower() if kind == "pypi" else name


def audit(directory: Path | None, packages: Packages, now: datetime) -> Audit:
    """Compare the locked packages with every advisory of the directory."""
    findings, not_checked = [], []
    newest: dict[str, datetime] = {}
    for file in sorted(directory.rglob("*")) if directory else []:
        try:
            for record in _records(file):
                findings += list(_of_record(record, packages, newest))
        except (ValueError, TypeError, KeyError, AttributeError, OSError, yaml.YAMLError) as error:
            not_checked.append(f"{file}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    not_checked += [reason for each in ECOSYSTEMS.values() if (reason := _gap(each, packages, newest.get(each), now))]
    return Audit(sorted(set(findings), key=str), not_checked)


def _gap(ecosystem: str, packages: Packages, newest: datetime | None, now: datetime) -> str:
    """Why what is known of an ecosystem is not enough; empty where it is."""
    count = sum(1 for known, _ in packages if known == ecosystem)
    if newest is None:
        return f"{count} packages of {ecosystem}: there are no advisories about {ecosystem}."
    if now - newest > FRESH:
        return f"{count} packages of {ecosystem}: the newest advisory is of {newest:%Y-%m-%d}, later ones are unknown."
    return ""


def _records(file: Path) -> Iterator[dict[str, Any]]:
    """The advisory of a file; other files have none."""
    read: dict[str, Callable[[str], Any]] = {".json": json.loads, ".yaml": _yaml, ".yml": _yaml}
    if file.suffix in read and file.is_file():
        content = read[file.suffix](file.read_text())
        if isinstance(content, dict) and "affected" in content and "withdrawn" not in content:
            yield content


def _yaml(text: str) -> Any:
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader


def _of_record(record: dict[str, Any], packages: Packages, newest: dict[str, datetime]) -> Iterator[Finding]:
    at = _instant(record["modified"])
    for affected in record["affected"]:
        package = affected.get("package") or {}
        ecosystem = str(package.get("ecosystem", "")).partition(":")[0]
        if ecosystem not in KEYS:
            continue
        newest[ecosystem] = max(at, newest.get(ecosystem, at))
        kind = next(kind for kind, name in ECOSYSTEMS.items() if name == ecosystem)
        name = package["name"] if kind == "maven" else _name(kind, package["name"])
        for version in sorted(packages.get((ecosystem, name), ())):
            if _is_affected(version, affected, KEYS[ecosystem]):
                yield Finding(f"pkg:{kind}/{name}@{version}", record["id"], record.get("summary", ""))


def _instant(value: str | datetime) -> datetime:
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _is_affected(version: str, affected: dict[str, Any], key: Key) -> bool:
    ranges = [each["events"] for each in affected.get("ranges") or [] if each["type"] != "GIT"]
    return version in (affected.get("versions") or []) or any(_is_within(version, each, key) for each in ranges)


def _is_within(version: str, events: Iterable[dict[str, str]], key: Key) -> bool:
    """Whether the last event up to the version is one that brought the fault."""
    wanted = (True, key(version))
    within = False
    for at, kind in sorted((_place(str(at), key), kind) for each in events for kind, at in each.items()):
        if kind == "introduced":
            within = within or at <= wanted
        elif kind == "last_affected":
            within = within and wanted <= at
        else:  # fixed, and the limit of a branch
            within = within and wanted < at
    return within


def _place(at: str, key: Key) -> tuple[bool, Any]:
    return (False, ()) if at == "0" else (True, key(at))


def main(arguments: list[str]) -> int:
    """Print what was found, and what was not checked."""
    directory = Path(arguments[0]) if arguments else None
    found = audit(directory, locked(), datetime.now(UTC))
    for each in found.findings:
        print(f"found        {each}")
    for reason in found.not_checked:
        print(f"not checked  {reason}")
    if found.not_checked:
        print("Give a recent checkout of advisories in OSV's format: make audit-dependencies ADVISORIES=DIRECTORY")
    if not found.code:
        print("Everything was checked, and nothing found.")
    return found.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
