"""`python -m workers.agent.startup.survey`: look at all positions of a pipeline, as its agent guards them.

The question is one JSON object on standard input, the answer one on standard output. Nothing is started, written or
committed. Bounded by its look-ups; whoever asks has a deadline of his own.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import Definition, Read
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult, Target
from pipelines.domain.runs.protocol import AgentFinding, Launch
from workers.agent.base import masking
from workers.agent.base.findings import Refused
from workers.agent.graph import compile as compiler
from workers.agent.positions import guard
from workers.agent.positions.checkpoint import Checkpoint
from workers.agent.startup.found import Found, advised, survey


def answer(launch: Launch, definition: Definition, question: InspectionRequest) -> InspectionResult:
    """What is found of every partition. Of a run that goes on only its log is judged: ledger, checkpoint and group
    move while they are looked at."""
    graph = compiler.of_run(launch, definition)
    known = Found(launch, graph)
    reads = [read for read in definition.reads() if not (question.live and known.remembered(read.source) is None)]
    findings: list[AgentFinding] = []
    for read in reads:
        findings += _findings(known, read, live=question.live)
    findings = list({(each.path, each.code, each.message): each for each in findings}.values())
    checkpoints = {read: Checkpoint(Path(launch.checkpoint_root) / read.name) for read in reads}
    found = survey(known, checkpoints, findings)
    at_time = _at_time(known, reads, question.target) if found and question.target else {}
    reported = [each.model_dump(mode="json") for each in advised(findings, found)]
    return InspectionResult(survey=found, findings=reported, at_time=at_time)


def _findings(known: Found, read: Read, *, live: bool) -> list[AgentFinding]:
    try:
        found = known.against_source(read.source, live=live)
    except Refused as refused:
        return refused.findings
    for channel in read.channels:
        try:
            found = [*found, *_of_channel(known, read, channel, live=live)]
        except Refused as refused:
            found = [*found, *refused.findings]
    return found


def _of_channel(known: Found, read: Read, channel: str, *, live: bool) -> list[AgentFinding]:
    head = known.head(read, channel)
    log = known.log(read.source)
    topics = {topic for topic, _ in head.positions}
    same = guard.same_log(known.remembered(read.source), known.identity(read.source), topics)
    outside = known.outside(read, head.positions, log) if same else []
    if live:
        return outside
    known.first(read.source, [key for key in sorted(log) if key.topic not in topics])
    checkpoint = Checkpoint(Path(known.launch.checkpoint_root) / read.name)
    return [*guard.compare(head, known.state(read.name, checkpoint, head)), *outside]


def _at_time(known: Found, reads: list[Read], target: Target) -> dict[str, list[tuple[str, int, int]]]:
    """By source, where the records begin that are not older than the time of each partition; a source that cannot tell
    is left out."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    for source in dict.fromkeys(read.source for read in reads):
        for time, partitions in _by_time(sorted(known.log(source)), target).items():
            at = known.graph.sources[source].at_time(partitions, time)
            if at is not None:
                found.setdefault(source, []).extend((topic, number, offset) for (topic, number), offset in at.items())
    return found


def _by_time(partitions: list[TopicPartition], target: Target) -> dict[int, list[TopicPartition]]:
    found: dict[int, list[TopicPartition]] = {}
    for key in partitions:
        if (time := target.time_of(key)) is not None:
            found.setdefault(time, []).append(key)
    return found


def main() -> None:
    """Read the question, write the answer."""
    question = InspectionRequest.model_validate_json(sys.stdin.buffer.read())
    masking.hide(question.masked)
    launch = Launch.model_validate(question.launch)
    definition = Definition.model_validate(substituted(launch.definition, question.values))
    found = answer(launch, definition, question)
    sys.stdout.write(InspectionResult.model_validate(masking.prose(found.model_dump(mode="json"))).model_dump_json())
    sys.stdout.flush()


if __name__ == "__main__":
    code = 1
    try:
        main()
        code = 0
    except BaseException:
        sys.stderr.write(traceback.format_exc(limit=5))
    sys.stderr.flush()
    os._exit(code)  # a client that waits for a broker must not keep the process
