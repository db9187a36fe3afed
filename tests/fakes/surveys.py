"""Looks at positions in memory: what the log holds and what the guard would find, as a test says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult, PartitionSurvey, Survey
from pipelines.domain.runs.protocol import Launch
from workers.ports import InspectionFailed


class Unhurried:
    """The part of `workers.ports.Surveys` that only saves time."""

    def get_ready(self) -> None:
        """Nothing takes time."""

    def stand_down(self) -> None:
        """Nothing is kept."""


@dataclass
class FakeSurveys:
    """`workers.ports.Surveys`. `log`: start and end of each partition of topic orders-in; `known`: of each partition
    what witnesses beside the ledger say, and its codes."""

    log: dict[int, tuple[int, int]] = field(default_factory=lambda: {0: (0, 300)})
    known: dict[int, dict[str, Any]] = field(default_factory=dict)
    topic_id: str = "one"
    error: InspectionFailed | None = None
    questions: list[InspectionRequest] = field(default_factory=list)
    ready: bool = False

    def get_ready(self) -> None:
        self.ready = True

    def stand_down(self) -> None:
        self.ready = False

    def inspect(self, question: InspectionRequest) -> InspectionResult:
        self.questions.append(question)
        if self.error is not None:
            raise self.error
        launch = Launch.model_validate(question.launch)
        ledger = {(h.source, h.channel, at.partition): at.offset for h in launch.heads for at in h.positions}
        rows = [
            PartitionSurvey(
                source=head.source,
                channel=head.channel,
                topic="orders-in",
                partition=partition,
                ledger=ledger.get((head.source, head.channel, partition)),
                log_start=start,
                log_end=end,
                **self.known.get(partition, {}),
            )
            for head in launch.heads
            for partition, (start, end) in self.log.items()
        ]
        identity = SourceIdentity(source="shop", cluster_id="c", topics={"orders-in": self.topic_id})
        return InspectionResult(survey=Survey(at=1.0, rows=rows, identities=[identity]))
