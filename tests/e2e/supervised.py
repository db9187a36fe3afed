"""What supervision asks of people, without one agent: a part for `tests.e2e.fill` each.

`one` adds a pipeline that is blocked by its position, `many` one for each other question and a thousand in all.
`witness` answers for the host alpha whatever is asked about positions, by the code of the worker, until it is ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from pipelines.domain.base.states import (
    DesiredState,
    InspectionState,
    LedgerState,
    OperationKind,
    OperationState,
    Phase,
    RunOutcome,
    RunState,
)
from pipelines.domain.monitoring.lag import PartitionLag
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult, PartitionSurvey, Survey
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import Alert, Host, LagPoint, Pipeline, PositionInspection, Quarantine
from pipelines.selectors.positions.positions import pending_inspections
from pipelines.services.monitoring.lag import measures
from tests.e2e.content import others
from tests.factories import (
    LedgerBatchFactory,
    OperationFactory,
    PipelineFactory,
    PositionFactory,
    RunFactory,
    now,
)
from tests.fakes.surveys import Unhurried
from workers.adapters.secrets import backends
from workers.supervisor.background.surveyor import InspectionContext
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

LOG = {0: (49_414, 61_000), 1: (0, 52_300), 2: (0, 50_100), 3: (0, 48_213)}
"""Start and end of the log by partition."""
NEXT = 48_210
LOST = 49_414 - NEXT
PLACE = {"source": "shop", "channel": "main", "partition": 1}


def one() -> None:
    """`orders`: its position lies before the log; it was killed once, and a range of it was replayed."""
    words = f"orders-in/0: the position {NEXT:,} lies {LOST:,} records before the start of the log."
    pipeline = PipelineFactory.create(
        name="orders",
        phase=Phase.BLOCKED,
        desired_state=DesiredState.RUNNING,
        phase_message=words,
        phase_reason="BELOW_LOG_START",
        findings=[finding("BELOW_LOG_START", words, "sources.shop")],
    )
    for partition in LOG:
        PositionFactory.create(pipeline=pipeline, partition=partition, next_offset=NEXT)
    inspected(pipeline)
    killed(pipeline)
    lag(pipeline)
    replay(pipeline, "SUCCEEDED", start=1_000, end=3_500, done=2_500)
    Alert.objects.create(
        rule="blocked", key="orders", pipeline=pipeline, message=words, opened_at=now(), changed_at=now()
    )


def finding(code: str, message: str, path: str = "") -> dict[str, object]:
    return {"path": path, "code": code, "message": message, "suggestion": "", "severity": "error"}


def inspected(pipeline: Pipeline) -> None:
    """The last look of its host, so that the ways on are known before anybody asks again."""
    PositionInspection.objects.create(
        pipeline=pipeline,
        state=InspectionState.ANSWERED,
        asked_by="ana",
        asked_at=now(),
        deadline=now(),
        answered_at=now(),
        survey=survey(pipeline.name).model_dump(mode="json"),
    )


def survey(pipeline: str) -> Survey:
    rows = [
        PartitionSurvey(
            source="shop",
            channel="main",
            topic=f"{pipeline}-in",
            partition=partition,
            ledger=NEXT,
            checkpoint=NEXT,
            group=NEXT - 10,
            log_start=start,
            log_end=end,
            codes=["BELOW_LOG_START"] if start > NEXT else [],
        )
        for partition, (start, end) in LOG.items()
    ]
    return Survey(at=time.time(), rows=rows)


def killed(pipeline: Pipeline) -> None:
    """Its first run needed the last stage; the dumps name the sink."""
    at = now().timestamp()
    dumps = [
        {
            "stop_stage": stop_stage,
            "number": number,
            "at": at,
            "stuck": ["sinks.out"],
            "silent": [],
            "files": [f"{stop_stage}-jvm.txt"],
        }
        for stop_stage, number in (("INTERRUPT", 1), ("INTERRUPT", 2), ("KILL", 0))
    ]
    RunFactory.create(
        pipeline=pipeline,
        number=1,
        state=RunState.ENDED,
        outcome=RunOutcome.KILLED,
        ended_at=now(),
        stop_stage="KILL",
        exit_reason="The run did not end within cancel_timeout; sinks.out was at work.",
        dumps=dumps,
    )


def lag(pipeline: Pipeline) -> None:
    """An hour of it; partition 0 falls behind."""
    for minute in range(59):
        rows = [
            PartitionLag("shop", "main", "orders-in", partition, NEXT, NEXT + waiting, waiting, waiting / 200)
            for partition in LOG
            for waiting in [(minute * 180 if partition == 0 else 20 + minute % 7)]
        ]
        at = now().replace(second=0, microsecond=0) - timedelta(minutes=58 - minute)
        LagPoint.objects.create(pipeline=pipeline, at=at, step=60, **measures(rows))


def replay(pipeline: Pipeline, state: str, *, start: int, end: int, done: int) -> None:
    asked = {**PLACE, "topic": f"{pipeline.name}-in", "partition": 0, "start": start, "end": end}
    OperationFactory.create(
        pipeline=pipeline,
        kind=OperationKind.REPLAY_RANGE,
        state=state,
        parameters={**asked, "size": 500, "hash": "x"},
        progress={"done": done, "of": end - start, "read": done, "delivered": done, "possible_duplicates": 0},
        ended_at=now() if state == "SUCCEEDED" else None,
    )


def many() -> None:
    """A pipeline for each question, and others in every phase."""
    crashing()
    silent()
    behind()
    stopping()
    pushed()
    others(994)


def crashing() -> None:
    """Three runs in a row crashed at one record."""
    words = (
        "3 runs in a row crashed at the same position: shop.main crashing-in/1 offset 48217. The JVM ended with 134."
    )
    pipeline = PipelineFactory.create(
        name="crashing",
        phase=Phase.FAILED,
        desired_state=DesiredState.RUNNING,
        phase_message=words,
        findings=[finding("CRASH_LOOP", words, "sources.shop")],
    )
    PositionFactory.create(pipeline=pipeline, topic="crashing-in", partition=1, next_offset=48_200)
    ranges = [{"topic": "crashing-in", "partition": 1, "start": 48_200, "end": 48_300}]
    suspects = [{"topic": "crashing-in", "partition": 1, "offset": 48_217}]
    left = [{"source": "shop", "channel": "main", "ranges": ranges, "suspects": suspects}]
    for number in (1, 2, 3):
        run = RunFactory.create(
            pipeline=pipeline,
            number=number,
            state=RunState.ENDED,
            outcome=RunOutcome.CRASHED,
            ended_at=now(),
            exit_code=134,
            exit_reason="The JVM ended with 134.",
            in_flight=left,
        )
    LedgerBatchFactory.create(run=run, state=LedgerState.PLANNED, ranges=ranges, read=0, delivered=0, done_at=None)
    Quarantine.objects.create(
        pipeline=pipeline,
        **PLACE,
        topic="crashing-in",
        start=12,
        end=15,
        cause="Three bytes that no decoder takes.",
        created_at=now() - timedelta(days=1),
        created_by="ana",
    )


def silent() -> None:
    """Its host is silent, and its run may live."""
    pipeline = PipelineFactory.create(
        name="silent",
        phase=Phase.UNKNOWN,
        desired_state=DesiredState.RUNNING,
        phase_reason="host_lost",
        phase_message="bravo is silent; its agent may be alive.",
        host=Host.objects.get(name="bravo"),
    )
    RunFactory.create(pipeline=pipeline, number=4, driver_pid=4711)


def behind() -> None:
    """Its host remembers more than the database."""
    words = (
        "alpha has run 5 that the database does not have. The database is older than the host: was a backup restored?"
    )
    PipelineFactory.create(
        name="behind",
        phase=Phase.BLOCKED,
        desired_state=DesiredState.RUNNING,
        phase_message=words,
        findings=[finding("DATABASE_BEHIND", words)],
    )


def stopping() -> None:
    """A stop that hangs."""
    pipeline = PipelineFactory.create(
        name="stopping", phase=Phase.STOPPING, desired_state=DesiredState.STOPPED, phase_since=now()
    )
    RunFactory.create(pipeline=pipeline, number=2, stop_requested_at=now())
    OperationFactory.create(
        pipeline=pipeline,
        kind=OperationKind.STOP,
        state=OperationState.RUNNING,
        deadline=now() + timedelta(days=1),
        message="sinks.out is at work; interrupted twice.",
    )


def pushed() -> None:
    """Two sources that are pushed to, one of them nearly full; a range is being replayed beside them."""
    pipeline = PipelineFactory.create(name="pushed", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    web = {"source": "web", "taken": 1_204_811, "held": 96_400, "capacity": 100_000, "held_up_by": "sinks.out"}
    ingest_buffers = [
        {**web, "answers": {"200": 12_041, "503": 96}},
        {"source": "commands", "taken": 512, "held": 0, "capacity": 10_000, "failure": "bash: tail: not found"},
    ]
    positions = [{"topic": "pushed-in", "partition": 0, "next_offset": NEXT, "end_offset": NEXT + 40}]
    query = {"source": "web", "channel": "main", "batch": 812, "in_flight": True, "delivered": 1_108_411}
    queries = [{**query, "records_per_second": 830.5, "last_batch_at": time.time(), "positions": positions}]
    components = [{"name": "web", "kind": "source", "type": "http", "state": "ready", "detail": "listens on :8080"}]
    observed = {"at": time.time(), "queries": queries, "components": components, "ingest_buffers": ingest_buffers}
    RunFactory.create(pipeline=pipeline, number=9, observed=observed)
    for partition in range(12):
        PositionFactory.create(pipeline=pipeline, topic="pushed-in", partition=partition, next_offset=NEXT)
    replay(pipeline, "RUNNING", start=1_000, end=9_000, done=2_500)


class Witnesses(Unhurried):
    """What looks find, without a broker."""

    def inspect(self, question: InspectionRequest) -> InspectionResult:
        """The same of whatever pipeline is asked about."""
        return InspectionResult(survey=survey(question.launch["pipeline"]))


class NoSecrets:
    """None of the definitions has a reference."""

    def read(self, names: Any) -> Mapping[str, Any]:
        """Nothing."""
        return {}


def witness() -> None:
    """What the worker of alpha would answer, look by look."""
    references = References(backends({}, None, NoSecrets()))
    launcher = Launcher("alpha", Path("/nowhere"), references, lambda: SparkSettings(classpath=[]))
    context = InspectionContext("alpha", launcher, Witnesses())
    while True:
        for inspection in pending_inspections("alpha"):
            context.take(inspection)
        time.sleep(0.1)


PARTS: dict[str, Callable[[], None]] = {"one": one, "many": many, "witness": witness}
