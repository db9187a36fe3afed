"""The archive of a diagnostic bundle: bounded, and its manifest says what was cut."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime
from typing import Any

from pipelines.domain.diagnostics.archive import Archive

AT = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)


def read(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
        assert {each.external_attr >> 16 for each in archive.infolist()} == {0o600}
    return json.loads(files.pop("manifest.json")), files


def test_the_same_parts_make_the_same_archive() -> None:
    def made() -> bytes:
        archive = Archive(AT)
        archive.add_document("a.json", {"x": 1})
        archive.leave_out("b.json", "forbidden", "Not yours.")
        return archive.finish({"format": "f"})

    manifest, files = read(made())
    assert made() == made()
    assert files == {"a.json": b'{\n "x": 1\n}\n'}
    assert manifest == {
        "format": "f",
        "parts": [{"name": "a.json", "bytes": 12, "cut": ""}],
        "left_out": [{"name": "b.json", "code": "forbidden", "reason": "Not yours."}],
    }


def test_of_a_text_that_is_too_long_the_end_is_kept_in_whole_lines() -> None:
    archive = Archive(AT, part_limit=100)
    archive.add_text("log", "".join(f"line {number}\n" for number in range(1000)))
    manifest, files = read(archive.finish({}))
    assert len(files["log"]) <= 100
    assert files["log"].startswith(b"line ")
    assert files["log"].endswith(b"line 999\n")
    assert manifest["parts"][0]["cut"] == f"The last {len(files['log'])} of 8890 bytes."


def test_of_a_list_that_is_too_long_the_first_rows_are_kept() -> None:
    archive = Archive(AT, part_limit=1000)
    archive.add_document("rows.json", {"results": [{"number": number} for number in range(200)], "next": None})
    archive.add_document("more.json", {"results": [1, 2], "next": "cursor"})
    manifest, files = read(archive.finish({}))
    kept = len(json.loads(files["rows.json"])["results"])
    assert 0 < kept < 200
    assert manifest["parts"][0]["cut"] == f"The first {kept} of 200 rows."
    assert manifest["parts"][1]["cut"] == "The first 2 rows; there are more."


def test_all_parts_together_are_bounded() -> None:
    archive = Archive(AT, limit=1000)
    archive.add_text("a.log", "x" * 600 + "\n")
    archive.add_text("b.log", "y\n" * 600)
    archive.add_document("c.json", {"text": "z" * 600})
    manifest, files = read(archive.finish({}))
    assert sum(map(len, files.values())) <= 1000
    assert [each["name"] for each in manifest["left_out"]] == ["c.json"]
    assert manifest["left_out"][0]["code"] == "bundle_full"
