"""The plan of a migration: what preview shows and what apply carries out, under one hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.states import MigrationKind, MigrationStage
from pipelines.domain.definitions.document.consequences import Consequence, EvaluatedChange
from pipelines.domain.definitions.document.guarantees import ChannelGuarantee
from pipelines.domain.migration.observation import ObservationRules
from pipelines.domain.migration.prediction import Prediction
from pipelines.domain.migration.shadow import ShadowPlan
from pipelines.domain.migration.steps import PlannedStep, ordered
from pipelines.domain.positions.cluster_move import PartitionTranslation, SinkEnd
from pipelines.domain.positions.plan import PlannedMove

TICK_SECONDS = 0.2
HAND_OVER_SECONDS = 2.0
"""The end of the old process, the promotion and the first batch of an agent that is ready."""
INSPECTION_SECONDS = 1.5
"""A look of the host at positions, in a process of its own."""


class ExpectedPause(Frozen):
    """The expected delivery pause: seconds between the old agent's last delivery and the new agent's first one.
    `most`: where the in-flight batch takes as long as it may."""

    expected: float
    most: float
    words: str


class MigrationTarget(Frozen):
    """What the pipeline is afterwards. `revision`: of one that is stored; None where the plan stores a new one."""

    host: str
    revision: int | None
    digest: str


class MigrationPlan(Frozen):
    """Everything that is decided before anything is touched. `basis`: what of the present it was made against.

    `guarantees`: of the channels afterwards. `translation` and `sink_ends` are of a move to another cluster, with the
    positions and the logs of now; after the pause it is looked once more. `predictions` are of a revision, by source;
    `to_acknowledge`: how many records fewer would be delivered of them, which who starts it has to repeat.
    `passed_tests`: names of the tests of the definition of a revision, where all have passed.
    """

    kind: MigrationKind
    pipeline: str
    basis: dict[str, Any]
    target: MigrationTarget
    changes: list[EvaluatedChange] = []
    consequence: Consequence = Consequence.RESTART
    steps: list[PlannedStep] = []
    pause: ExpectedPause
    skip: int = 0
    replay: int = 0
    moves: list[PlannedMove] = []
    translation: list[PartitionTranslation] = []
    sink_ends: list[SinkEnd] = []
    rules: ObservationRules = ObservationRules()
    gates: list[MigrationStage] = []
    blockers: list[Finding] = []
    warnings: list[Finding] = []
    guarantees: list[ChannelGuarantee] = []
    predictions: list[Prediction] = []
    to_acknowledge: int | None = None
    passed_tests: list[str] = []
    shadow: ShadowPlan | None = None

    @model_validator(mode="after")
    def _in_order(self) -> MigrationPlan:
        ordered(self.steps)
        return self

    def hash(self) -> str:
        """SHA-256 over all of it but the pause, which is only expected, and measured anew with every plan."""
        return digest(self.model_dump(mode="json", exclude={"pause"}))


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of something, in hexadecimal."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def expected_pause(
    *, batch_seconds: float | None, drain_timeout: float, steps: int, inspections: bool = False
) -> ExpectedPause:
    """From the length of the last batches. The start of the new agent is no part of it: it is done before. `looks`: the
    host has to look at positions meanwhile."""
    batch = batch_seconds if batch_seconds is not None else 1.0
    fixed = HAND_OVER_SECONDS + steps * TICK_SECONDS + inspections * INSPECTION_SECONDS
    words = "The in-flight batch, the end of the old process, the first batch of the new one; it is started before."
    return ExpectedPause(expected=round(batch + fixed, 1), most=round(drain_timeout + fixed, 1), words=words)
