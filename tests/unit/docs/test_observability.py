"""Rules, dashboard and example of a scrape fit what `/metrics` exposes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.domain.base.states import DesiredState, MigrationStage, Phase
from pipelines.domain.monitoring.metrics import METRICS
from tests.unit.docs.promql import named, unknown

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "observability"
RULES = FOLDER / "prometheus-rules.yaml"
SCRAPE = FOLDER / "prometheus.yaml"
DASHBOARD = FOLDER / "grafana-dashboard.json"
RULE_TESTS = Path(__file__).with_name("prometheus_rules_test.yaml")
SERIES = {name: labels for metric in METRICS for name, labels in metric.series.items()}
STATES: dict[str, set[str]] = {
    "phase": set(Phase),
    "desired_state": set(DesiredState),
    "stage": set(MigrationStage),
}
MATCHED = re.compile(r'(phase|desired_state|stage)(?:=~|!~|!=|=)"([^"]*)"')
LABEL = re.compile(r"\$labels\.([a-z_]+)")
LEGEND = re.compile(r"\{\{([^}]*)\}\}")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    yield from ((rule["alert"], rule["expr"]) for rule in rules())
    for panel in panels():
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            name, label = variable["query"]["query"].removeprefix("label_values(").rstrip(")").split(", ")
            yield variable["name"], f"sum by ({label}) ({name})"


EXPRESSIONS = dict(expressions())


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_names_only_what_is_exposed(expression: str) -> None:
    assert named(expression).selected
    assert unknown(expression, SERIES) == []
    for label, values in MATCHED.findall(expression):
        assert set(values.split("|")) <= STATES[label], expression


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_is_promql(expression: str) -> None:
    parser = pytest.importorskip("promql_parser")
    parser.parse(expression.replace("$__rate_interval", "5m"))


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("headgate_redis_up", []),
        ("headgate_redis_down == 0", ["headgate_redis_down"]),
        ('headgate_pipeline_phase{phase="RUNNING", job="x"} == 1', []),
        ('headgate_pipeline_phase{partition="1"}', ["headgate_pipeline_phase{partition}"]),
        ("sum by (pipeline, run) (headgate_pipeline_findings)", ["by run"]),
        ("max(headgate_pipeline_findings) without (instance)", []),
        ("headgate_redis_up and on (host) headgate_host_slots", []),
        ("headgate_redis_up and on (topic) headgate_host_slots", ["by topic"]),
        ("rate(headgate_channel_records_read[5m])", ["headgate_channel_records_read"]),
        ("histogram_quantile(0.9, sum by (le) (rate(headgate_channel_batch_duration_seconds_bucket[5m])))", []),
        ("sum by (le) (headgate_channel_batch_duration_seconds_count)", ["by le"]),
        ("up == 0 or headgate_redis_up offset 5m > bool 1e3", ["up"]),
    ],
)
def test_names_that_are_not_exposed_are_found(expression: str, wrong: list[str]) -> None:
    assert unknown(expression, SERIES) == wrong


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(ValueError, match="no token"):
        named("sum(headgate_redis_up) ; 1")


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_a_rule_is_whole(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Headgate[A-Z][A-Za-z]+", rule["alert"])
    assert re.fullmatch(r"[1-9][0-9]*[smh]", rule.get("for", "1m"))
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert set(rule["annotations"]) == {"summary", "description"}
    texts = " ".join(rule["annotations"].values())
    kept = {label for labels in re.findall(r"by \(([^)]*)\)", rule["expr"]) for label in labels.split(", ")}
    assert set(LABEL.findall(texts)) <= kept


def test_each_rule_has_a_name_of_its_own() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))


def test_each_rule_has_a_case_in_which_it_fires() -> None:
    cases = [case for test in yaml.safe_load(RULE_TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == {rule["alert"] for rule in rules()}


def test_the_example_of_a_scrape_asks_for_the_metrics_with_a_token() -> None:
    config = yaml.safe_load(SCRAPE.read_text())
    (job,) = config["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert job["authorization"]["type"] == "Token"
    assert config["rule_files"] == [RULES.name]


def test_panels_have_places_of_their_own_and_legends_of_labels_that_are_kept() -> None:
    places = [panel["gridPos"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    ids = [panel["id"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels():
        for target in panel["targets"]:
            kept = re.search(r"by \(([^)]*)\)", target["expr"])
            labels = set(LEGEND.findall(target.get("legendFormat", "")))
            assert labels <= set(kept[1].split(", ") if kept else ()), panel["title"]


def promtool(*arguments: str, cwd: Path) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (Debian: apt install prometheus)"
)
def test_prometheus_accepts_the_rules_and_they_fire_when_they_should(tmp_path: Path) -> None:
    for path in (RULES, SCRAPE, RULE_TESTS):
        shutil.copy(path, tmp_path)
    (tmp_path / "headgate.token").write_text("hg_token")
    promtool("check", "rules", RULES.name, cwd=tmp_path)
    promtool("check", "config", SCRAPE.name, cwd=tmp_path)
    promtool("test", "rules", RULE_TESTS.name, cwd=tmp_path)
