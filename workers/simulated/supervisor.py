"""A supervisor over a `SimulatedHost`, with the real database services."""

from __future__ import annotations

from collections.abc import Callable, Collection

from django.conf import settings

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.selectors.access.reach import policy
from pipelines.services.runs.observations import HostFacts
from workers.adapters.secrets import StoredSecrets, backends
from workers.ports import ProcessWatch
from workers.simulated.host import SimulatedHost, SimulatedLock, SimulatedProcess
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.tick.act import Actor
from workers.supervisor.tick.lease import HostLease
from workers.supervisor.tick.memory import Memory
from workers.supervisor.tick.observe import Observer
from workers.supervisor.tick.tick import Supervisor
from workers.workflows.runner import Runner

HOST = "alpha"


def supervisor(
    host: SimulatedHost,
    lock_holders: list[SimulatedProcess],
    name: str = HOST,
    actor: type[Actor] = Actor,
    ends: ProcessWatch | None = None,
    reach: Callable[[Collection[int]], ReachPolicy] = policy,
) -> Supervisor:
    """A supervisor in a worker process of its own. `reach`: what agents of teams may reach."""
    memory, owner = Memory(), host.start()
    facts = HostFacts(name, str(host.state_dir), "0", 2, 1024, owner.identity.model_dump())
    launcher = Launcher(
        name,
        host.state_dir,
        References(backends({}, None, StoredSecrets(settings.HEADGATE.keyring))),
        lambda: SparkSettings(classpath=[]),
        reach=reach,
    )
    host.worker = owner
    return Supervisor(
        host=name,
        clock=host,
        processes=host,
        lease=HostLease(facts, SimulatedLock(host, lock_holders, owner), host),
        observer=Observer(host, host, memory),
        actor=actor(host, host, launcher, memory),
        workflows=Runner(name, host),
        ends=ends,
    )
