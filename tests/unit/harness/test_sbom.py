"""The list of components: valid, complete, and the same for the same locks."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from controlplane.install.tools.jars import read_lock
from controlplane.install.tools.paths import PROJECT
from tests.supply.sbom import bill


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return bill()


@pytest.fixture(scope="module")
def parts(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {part["purl"]: part for part in made["components"]}


def test_it_is_valid(made: dict[str, Any]) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_5)
    assert validator.validate_str(json.dumps(made)) is None
    made_wrong = made | {"components": [{"type": "library"}]}
    assert validator.validate_str(json.dumps(made_wrong)) is not None


def test_it_is_the_same_each_time(made: dict[str, Any]) -> None:
    assert bill() == made


def test_it_has_what_the_locks_have(parts: dict[str, Any]) -> None:
    def of(kind: str) -> set[str]:
        return {purl.partition("?")[0] for purl in parts if purl.startswith(f"pkg:{kind}/")}

    python = tomllib.loads((PROJECT / "uv.lock").read_text())["package"]
    assert of("pypi") == {f"pkg:pypi/{each['name']}@{each['version']}" for each in python if each["name"] != "headgate"}
    page = json.loads((PROJECT / "frontend" / "package-lock.json").read_text())["packages"]
    names = {(place.rpartition("node_modules/")[2], each["version"]) for place, each in page.items() if place}
    assert of("npm") == {f"pkg:npm/{name.replace('@', '%40')}@{version}" for name, version in names}
    jars = {jar["coordinates"] for each in read_lock().values() for jar in each["jars"]}
    assert of("maven") == {"pkg:maven/{}/{}@{}".format(*jar.split(":")) for jar in jars}


def test_every_component_has_a_hash(parts: dict[str, Any]) -> None:
    for purl, part in parts.items():
        files = [file for file in part.get("externalReferences", []) if file["type"] == "distribution"]
        hashed = [part, *files] if part.get("hashes") else files
        assert hashed, purl
        assert all(each["hashes"] for each in hashed), purl


def test_it_tells_what_runs_from_what_builds_and_tests(parts: dict[str, Any]) -> None:
    scopes = {part["name"]: part["scope"] for part in parts.values()}
    assert {scopes[name] for name in ("django", "pyspark", "react", "spark-sql-kafka-0-10_2.13")} == {"required"}
    assert {scopes[name] for name in ("opentelemetry-sdk", "kafka-raft")} == {"optional"}
    assert {scopes[name] for name in ("pytest", "vite", "cyclonedx-python-lib")} == {"excluded"}


def test_dependencies_name_components(made: dict[str, Any], parts: dict[str, Any]) -> None:
    for row in made["dependencies"]:
        assert {row["ref"], *row["dependsOn"]} <= set(parts)
