"""The examples of the documentation give what it says: each runs through the code that agents run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from controlplane import environment
from controlplane.environment import Environment
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.foundation.interceptors import allowed_interceptors
from pipelines.foundation.rehearsal import rehearse
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Topics
from workers.agent.startup.rehearse import Request, Sample, result

DOCS = Path(__file__).resolve().parents[2] / "docs"
CASES = sorted((DOCS / "reference" / "components" / "examples").glob("*.events.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.partition(".")[0])
def test_a_component_does_what_its_page_says(
    case: Path, session: SparkSession, spark_settings: SparkSettings, tmp_path: Path
) -> None:
    written = json.loads(case.read_text())
    data = yaml.safe_load((case.parent / case.name.replace(".events.json", ".yaml")).read_text())
    definition = Definition.model_validate(data)
    (source,) = definition.sources
    request = Request(definition=data, events=[Sample(**event) for event in written["events"]], spark=spark_settings)
    assert result(session, definition, source, request, tmp_path) == written["expect"]


def block(language: str, beginning: str) -> str:
    """The first block of code of the page about Python interceptors that begins so."""
    page = (DOCS / "guides" / "python-interceptors.md").read_text()
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    return next(code for code in found if code.startswith(beginning))


def test_the_python_interceptor_of_the_documentation_does_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "orders.py").write_text(block("python", "import json"))
    source: dict[str, Any] = {
        "type": "kafka",
        "bootstrap_servers": "broker:9092",
        "topics": ["orders"],
        "group_id": "g",
        "start_from": "earliest",
        **yaml.safe_load(block("yaml", "interceptors")),
    }
    definition = {
        "api_version": "headgate/v1",
        "name": "orders",
        "sources": {"shop": source},
        "channels": {"lake": {"type": "memory"}},
        "sinks": {"log": {"type": "logger", "channel": "lake"}},
    }
    bodies = [{"n": 1}, {"n": 2, "test": True}, {"n": 3, "items": ["a", "b"]}]
    events = [{"body": json.dumps(body)} for body in bodies] + [{"body": "no order"}]
    allowed = frozenset({"acme.orders:Enrich"})
    found = rehearse(
        definition, events, source=None, interceptors=allowed, interceptor_path=[str(tmp_path)], seconds=120
    )
    assert [json.loads(event["body"]) for event in found["channels"]["lake"]] == [
        {"n": 1, "country": "CZ"},
        {"n": 3, "country": "CZ", "item": "a"},
        {"n": 3, "country": "CZ", "item": "b"},
    ]
    assert {event["headers"]["country"] for event in found["channels"]["lake"]} == {"CZ"}
    assert found["filtered"] == 1
    (letter,) = found["dead_letters"]
    assert (letter["event"]["body"], letter["component"]) == ("no order", "sources.shop.interceptors[0]")


def settings_of_the_page(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """What the page has a user export, with a directory of the test in place of its own."""
    exported = re.findall(r"^export (\w+)=(\S+)$", block("sh", "install"), re.MULTILINE)
    for name, value in exported:
        monkeypatch.setenv(name, value.replace("/etc/headgate/interceptors", str(directory)))
    assert len(exported) == 2
    return environment.load()


def values_of(topics: Topics) -> list[bytes]:
    return [message.value() or b"" for message in topics.messages(topics.sink)]


def test_an_agent_runs_the_interceptor_from_the_directory_that_the_documentation_sets_up(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "interceptors"
    host = settings_of_the_page(directory, monkeypatch)
    pipeline = make_pipeline(source=yaml.safe_load(block("yaml", "interceptors")))
    pipeline.interceptors = sorted(allowed_interceptors(host.interceptors))
    pipeline.interceptor_path = host.interceptor_path
    producer = Producer({"bootstrap.servers": topics.servers})
    for number in range(5):
        producer.produce(topics.source, json.dumps({"n": number}).encode(), partition=0)
    assert producer.flush(20) == 0

    directory.mkdir(mode=0o755)
    run = pipeline.start_refused()
    run.wait_exit()
    assert run.status is not None
    (finding,) = run.status.findings
    assert finding.code == "INTERCEPTOR_NOT_FOUND"
    assert "There is no module acme." in finding.message
    assert str(directory) in finding.message

    (directory / "acme").mkdir(mode=0o755)
    (directory / "acme" / "orders.py").write_text(block("python", "import json"))
    pipeline.start().wait_delivered(5)
    assert {json.loads(value)["country"] for value in values_of(topics)} == {"CZ"}
