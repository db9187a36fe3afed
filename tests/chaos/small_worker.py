"""A worker process with nothing but its supervisor: real leases, real keepers, drivers that only sleep.

`python -m tests.chaos.small_worker prepare N` makes N pipelines; `work` supervises and, as soon as the file `go` is in
the state directory's parent, asks for a start of every one, against the other workers; `work silently` only supervises;
`keep RUNDIR` is the keeper of its runs.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.supervisor.tick.tick import Supervisor

LEASE_SECONDS = 5.0
DRIVER = ["/bin/sleep", "1000"]


def keep(run_dir: str) -> int:
    """A real keeper over a driver that only sleeps."""
    from workers.keeper.keeper import main

    return main(Path(run_dir), DRIVER)


def prepare(number: int) -> None:
    """The tables, and pipelines without a host whose stops are quick."""
    from django.core.management import call_command

    from tests.factories import PipelineFactory

    call_command("migrate", verbosity=0)
    for each in range(number):
        pipeline = PipelineFactory.create(name=f"p-{each}", host=None)
        revision = pipeline.current_revision
        assert revision is not None
        revision.definition["lifecycle"] |= {"init_timeout": 7200.0, "cancel_interval": 0.2, "cancel_timeout": 20.0}
        revision.save()


def work(*, silently: bool) -> None:
    """Supervise until killed."""
    from django.conf import settings

    from workers.supervisor.background.ticker import Ticker
    from workers.supervisor.tick import lease
    from workers.wake import WAKE

    lease.TTL = LEASE_SECONDS
    Ticker(_supervisor()).loop(WAKE).start()
    go = settings.HEADGATE.state.parent / "go"
    while not (silently or go.exists()):
        time.sleep(0.01)
    if not silently:
        _ask_for_everything()
    threading.Event().wait()


def _ask_for_everything() -> None:
    from django.db import OperationalError

    from pipelines.domain.base.states import OperationKind
    from pipelines.foundation.errors import Conflict
    from pipelines.models import Pipeline
    from pipelines.services.base.audit import Actor
    from pipelines.services.lifecycle import lifecycle

    waiting = list(Pipeline.objects.order_by("name"))
    while waiting:
        try:
            lifecycle.request(pipeline=waiting[0], action=OperationKind.START, actor=Actor(f"worker-{os.getpid()}"))
        except OperationalError:
            continue  # SQLite lets one write at a time, and gives up after a while
        except Conflict as refused:
            print(f"{waiting[0].name}: {refused}", flush=True)
        waiting.pop(0)


def _supervisor() -> Supervisor:
    from django.conf import settings

    from pipelines.domain.runs.protocol import SparkSettings
    from pipelines.services.runs.observations import HostFacts
    from workers.adapters.clock import SystemClock
    from workers.adapters.filelock import FileLock
    from workers.adapters.processes import HostProcesses
    from workers.adapters.rundirs import LocalRunDirs
    from workers.adapters.secrets import StoredSecrets, backends
    from workers.supervisor.launch.launch import Launcher
    from workers.supervisor.launch.references import References
    from workers.supervisor.tick.act import Actor
    from workers.supervisor.tick.lease import HostLease
    from workers.supervisor.tick.memory import Memory
    from workers.supervisor.tick.observe import Observer
    from workers.supervisor.tick.tick import Supervisor
    from workers.workflows.runner import Runner

    here = settings.HEADGATE
    processes = HostProcesses((sys.executable, "-m", "tests.chaos.small_worker", "keep"))
    rundirs, memory = LocalRunDirs(here.state), Memory()
    facts = HostFacts(here.host, str(here.state), "0", 2, 8 << 30, processes.current().model_dump())
    references = References(backends({}, None, StoredSecrets(here.keyring)), development=here.development)
    launcher = Launcher(here.host, here.state, references, lambda: SparkSettings(classpath=[]))
    return Supervisor(
        host=here.host,
        clock=SystemClock(),
        processes=processes,
        lease=HostLease(facts, FileLock(here.state / "supervisor.lock"), processes),
        observer=Observer(processes, rundirs, memory),
        actor=Actor(processes, rundirs, launcher, memory),
        workflows=Runner(here.host, rundirs),
    )


def main(words: list[str]) -> int:
    """Do what the first word says."""
    if words[0] == "keep":
        return keep(words[1])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    import django

    django.setup()
    prepare(int(words[1])) if words[0] == "prepare" else work(silently=len(words) > 1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
