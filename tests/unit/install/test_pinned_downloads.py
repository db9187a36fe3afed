"""Whatever set-up and builds download is known by its hash before."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from controlplane.install.tools.jars import read_lock
from controlplane.install.tools.paths import PROJECT

PROVISION = PROJECT / "controlplane" / "provision"


def requirements(name: str) -> dict[str, list[str]]:
    """The hashes of each requirement of a file of pip."""
    lines = (PROVISION / name).read_text().replace("\\\n", " ").splitlines()
    return {line.split()[0]: re.findall(r"--hash=(\S+)", line) for line in lines if line.strip()}


@pytest.mark.parametrize("name", ["uv.txt", "build.txt"])
def test_tools_of_the_set_up_have_hashes(name: str) -> None:
    for requirement, hashes in requirements(name).items():
        assert re.fullmatch(r"[\w.-]+==[\w.]+", requirement)
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes)


def test_the_build_backend_is_the_one_of_the_hashes() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert set(project["build-system"]["requires"]) <= set(requirements("build.txt"))


@pytest.mark.parametrize("file", ["Dockerfile", "controlplane/provision/bootstrap.sh", "Makefile"])
def test_pip_and_uv_ask_for_hashes(file: str) -> None:
    for line in re.findall(r"^.*(?:pip install|uv build).*$", (PROJECT / file).read_text(), re.MULTILINE):
        assert "--require-hashes" in line
    for line in re.findall(r"^.*uv sync.*$", (PROJECT / file).read_text(), re.MULTILINE):
        assert "--frozen" in line


def test_every_python_package_has_hashes() -> None:
    for package in tomllib.loads((PROJECT / "uv.lock").read_text())["package"]:
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        assert files or "editable" in package["source"]
        assert all(file["hash"].startswith("sha256:") for file in files)


def test_every_package_of_the_dashboard_has_a_hash() -> None:
    packages = json.loads((PROJECT / "frontend" / "package-lock.json").read_text())["packages"]
    for place, package in packages.items():
        assert not place or package["integrity"].startswith("sha512-"), place


def test_the_dashboard_is_installed_from_its_lock() -> None:
    assert "npm ci" in (PROJECT / "Dockerfile").read_text()
    assert "npm install" not in (PROJECT / "Dockerfile").read_text()


def test_every_jar_has_a_hash() -> None:
    for each in read_lock().values():
        assert all(re.fullmatch("[0-9a-f]{64}", jar["sha256"]) for jar in each["jars"])
