"""Sample events through interceptors and selector, by the code that agents run, in a process that ends with the answer.

The request is one JSON object: `definition`, `events`, `source` (where there are several), and what
the host has: `spark`, `interceptors`, `seconds`. The answer is one JSON object on standard output: `result`, or
`findings`. Needs no broker, reads no source, writes to no sink and resolves no reference.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.outcomes import Content, EventResult, Outcome
from pipelines.domain.runs.protocol import AgentFinding, SparkSettings
from workers.agent.base.event import Event
from workers.agent.base.findings import Refused, blocked_by
from workers.agent.evaluation.given import Record, given, topic_of
from workers.agent.evaluation.outcomes import evaluation
from workers.agent.graph import compile as compiler
from workers.agent.spark import jvm
from workers.agent.spark import session as sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CORES = 1
_HEAP = "512m"


class Sample(BaseModel):
    """An event: `headers`, and the body as text or in base64."""

    model_config = ConfigDict(extra="forbid", strict=True)

    headers: dict[str, str] = {}
    body: str | None = None
    body_base64: str | None = None

    @model_validator(mode="after")
    def _one_body(self) -> Sample:
        if (self.body is None) == (self.body_base64 is None):
            raise ValueError("an event has either body or body_base64")
        self.content()
        return self

    def content(self) -> bytes:
        """The body's bytes. Raises ValueError where it is no base64."""
        if self.body_base64 is not None:
            return base64.b64decode(self.body_base64, validate=True)
        return (self.body or "").encode()


class Request(BaseModel):
    """What is to be rehearsed."""

    model_config = ConfigDict(extra="forbid")

    definition: dict[str, Any]
    events: list[Sample]
    source: str | None = None
    spark: SparkSettings
    interceptors: list[str] = []
    interceptor_path: list[str] = []
    seconds: float = Field(default=60, gt=0)


def result(session: SparkSession, definition: Definition, source: str, request: Request, tmp: Path) -> dict[str, Any]:
    """What becomes of the events. Raises Refused, or whatever a batch fails with."""
    classes, directories = frozenset(request.interceptors), request.interceptor_path
    graph = compiler.build(definition, lineage=1, state=tmp, classes=classes, directories=directories)
    made = evaluation(session, graph, source)
    records = [Record(sample.content(), sample.headers) for sample in request.events]
    frame = given(session, topic_of(definition, source), records)
    event = Event(key=frame["key"], body=frame["value"], carried=frame["headers"])
    return _sorted_out(made.outcomes(frame, event), definition.targets(source))


def _sorted_out(outcomes: list[Outcome], channels: list[str]) -> dict[str, Any]:
    delivered: dict[str, list[Any]] = {name: [] for name in channels}
    unrouted, dead, filtered = [], [], 0
    for each in outcomes:
        filtered += each.result is EventResult.FILTERED
        if each.result is EventResult.UNROUTED:
            unrouted.append(_shown(each.content))
        if each.result is EventResult.DEAD_LETTERED:
            dead.append({"event": _shown(each.content), "component": each.component, "cause": each.cause})
        for name in each.channels:
            delivered[name].append(_shown(each.content))
    return {"channels": delivered, "filtered": filtered, "unrouted": unrouted, "dead_letters": dead}


def _shown(content: Content) -> dict[str, Any]:
    headers: dict[str, str] = {}
    for name, value in content.headers:
        headers.setdefault(name, value.decode(errors="replace"))
    try:
        return {"headers": headers, "body": content.body.decode()}
    except UnicodeDecodeError:
        return {"headers": headers, "body_base64": base64.b64encode(content.body).decode()}


def answer(text: bytes) -> dict[str, Any]:
    """The answer to a request. The process must end after it: what was started is left to that."""
    try:
        request = Request.model_validate_json(text)
        definition = Definition.model_validate(request.definition)
    except ValidationError as error:
        return {"findings": list(_bad(error))}
    signal.setitimer(signal.ITIMER_REAL, request.seconds)  # SIGALRM ends the process
    source = request.source or (next(iter(definition.sources)) if len(definition.sources) == 1 else "")
    if source not in definition.sources:
        known = ", ".join(sorted(definition.sources))
        message = f"Name one of the sources: {known}."
        return _findings(AgentFinding(path="source", code="UNKNOWN_SOURCE", message=message))
    tmp = Path(tempfile.mkdtemp(prefix="headgate-rehearse-"))
    try:
        return _rehearsed(definition, source, request, tmp)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def _rehearsed(definition: Definition, source: str, request: Request, tmp: Path) -> dict[str, Any]:
    spark = request.spark
    argv = jvm.command(spark.classpath, java_home=spark.java_home, heap=_HEAP, archive=spark.archive)
    process = jvm.Jvm(argv, tmp)
    try:
        session = sessions.connect(process, name="rehearsal", cores=_CORES, tmp=tmp)
        return {"result": result(session, definition, source, request, tmp)}
    except Refused as refused:
        return _findings(*refused.findings)
    except Exception as error:
        if blocked := blocked_by(str(error)):
            return _findings(blocked.finding)
        raise
    finally:
        process.stop(5)


def _findings(*findings: AgentFinding) -> dict[str, Any]:
    return {"findings": [finding.model_dump() for finding in findings]}


def _bad(error: ValidationError) -> Iterator[dict[str, Any]]:
    for each in error.errors(include_url=False, include_input=False):
        path = ".".join(map(str, each["loc"]))
        yield AgentFinding(path=path, code="BAD_REQUEST", message=each["msg"]).model_dump()


def main(request: bytes) -> None:
    """Answer a request on what was standard output; what interceptors and Spark print goes to standard error."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    json.dump(answer(request), out, ensure_ascii=False)
    out.flush()
    os._exit(0)  # threads that an interceptor has left behind must not keep the process
