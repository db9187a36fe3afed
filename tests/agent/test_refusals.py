"""What keeps an agent from starting: zero records are read, and every reason is named."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain.base.states import AgentPhase, Command
from pipelines.domain.ledger.journal import Done, Planned
from pipelines.domain.runs.protocol import AgentFinding, Exit
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline
from tests.agent.topics import Topics


def refused(pipeline: Pipeline, code: Exit) -> dict[str, AgentFinding]:
    """Start; the run must end with `code` and without a batch. Returns its findings by code."""
    run = pipeline.start_refused()
    assert run.wait_exit().exit_code == code
    assert not run.of_kind(Planned)
    status = run.status
    assert status is not None
    assert status.phase is AgentPhase.FAILED
    return {finding.code: finding for finding in status.findings}


def test_everything_that_is_wrong_is_found_at_once(topics: Topics, make_pipeline: MakePipeline, tmp_path: Path) -> None:
    pipeline = make_pipeline(source={"topics": [topics.source, "nobody-made-this"]})
    (tmp_path / "file").touch()
    below_a_file = str(tmp_path / "file" / "lake")
    pipeline.definition["sinks"]["lake"] = {"type": "file", "channel": "lake", "path": below_a_file}
    pipeline.definition["channels"]["away"] = {"type": "direct"}
    pipeline.definition["sinks"]["away"] = {
        "type": "kafka",
        "channel": "away",
        "bootstrap_servers": "127.0.0.1:1",
        "topic": "t",
    }
    topics.produce(10)
    findings = refused(pipeline, Exit.INIT_FAILED)
    assert findings.keys() == {"TOPIC_MISSING", "DIRECTORY_UNWRITABLE", "BROKER_UNREACHABLE"}
    assert "nobody-made-this" in findings["TOPIC_MISSING"].message
    assert findings["TOPIC_MISSING"].path == "sources.shop"
    assert findings["DIRECTORY_UNWRITABLE"].path == "sinks.lake.path"
    assert findings["BROKER_UNREACHABLE"].retryable
    assert not findings["TOPIC_MISSING"].retryable
    run = pipeline.current
    assert run is not None
    assert run.status is not None
    states = {component.name: component.state for component in run.status.components}
    assert states["sources.shop"] == states["sinks.lake"] == states["sinks.away"] == "failed"


def test_records_that_retention_takes_during_a_pause_block_the_resume(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.produce(1000)
    pipeline = make_pipeline()
    run = pipeline.start()
    run.wait_delivered(1000)
    run.obey(Command.PAUSE)
    topics.produce(400)
    topics.trim(partition=2, before=320)
    run.order(Command.RUN)
    assert run.wait_exit().exit_code == Exit.PREFLIGHT_BLOCKED
    assert sum(planned.bound for planned in run.of_kind(Planned)) == 1000
    assert run.status is not None
    (finding,) = run.status.findings
    assert finding.code == "BELOW_LOG_START"
    assert "70 records" in finding.message

    finding = refused(pipeline, Exit.PREFLIGHT_BLOCKED)["BELOW_LOG_START"]
    assert "70 records" in finding.message
    assert f"{topics.source}/2" in finding.message


def test_a_launch_that_makes_no_sense_has_an_exit_of_its_own(make_pipeline: MakePipeline, tmp_path: Path) -> None:
    pipeline = make_pipeline()
    run = pipeline.prepare(spark=pipeline.no_jvm)
    launch = run.dir / "launch.json"
    launch.write_text(launch.read_text().replace('"headgate/v1"', '"headgate/v9"'))
    assert run.start().wait_exit().exit_code == Exit.BAD_LAUNCH
    assert not run.of_kind(Done)
