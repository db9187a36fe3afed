"""A registry that cannot be understood is a finding with what to do, and nothing is read or skipped until then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.definitions.components.source.spooldir import SpooldirSource
from pipelines.domain.definitions.components.source.taildir import TaildirSource
from workers.agent.base.findings import Refused
from workers.agent.components.source import spooldir, taildir
from workers.agent.graph.component import Place, SourceBuilder


def place(tmp_path: Path) -> Place:
    return Place("orders", 1, "sources.logs", state=tmp_path / "state")


def tailing(tmp_path: Path) -> SourceBuilder:
    groups = {"g": {"directory": str(tmp_path / "logs"), "pattern": ".*"}}
    return taildir.Builder(TaildirSource.model_validate({"type": "taildir", "file_groups": groups}), place(tmp_path))


def spooling(tmp_path: Path) -> SourceBuilder:
    keys = {"type": "spooldir", "directory": str(tmp_path / "logs")}
    return spooldir.Builder(SpooldirSource.model_validate(keys), place(tmp_path))


@pytest.fixture(params=[tailing, spooling])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path]:
    """How a builder is made, and the registry that one of them has left."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("one\ntwo\n")
    request.param(tmp_path).log_ranges()
    return request.param, tmp_path / "state" / "files" / "logs.json"


def without(written: Any, key: str) -> Any:
    """The same, with one key left out wherever it stands."""
    if isinstance(written, dict):
        return {name: without(each, key) for name, each in written.items() if name != key}
    return [without(each, key) for each in written] if isinstance(written, list) else written


def refused_with(builder: SourceBuilder, step: str) -> str:
    with pytest.raises(Refused) as caught:
        getattr(builder, step)()
    (finding,) = caught.value.findings
    assert (finding.path, finding.code, finding.retryable) == ("sources.logs", "REGISTRY_DAMAGED", False)
    assert "headgate positions plan" in finding.suggestion
    return finding.message


@pytest.mark.parametrize("step", ["probe", "log_ranges"])
@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff\xfe\x00", b"null", b"[]", b"7", b'{"g": {}}', b'{"g": null}', b'{"g": {"files": []}}'],
)
def test_what_is_no_registry_is_told_with_its_path(
    registry: tuple[Any, Path], tmp_path: Path, text: bytes, step: str
) -> None:
    make, path = registry
    path.write_bytes(text)
    assert str(path) in refused_with(make(tmp_path), step)
    assert path.read_bytes() == text


def test_a_field_that_is_missing_is_named_and_never_taken_for_zero(registry: tuple[Any, Path], tmp_path: Path) -> None:
    make, path = registry
    whole = json.loads(path.read_bytes())
    keys = {"files", "base", "end", "size", "past", "head", "crc", "copies", "pending", "kept", "inode", "changed_ns"}
    for key in sorted(keys):
        damaged = without(whole, key)
        if damaged == whole:
            continue
        path.write_text(json.dumps(damaged))
        assert f"'{key}' is missing" in refused_with(make(tmp_path), "probe")


@pytest.mark.parametrize("value", ["12", None, 1.5, -7, [], True])
def test_a_value_of_another_kind_is_damage(registry: tuple[Any, Path], tmp_path: Path, value: Any) -> None:
    make, path = registry
    whole = json.loads(path.read_bytes())
    at = whole["g"]["files"] if "g" in whole else {"0": whole["pending"][0]}
    next(iter(at.values()))["base"] = value
    path.write_text(json.dumps(whole))
    refused_with(make(tmp_path), "probe")


def test_a_registry_that_may_not_be_read_is_told(registry: tuple[Any, Path], tmp_path: Path) -> None:
    make, path = registry
    path.unlink()
    path.mkdir()
    assert "cannot be read" in refused_with(make(tmp_path), "probe")


def test_a_whole_registry_is_accepted(registry: tuple[Any, Path], tmp_path: Path) -> None:
    make, _ = registry
    make(tmp_path).probe()
    (log,) = make(tmp_path).log_ranges().values()
    assert log.end in (8, 9)
