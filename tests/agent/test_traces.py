"""The spans of a real agent, from its own journal, and the trace that its log names."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from pipelines.domain.base.states import Command
from pipelines.domain.base.trace_context import TraceContext
from pipelines.domain.monitoring.spans import RunFacts, Subject, agent_spans
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Run
from tests.agent.topics import Topics

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def spans_since(begin: datetime, run: Run) -> dict[str, str]:
    """Names of spans, each with that of its parent."""
    subject = Subject(
        id=UUID(int=7),
        context=TraceContext(TRACE),
        name="operation",
        attributes={},
        request={},
        created=begin,
        begun=begin,
        ended=datetime.now(UTC),
    )
    found = agent_spans(subject, RunFacts(1, "here", "ACTIVE", begin), run.entries())
    names = {span.id: span.name for span in found}
    assert all(begin <= span.start <= span.end for span in found)
    assert not any(span.error for span in found)
    return {span.name: names.get(span.parent, "operation") for span in found}


def test_a_real_start_and_a_real_stop_have_their_spans(topics: Topics, make_pipeline: MakePipeline) -> None:
    topics.produce(100)
    begin = datetime.now(UTC)
    run = make_pipeline().prepare()
    run.order(Command.RUN)
    run.start().wait_delivered(100)
    assert spans_since(begin, run) == {
        "launch agent": "operation",
        "agent start": "operation",
        "preflight sources.shop": "agent start",
        "preflight sources.shop.selector": "agent start",
        "preflight channels.lake": "agent start",
        "preflight sinks.lake": "agent start",
        "preflight errors.dead_letter": "agent start",
        "first batch shop.lake": "agent start",
        "command run": "operation",
    }
    begin = datetime.now(UTC)
    order = Control.load(run.dir / protocol.CONTROL)
    assert order is not None
    traced = {"seq": order.seq + 1, "command": Command.DRAIN_AND_STOP, "traceparent": f"00-{TRACE}-{'1' * 16}-01"}
    order.model_copy(update=traced).store(run.dir / protocol.CONTROL)
    run.wait_exit()
    spans = spans_since(begin, run)
    assert spans == {
        "command drain_and_stop": "operation",
        "drain": "command drain_and_stop",
        "exit": "command drain_and_stop",
    }
    (last,) = [line for line in run.log.splitlines() if ": exit 0" in line]
    assert last.endswith(f" trace_id={TRACE}")
