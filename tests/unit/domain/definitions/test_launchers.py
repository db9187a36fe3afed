"""Launchers: what a definition may ask of a Spark cluster, and what is packed for its executors."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from pipelines.domain.definitions.checks.cluster_checks import cluster_findings
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.parts import clusters
from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.definitions.parts.launchers import PlacedLauncher
from tests.unit.definitions import changed
from workers.agent.base.findings import Refused
from workers.agent.graph.component import Place
from workers.agent.spark import cluster, parcel

MASTER = "spark://spark.internal:7077"


def findings(launcher: Any, **more: Any) -> dict[str, str]:
    """Path and code of each finding."""
    validation = validate_data(changed({"placement/launcher": launcher, **more}))
    return {finding.path.removeprefix("placement.launcher"): finding.code for finding in validation.findings}


def placed(master: str) -> PlacedLauncher:
    return PlacedLauncher(type="spark", cluster="a", on=ClusterSpec(master=master))


def of_cluster(spec: dict[str, Any]) -> dict[str, str]:
    """Path and code of each finding about a cluster."""
    return {finding.path: finding.code for finding in cluster_findings(spec)[1]}


@pytest.mark.parametrize("master", [MASTER, "spark://a:1,b:2", "k8s://https://10.0.0.1:6443", "yarn", "${env:MASTER}"])
def test_masters_of_clusters_are_taken(master: str) -> None:
    assert of_cluster({"master": master}) == {}


@pytest.mark.parametrize("master", ["local[2]", "spark://a", "mesos://a:1", "k8s://a b", "http://a:1", ""])
def test_other_masters_are_refused(master: str) -> None:
    assert of_cluster({"master": master}) == {"master": "bad_master"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("master", MASTER),
        ("python", "/tmp/python"),
        ("image", "evil"),
        ("service_account", "admin"),
        ("volumes", {}),
        ("driver_host", "10.0.0.1"),
        ("cluster_secret", "${secret:A}"),
    ],
)
def test_what_belongs_to_a_cluster_is_no_part_of_a_definition(key: str, value: Any) -> None:
    assert findings({"type": "spark", "cluster": "analytics", key: value})[f".{key}"] == "belongs_to_cluster"


@pytest.mark.parametrize("name", [clusters.IMAGE, clusters.SERVICE_ACCOUNT, f"{clusters.VOLUMES}nfs.a.mount.path"])
def test_no_setting_of_a_definition_chooses_what_belongs_to_a_cluster(name: str) -> None:
    found = findings({"type": "spark", "cluster": "analytics", "conf": {name: "x"}})
    assert found[f'.conf["{name}"]'] == "belongs_to_cluster"
    assert of_cluster({"master": MASTER, "conf": {name: "x"}}) == {f'conf["{name}"]': "forbidden_option"}


@pytest.mark.parametrize(
    ("launcher", "path", "code"),
    [
        ({"type": "spark"}, ".cluster", "missing_key"),
        ({"type": "cluster"}, ".type", "unknown_type"),
        ({"type": ["spark"]}, ".type", "unknown_type"),
        ("spark", "", "wrong_type"),
        ({"type": "spark", "cluster": "analytics", "cores": 3}, ".cores", "unknown_key"),
        ({"type": "spark", "cluster": "analytics", "executors": {"count": 0}}, ".executors.count", "out_of_range"),
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
    found = findings({"type": "spark", "cluster": "analytics", "conf": {name: "x"}})
    assert found[f'.conf["{name}"]'] == "forbidden_option"


def test_files_of_the_owning_host_need_storage_that_executors_share() -> None:
    more = {"channels": {"lake": {"type": "file"}}}
    spark = {"type": "spark", "cluster": "analytics"}
    assert findings(spark, **more)["channels.lake.type"] == "needs_shared_storage"
    assert "channels.lake.type" not in findings({**spark, "storage": "/mnt/headgate"}, **more)


def test_a_secret_switches_authentication_and_encryption_on_and_no_setting_switches_the_books_off() -> None:
    conf = {"spark.locality.wait": "0s"}
    on = ClusterSpec(master=MASTER, cluster_secret="s" * 16)
    launcher = PlacedLauncher(type="spark", cluster="a", conf=conf, driver_port=35000, on=on)
    found = cluster.settings(launcher, ["a.jar", "b.jar"])
    assert found["spark.authenticate"] == found["spark.network.crypto.enabled"] == "true"
    assert found["spark.authenticate.secret"] == "s" * 16
    assert found["spark.jars"] == "a.jar,b.jar"
    assert found["spark.locality.wait"] == "0s"
    assert (found["spark.task.maxFailures"], found["spark.speculation"]) == ("1", "false")
    assert found["spark.driver.blockManager.port"] == "35001"
    assert cluster.settings(placed(MASTER), [])["spark.authenticate"] is None
    assert cluster.settings(placed("yarn"), [])["spark.authenticate.secret"] is None


def test_the_examples_of_the_page_are_valid() -> None:
    page = (Path(__file__).parents[4] / "docs" / "guides" / "spark-clusters.md").read_text()
    examples = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.+?)```", page, re.DOTALL)]
    defined = [{key: value for key, value in each.items() if key != "name"} for each in examples if "master" in each]
    placed = [each["placement"]["launcher"] for each in examples if "placement" in each]
    assert (len(defined), len(placed)) == (2, 2)
    assert [of_cluster(spec) for spec in defined] == [{}, {}]
    assert [path for launcher in placed for path in findings(launcher) if path.startswith(".")] == []


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
    shape = {"type": "spark", "cluster": "c", "executors": executors, "slots_timeout": 0.001}
    spec = PlacedLauncher.model_validate({**shape, "on": {"master": "k8s://https://c"}})
    part = cluster.SparkCluster(spec, Place("orders", 1, cluster.PATH), 1, [], [])
    context: Any = Context(2)
    with pytest.raises(Refused, match="2 of 3 executors with 2 cores and 700m"):
        part._wait_for_executors(context)
    context.known.append(object())
    part._wait_for_executors(context)
