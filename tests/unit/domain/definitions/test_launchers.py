"""Launchers: what a definition may ask of a Spark cluster, and what is packed for its executors."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.parts.launchers import SparkLauncher
from tests.unit.definitions import changed
from workers.agent.base.findings import Refused
from workers.agent.graph.component import Place
from workers.agent.spark import cluster, parcel

MASTER = "spark://spark.internal:7077"


def findings(launcher: Any, **more: Any) -> dict[str, str]:
    """Path and code of each finding."""
    validation = validate_data(changed({"placement/launcher": launcher, **more}))
    return {finding.path.removeprefix("placement.launcher"): finding.code for finding in validation.findings}


@pytest.mark.parametrize("master", [MASTER, "spark://a:1,b:2", "k8s://https://10.0.0.1:6443", "yarn", "${env:MASTER}"])
def test_masters_of_clusters_are_taken(master: str) -> None:
    assert not [code for code in findings({"type": "spark", "master": master}).values() if code == "bad_master"]


@pytest.mark.parametrize("master", ["local[2]", "spark://a", "mesos://a:1", "k8s://a b", "http://a:1", ""])
def test_other_masters_are_refused(master: str) -> None:
    assert findings({"type": "spark", "master": master})[".master"] == "bad_master"


@pytest.mark.parametrize(
    ("launcher", "path", "code"),
    [
        ({"type": "spark"}, ".master", "missing_key"),
        ({"type": "cluster"}, ".type", "unknown_type"),
        ({"type": ["spark"]}, ".type", "unknown_type"),
        ("spark", "", "wrong_type"),
        ({"type": "spark", "master": MASTER, "cores": 3}, ".cores", "unknown_key"),
        ({"type": "spark", "master": MASTER, "executors": {"count": 0}}, ".executors.count", "out_of_range"),
        ({"type": "spark", "master": MASTER, "cluster_secret": "x" * 20}, ".cluster_secret", "literal_secret"),
        ({"type": "spark", "master": MASTER}, ".cluster_secret", "secrets_in_the_clear"),
    ],
)
def test_what_is_wrong_with_a_launcher_is_said_at_its_place(launcher: Any, path: str, code: str) -> None:
    assert findings(launcher)[path] == code


@pytest.mark.parametrize(
    "name",
    [
        "spark.executor.extraJavaOptions",
        "spark.jars",
        "spark.task.maxFailures",
        "spark.authenticate.secret",
        "spark.speculation",
        "spark.kubernetes.executor.podTemplateFile",
        "spark.master",
        "spark.kubernetes.executor.volumes.hostPath.x.mount.path",
        "spark.driver.extraClassPath",
        "spark.nonsense",
    ],
)
def test_settings_that_load_code_or_open_files_or_break_the_books_are_refused(name: str) -> None:
    found = findings({"type": "spark", "master": MASTER, "conf": {name: "x"}})
    assert found[f'.conf["{name}"]'] == "forbidden_option"


def test_files_of_the_owning_host_need_storage_that_executors_share() -> None:
    more = {"channels": {"lake": {"type": "file"}}}
    spark = {"type": "spark", "master": MASTER}
    assert findings(spark, **more)["channels.lake.type"] == "needs_shared_storage"
    assert "channels.lake.type" not in findings({**spark, "storage": "/mnt/headgate"}, **more)


def test_a_secret_switches_authentication_and_encryption_on_and_no_setting_switches_the_books_off() -> None:
    conf = {"spark.locality.wait": "0s"}
    launcher = SparkLauncher(type="spark", master=MASTER, cluster_secret="s" * 16, conf=conf, driver_port=35000)
    found = cluster.settings(launcher, ["a.jar", "b.jar"])
    assert found["spark.authenticate"] == found["spark.network.crypto.enabled"] == "true"
    assert found["spark.authenticate.secret"] == "s" * 16
    assert found["spark.jars"] == "a.jar,b.jar"
    assert found["spark.locality.wait"] == "0s"
    assert (found["spark.task.maxFailures"], found["spark.speculation"]) == ("1", "false")
    assert found["spark.driver.blockManager.port"] == "35001"
    assert "spark.authenticate" not in cluster.settings(SparkLauncher(type="spark", master=MASTER), [])
    assert cluster.settings(SparkLauncher(type="spark", master="yarn"), [])["spark.authenticate.secret"] is None


def test_the_examples_of_the_page_are_valid() -> None:
    page = (Path(__file__).parents[4] / "docs" / "guides" / "spark-clusters.md").read_text()
    examples = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.+?)```", page, re.DOTALL)]
    assert len(examples) == 2
    for example in examples:
        assert not [path for path in findings(example["placement"]["launcher"]) if path.startswith(".")]


def test_executors_get_this_version_of_headgate_and_of_the_interceptors(tmp_path: Path) -> None:
    with ZipFile(parcel.pack(tmp_path / parcel.ARCHIVE, ["tests", "no_such_package"])) as archive:
        names = set(archive.namelist())
    assert {
        "workers/__init__.py",
        "workers/agent/spark/executors.py",
        "pipelines/domain/definitions/document/spec.py",
    } <= names
    assert "tests/agent/interceptors.py" in names
    assert not any(name.startswith(("workers/supervisor", "pipelines/models")) for name in names)


def test_whatever_the_agents_code_imports_of_the_project_is_in_the_archive(tmp_path: Path) -> None:
    with ZipFile(parcel.pack(tmp_path / parcel.ARCHIVE, [])) as archive:
        sources = {name: archive.read(name).decode() for name in archive.namelist()}
    packed = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in sources}
    wanted = {
        f"{node.module}.{alias.name}" if node.module in {"workers", "workers.agent"} else node.module
        for source in sources.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(("workers", "pipelines"))
        for alias in node.names
    }
    assert wanted - packed == set()


class Context:
    """A Spark context that knows its driver and so many executors."""

    def __init__(self, executors: int) -> None:
        self._jsc = self
        self.known = [object()] * (1 + executors)

    def sc(self) -> Context:
        return self

    def statusTracker(self) -> Context:  # noqa: N802 - Spark's name
        return self

    def getExecutorInfos(self) -> list[object]:  # noqa: N802 - Spark's name
        return self.known


def test_executors_that_do_not_come_in_time_are_counted_and_the_driver_is_none_of_them() -> None:
    executors = {"count": 3, "cores": 2, "memory": "700m"}
    spec = SparkLauncher.model_validate(
        {"type": "spark", "master": "k8s://https://c", "executors": executors, "slots_timeout": 0.001}
    )
    part = cluster.SparkCluster(spec, Place("orders", 1, cluster.PATH), 1, [], [])
    context: Any = Context(2)
    with pytest.raises(Refused, match="2 of 3 executors with 2 cores and 700m"):
        part._wait_for_executors(context)
    context.known.append(object())
    part._wait_for_executors(context)
