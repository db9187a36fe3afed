"""One pipeline on one simulated host: people, a worker that can be killed anywhere, agents that can fail anyhow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID, uuid4

from django.db.models import Sum

from pipelines.domain.base.states import DesiredState, OperationKind, Phase, RunRole, RunState
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.foundation.errors import Conflict
from pipelines.models import Event, LedgerBatch, Migration, Operation, Pipeline, Position, Run
from pipelines.selectors.base.prepared import Prepared, given
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from tests.factories import HostFactory, PipelineFactory
from workers import crash_points
from workers.simulated.agents import Agent, Agents
from workers.simulated.host import SimulatedHost, SimulatedProcess, WorkerKilled
from workers.simulated.supervisor import supervisor
from workers.supervisor.tick.act import Actor as Hand
from workers.supervisor.tick.tick import Supervisor, Ticked

QUICK = {
    "init_timeout": 20,
    "drain_timeout": 5,
    "cancel_interval": 3,
    "cancel_timeout": 10,
    "stall_timeout": 30,
    "heartbeat_timeout": 6,
    "max_restarts": 4,
}
_OF_IT = {"pipeline_id": given("pipeline")}
_PIPELINE = Prepared(lambda: Pipeline.objects.filter(id=given("pipeline")))
_WAITING = Prepared(lambda: Operation.objects.filter(**_OF_IT, state__in=["PENDING", "RUNNING"]).only("id"))
_ERRORS = Prepared(lambda: Event.objects.filter(kind__in=["supervisor.error", "journal.damaged"]).only("id"))
_LIVING = Prepared(lambda: Run.objects.filter(**_OF_IT).exclude(state=RunState.ENDED).only("token"))
_POSITIONS = Prepared(lambda: Position.objects.filter(**_OF_IT))
HEALED_WITHIN = 400
"""Virtual seconds in which everything must come right once nothing fails any more."""


class Hasty(Hand):
    """Carries out each choice as often as `times` says: not at all, or once more with what it saw before."""

    times: ClassVar[int] = 1

    def perform(self, *seen: Any) -> list[Exception]:
        return [error for _ in range(self.times) for error in super(Hasty, self).perform(*seen)]


@dataclass
class Worker:
    """A worker process and its supervisor."""

    process: SimulatedProcess
    supervisor: Supervisor


@dataclass
class World:
    """The simulated installation. `workers`: those that live; of two, one waits for the other.

    `points_left`: how many points of the supervisor's work are passed before its worker is killed; `freeze_in`: the
    same before it is stopped, for `frozen_for` seconds, in which another one works."""

    host: SimulatedHost = field(default_factory=SimulatedHost)
    lock: list[SimulatedProcess] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    points_left: int | None = None
    freeze_in: int | None = None
    frozen_for: int = 0
    frozen: bool = False
    bystanders: list[SimulatedProcess] = field(default_factory=list)
    positions: dict[tuple[str, str, str, int], int] = field(default_factory=dict)
    known_reread: int = 0
    agents: Agents = field(init=False)
    pipeline_id: UUID = field(init=False)

    def __post_init__(self) -> None:
        HostFactory.create(name="alpha")
        pipeline = PipelineFactory.create(name=f"p-{uuid4().hex[:8]}")
        revision = pipeline.current_revision
        assert revision is not None
        revision.definition["lifecycle"] |= QUICK
        revision.save()
        self.pipeline_id = pipeline.id
        self.agents = Agents(self.host)
        self.host.point = crash_points.reach = self.point
        self.bystanders.append(self.host.start())
        self.start_worker()

    @property
    def pipeline(self) -> Pipeline:
        (pipeline,) = _PIPELINE(pipeline=self.pipeline_id)
        return pipeline

    @property
    def phase(self) -> Phase:
        return Phase(self.pipeline.phase)

    # people

    def ask(self, kind: OperationKind, *, drain: bool = True, on_timeout: OnTimeout | None = None) -> Operation | None:
        """Ask for an action; None where it is refused."""
        try:
            return lifecycle.request(
                pipeline=self.pipeline, action=kind, actor=Actor("ana"), drain=drain, on_timeout=on_timeout
            )
        except Conflict:
            return None

    # the worker

    def start_worker(self) -> None:
        """A new worker process, unless there is one."""
        if not self.workers:
            self.points_left = self.freeze_in = None
            self.another_worker()

    def another_worker(self) -> None:
        """A worker beside those that live."""
        made = supervisor(self.host, self.lock, actor=Hasty)
        assert self.host.worker is not None
        self.workers.append(Worker(self.host.worker, made))

    def kill_worker(self) -> None:
        """SIGKILL of every worker."""
        for worker in list(self.workers):
            self._kill(worker)

    def _kill(self, worker: Worker) -> None:
        worker.process.alive = False
        self.workers.remove(worker)

    def reboot(self) -> None:
        """The host is started anew."""
        self.host.reboot()
        self.workers.clear()

    def point(self, point: str) -> None:
        """The supervisor has come to a point of its work."""
        if self.frozen:
            return
        if self.points_left is not None:
            self.points_left -= 1
            if self.points_left < 0:
                raise WorkerKilled
        if self.freeze_in is not None:
            self.freeze_in -= 1
            if self.freeze_in < 0:
                self._freeze()

    def _freeze(self) -> None:
        """SIGSTOP in the middle of a tick; another worker comes, and works, and then SIGCONT."""
        first, self.freeze_in, self.frozen = list(self.workers), None, True
        self.workers.clear()
        self.another_worker()
        for _ in range(self.frozen_for):
            self.pass_time()
            self.check()
        self.workers = [*first, *self.workers]
        self.frozen = False

    def tick(self) -> list[Ticked]:
        """One tick of every worker; it may die in it."""
        ticked = []
        for worker in list(self.workers):
            try:
                ticked.append(worker.supervisor.tick())
            except WorkerKilled:
                self._kill(worker)
        return ticked

    def use_pid_again(self) -> None:
        """A stranger gets the process id of a process that has ended."""
        ours = [process for process in self.host.processes.values() if process.token]
        for process in ours:
            if not process.alive:
                self.bystanders.append(self.host.start(pid=process.identity.pid))

    # time

    def pass_time(self, seconds: float = 1.0, *, worker_first: bool = False) -> None:
        """A second of everybody's work: agents move, and the worker ticks after or before them."""
        self.host.advance(seconds)
        for work in (self.tick, self.agents.step) if worker_first else (self.agents.step, self.tick):
            work()

    def run_until(self, done: Callable[[], bool], within: float = HEALED_WITHIN, step: float = 1.0) -> None:
        """Let time pass until `done()`; fails where that takes longer than `within` virtual seconds."""
        end = self.host.boottime + within
        while not done():
            assert self.host.boottime < end, self.story()
            self.pass_time(step)

    # what is true

    @property
    def agent(self) -> Agent:
        """The one living agent."""
        (agent,) = self.agents.living
        return agent

    def settled(self) -> bool:
        """Whether the desired state is reached, or given up for a reason that is shown."""
        pipeline = self.pipeline
        if pipeline.phase == Phase.FAILED:
            return pipeline.restart_count >= QUICK["max_restarts"] and not self.agents.living
        if (pipeline.phase, pipeline.phase_reason) == (Phase.BLOCKED, "init_timeout"):
            return pipeline.generation == pipeline.observed_generation and not self.agents.living
        wanted = {
            DesiredState.RUNNING: Phase.RUNNING,
            DesiredState.PAUSED: Phase.PAUSED,
            DesiredState.STOPPED: Phase.STOPPED,
        }[DesiredState(pipeline.desired_state)]
        waiting = _WAITING(pipeline=self.pipeline_id)
        return pipeline.phase == wanted and not waiting and pipeline.generation == pipeline.observed_generation

    def check(self) -> None:
        """What must hold at every instant."""
        tokens = self.host.holders()
        may_consume = [agent for agent in self.agents.living if not agent.is_standby]
        assert len(may_consume) <= 1, self.story()
        promoted = {agent.launch.token for agent in may_consume}
        assert len(promoted | (tokens.keys() - self._standby_tokens())) <= 1, self.story()
        assert not any(each.killed for each in self.bystanders)
        assert {token for _, token in self.host.signals} <= {agent.launch.token for agent in self.agents.all.values()}
        self._check_positions()
        assert not _ERRORS(), self.story()
        runs = _LIVING(pipeline=self.pipeline_id)
        assert set(tokens) <= {run.token for run in runs}, "a process outlived its run's end"

    def _standby_tokens(self) -> set[str]:
        """Of runs that were begun as standbys."""
        launches = (self.host.launch(run_dir) for run_dir in [*self.host.directories])
        return {launch.token for launch in launches if launch is not None and launch.role is RunRole.STANDBY}

    def _check_positions(self) -> None:
        """No position goes back, but where a migration reads again."""
        if (reread := self.reread) != self.known_reread:
            self.known_reread = reread
            self.positions.clear()
        for place in _POSITIONS(pipeline=self.pipeline_id):
            key = (place.source, place.channel, place.topic, place.partition)
            assert place.next_offset >= self.positions.get(key, 0), self.story()
            self.positions[key] = place.next_offset

    @property
    def reread(self) -> int:
        """Records that a migration has read twice on purpose."""
        taken = Migration.objects.filter(pipeline_id=self.pipeline_id).values_list("snapshot__reread", flat=True)
        return sum(number or 0 for number in taken)

    def check_ledger(self) -> None:
        """What agents wrote down is in the books exactly once, and every batch begins where the last ended."""
        batches = LedgerBatch.objects.filter(pipeline_id=self.pipeline_id, state="done")
        sums = batches.aggregate(read=Sum("read"), gaps=Sum("gaps"), overlaps=Sum("overlaps"))
        read = sum(agent.read for agent in self.agents.all.values())
        position = Position.objects.filter(pipeline_id=self.pipeline_id).first()
        assert (sums["read"] or 0) == read, self.story()
        assert (position.next_offset if position else 0) == read - self.reread, self.story()
        assert (sums["gaps"] or 0, sums["overlaps"] or 0) == (0, 0), self.story()
        assert LedgerBatch.objects.filter(pipeline_id=self.pipeline_id, state="planned").count() <= 1

    def story(self) -> str:
        """What happened, for a failed test."""
        lines = [f"{event.kind}: {event.message}" for event in Event.objects.order_by("id")]
        pipeline = self.pipeline
        return "\n".join([*lines[-40:], f"now {pipeline.phase}, wanted {pipeline.desired_state}"])
