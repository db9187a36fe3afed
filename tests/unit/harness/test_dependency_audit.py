"""What is found in advisories, and that nothing unread is taken for checked."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.supply.audit import FOUND, NOT_CHECKED, Audit, audit, locked
from tests.supply.versions import KEYS

NOW = datetime(2026, 3, 2, tzinfo=UTC)
PACKAGES = {
    ("PyPI", "django"): {"5.0.6"},
    ("npm", "@scope/page"): {"1.2.3"},
    ("Maven", "org.x:broker"): {"4.1.118.Final"},
}


def advisory(ecosystem: str, name: str, *events: dict[str, str], **more: Any) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    affected = {
        "package": {"ecosystem": ecosystem, "name": name},
        "ranges": ranges,
        "versions": more.pop("versions", []),
    }
    return {"id": "X-1", "modified": (NOW - timedelta(days=1)).isoformat(), "affected": [affected], **more}


FRESH = [advisory(ecosystem, "other", {"introduced": "0"}) for ecosystem in KEYS]


def audited(tmp_path: Path, *records: dict[str, Any]) -> Audit:
    for number, record in enumerate([*FRESH, *records]):
        (tmp_path / f"{number}.json").write_text(json.dumps(record))
    return audit(tmp_path, PACKAGES, NOW)


def test_nothing_is_found_where_everything_was_checked(tmp_path: Path) -> None:
    assert audited(tmp_path) == Audit([], [])
    assert audited(tmp_path).code == 0


def test_an_affected_version_is_found_with_its_advisory(tmp_path: Path) -> None:
    fixed = advisory("PyPI", "Django", {"introduced": "5.0"}, {"fixed": "5.0.7"}, summary="SQL injection")
    listed = advisory("PyPI", "django", id="X-2", versions=["5.0.6"])
    found = audited(tmp_path, fixed, listed)
    assert [str(each) for each in found.findings] == [
        "pkg:pypi/django@5.0.6: X-1 SQL injection",
        "pkg:pypi/django@5.0.6: X-2",
    ]
    assert found.code == FOUND


@pytest.mark.parametrize(
    ("ecosystem", "name", "events", "is_affected"),
    [
        ("PyPI", "django", [{"introduced": "0"}, {"fixed": "5.0.6"}], False),
        ("PyPI", "django", [{"introduced": "0"}, {"last_affected": "5.0.6"}], True),
        ("PyPI", "django", [{"introduced": "0"}, {"last_affected": "5.0.5"}], False),
        (
            "PyPI",
            "django",
            [{"introduced": "4.2"}, {"fixed": "4.2.15"}, {"introduced": "5.0"}, {"fixed": "5.0.8"}],
            True,
        ),
        ("PyPI", "django", [{"fixed": "4.2.15"}, {"introduced": "4.2"}], False),
        ("npm", "@scope/page", [{"introduced": "1.2.3-rc.1"}], True),
        ("npm", "@scope/page", [{"introduced": "1.10.0"}], False),
        ("Maven", "org.x:broker", [{"introduced": "0"}, {"fixed": "4.1.118.Final"}], False),
        ("Maven", "org.x:broker", [{"introduced": "4.1.9.Final"}, {"fixed": "4.1.119.Final"}], True),
    ],
)
def test_ranges_of_versions(
    tmp_path: Path, ecosystem: str, name: str, events: list[dict[str, str]], is_affected: bool
) -> None:
    assert bool(audited(tmp_path, advisory(ecosystem, name, *events)).findings) == is_affected


@pytest.mark.parametrize(
    ("ecosystem", "ordered"),
    [
        ("PyPI", "1.0a1 1.0rc1 1.0 1.0.post1 1.10"),
        ("npm", "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.2.0 1.10.0"),
        ("Maven", "1.0-alpha-1 1.0-beta 1.0-rc1 1.0-SNAPSHOT 1.0 1.0-sp 1.0-jre 1.0.1 1.2 1.10"),
    ],
)
def test_versions_are_ordered_as_their_ecosystem_does(ecosystem: str, ordered: str) -> None:
    versions = ordered.split()
    assert sorted(set(versions), key=KEYS[ecosystem]) == versions


@pytest.mark.parametrize("release", ["1.0", "1.0.0", "1.0.Final", "1.0-GA", "1"])
def test_a_release_of_maven_has_many_names(release: str) -> None:
    assert KEYS["Maven"](release) == KEYS["Maven"]("1.0")


def test_a_withdrawn_advisory_counts_no_more(tmp_path: Path) -> None:
    assert audited(tmp_path, advisory("PyPI", "django", versions=["5.0.6"], withdrawn="2026-01-01")).code == 0


def test_without_advisories_nothing_was_checked(tmp_path: Path) -> None:
    for directory in (None, tmp_path, tmp_path / "absent"):
        found = audit(directory, PACKAGES, NOW)
        assert (found.code, len(found.not_checked)) == (NOT_CHECKED, 3)


def test_old_advisories_are_no_answer(tmp_path: Path) -> None:
    audited(tmp_path)
    found = audit(tmp_path, PACKAGES, NOW + timedelta(days=60))
    assert (found.code, len(found.not_checked)) == (NOT_CHECKED, 3)
    assert "2026-03-01" in found.not_checked[0]


@pytest.mark.parametrize("content", ["{", '{"affected": [{}]}', '{"affected": 1, "modified": "2026-01-01T00:00:00Z"}'])
def test_an_advisory_that_cannot_be_read_was_not_checked(tmp_path: Path, content: str) -> None:
    (tmp_path / "broken.json").write_text(content)
    found = audited(tmp_path)
    assert found.code == NOT_CHECKED
    assert "broken.json" in found.not_checked[0]


def test_yaml_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "id: PYSEC-1\nmodified: 2026-03-01T00:00:00Z\naffected:\n- package: {ecosystem: PyPI, name: django}\n"
        '  versions: ["5.0.6"]\n'
    )
    assert [each.advisory for each in audited(tmp_path).findings] == ["PYSEC-1"]


def test_every_locked_version_can_be_compared() -> None:
    for (ecosystem, name), versions in locked().items():
        for version in versions:
            assert KEYS[ecosystem](version) is not None, (name, version)
