"""The agent's phase, its proof of a pause, and status.json."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pipelines.domain.base.states import AgentPhase
from pipelines.domain.hosts.disk import is_disk_full
from pipelines.domain.positions.plan import Survey
from pipelines.domain.runs.protocol import (
    AgentFinding,
    ComponentStatus,
    IngestBufferStatus,
    PauseProof,
    QueryStatus,
    Status,
    boot_id,
    boottime,
)
from workers.agent.base import masking
from workers.agent.base.log import say
from workers.agent.delivery.gate import Gate, Position
from workers.agent.delivery.real_time import Query
from workers.agent.positions.checkpoint import Offsets
from workers.agent.run_dir.reserve import Reserve

_BETWEEN_CHECKS = 0.15
_BETWEEN_BATCH_WRITES = 0.5
_RESTING = frozenset({AgentPhase.PREFLIGHT, AgentPhase.STANDBY, AgentPhase.PAUSED})


class PauseWatch:
    """Proves a pause: gate closed, nothing in hand, every position the same at two looks, the last batches balanced."""

    def __init__(self, gate: Gate, queries: Sequence[Query]) -> None:
        self._gate = gate
        self._queries = queries
        self._first_check: tuple[float, list[Offsets]] | None = None
        self._proven_at: float | None = None

    def check(self) -> PauseProof | None:
        """The proof as it stands now; None while the gate is not closed."""
        if self._gate.position is not Position.CLOSED:
            self._first_check = self._proven_at = None
            return None
        beside = self._gate.inside - {query.name for query in self._queries}
        in_flight = sum(not query.settled for query in self._queries) + len(beside)
        still = self._still(in_flight)
        balanced = all(query.balanced for query in self._queries)
        proof = PauseProof(
            gate_closed=True,
            batches_in_flight=in_flight,
            positions_still=still,
            balanced=balanced,
            proven_at=self._proven_at or time.time(),
        )
        self._proven_at = proof.proven_at if proof.holds else None
        return proof

    def _still(self, in_flight: int) -> bool:
        channel_positions = [position for query in self._queries for position in query.channel_positions()]
        now = time.monotonic()
        if in_flight or self._first_check is None or self._first_check[1] != channel_positions:
            self._first_check = now, channel_positions
        return now - self._first_check[0] >= _BETWEEN_CHECKS


class StatusFile:
    """status.json: written at every change of phase, command or held batch, twice a second at most for finished
    batches, and otherwise once per heartbeat. A full disk has room for it in the run's `reserve`."""

    def __init__(self, path: Path, token: str, heartbeat: float, reserve: Reserve | None = None) -> None:
        self._path = path
        self._reserve = reserve
        self._token = token
        self._boot_id = boot_id()
        self._heartbeat = heartbeat
        self._written_at = 0.0
        self._written_key: object = None
        self._progress = 0
        self._progress_heartbeat = boottime()
        self._written_progress = 0
        self._heartbeats: dict[str, tuple[int, float]] = {}

    def update(
        self,
        *,
        phase: AgentPhase,
        detail: str,
        stuck: list[str],
        command_seq: int,
        command_done: bool,
        proof: PauseProof | None,
        queries: Sequence[Query],
        components: Callable[[], list[ComponentStatus]],
        ingest_buffers: list[IngestBufferStatus],
        findings: list[AgentFinding],
        survey: Survey | None,
        initialised_in: float | None,
    ) -> None:
        """Write the file if it is time. A disk that is full is no reason to stop moving records."""
        self._note_progress(queries, phase)
        held = [tuple(query.holdings) for query in queries]
        proven = proof is not None and proof.holds
        key = (phase, detail, tuple(stuck), command_seq, command_done, proven, held, len(findings))
        age = time.monotonic() - self._written_at
        moved = self._progress != self._written_progress
        if key == self._written_key and age < self._heartbeat and not (moved and age >= _BETWEEN_BATCH_WRITES):
            return
        state: Literal["accepted", "done"] = "done" if command_done else "accepted"
        status = Status(
            token=self._token,
            boot_id=self._boot_id,
            heartbeat=boottime(),
            at=time.time(),
            phase=phase,
            detail=detail,
            stuck=stuck,
            progress=self._progress,
            progress_heartbeat=self._progress_heartbeat,
            command_seq=command_seq,
            command_state=state,
            pause_proof=proof,
            queries=[self._with_heartbeat(query, status) for query in queries for status in query.statuses()],
            components=components(),
            ingest_buffers=ingest_buffers,
            findings=findings,
            survey=survey,
            initialised_in=initialised_in,
        )
        self._store(masking.masked(status))
        self._written_at, self._written_key, self._written_progress = time.monotonic(), key, self._progress

    def _store(self, status: Status) -> None:
        try:
            status.store(self._path)
        except OSError as error:
            if self._reserve is not None and is_disk_full(error) and self._reserve.release():
                self._store(status)
            else:
                say(f"status.json cannot be written: {error}", "WARNING")

    def _note_progress(self, queries: Sequence[Query], phase: AgentPhase) -> None:
        """Each query has a beat of its own: one that moves says nothing of its neighbour. Where none is meant to move,
        standing still is no lack of progress."""
        now, resting = boottime(), phase in _RESTING
        progress = sum(query.progressed for query in queries)
        if resting or progress != self._progress:
            self._progress, self._progress_heartbeat = progress, now
        for query in queries:
            reached, _ = self._heartbeats.get(query.name, (-1, 0.0))
            if resting or query.progressed != reached:
                self._heartbeats[query.name] = query.progressed, now

    def _with_heartbeat(self, query: Query, status: QueryStatus) -> QueryStatus:
        return status.model_copy(update={"progress_heartbeat": self._heartbeats[query.name][1]})
