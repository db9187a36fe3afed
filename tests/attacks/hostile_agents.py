"""Agents that mean harm, each as a user of its own.

An agent is started by the real adapters and the real keeper; its driver is a program that does what an agent of an
operator's definition could be made to do, by an `exec` source for example.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.base.states import Command
from pipelines.domain.hosts.isolation import AgentUids
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control, Handover, Identity, Launch, SparkSettings
from tests.waiting import wait_for
from workers.adapters.isolation import handing_over
from workers.adapters.isolation.accounts import Accounts
from workers.adapters.processes import HostProcesses
from workers.adapters.rundirs import LocalRunDirs

PYTHON = "/usr/bin/python3"
_PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
UIDS = AgentUids(first=700_000 + 100 * _PROCESS, last=700_050 + 100 * _PROCESS)
"""Of this process of the tests alone: others start agents at the same time, and clear up after them."""
KEEPER = """
import sys
from pathlib import Path
from workers.keeper.keeper import main
run_dir = Path(sys.argv[1])
main(run_dir, [{python!r}, "-c", (run_dir / "attack.py").read_text()])
"""

needs_users = pytest.mark.skipif(
    os.geteuid() != 0 or not Path(PYTHON).exists(), reason="needs root, and a Python that other users can run"
)


@dataclass
class Host:
    """A state directory on a host whose agents have users."""

    state: Path
    accounts: Accounts
    started: list[str]

    @property
    def rundirs(self) -> LocalRunDirs:
        """As the worker has them."""
        return LocalRunDirs(self.state)

    def launch(self, pipeline: str, number: int = 1) -> Launch:
        """What a run of the pipeline is told."""
        pipeline_id = str(uuid.uuid5(uuid.NAMESPACE_URL, pipeline))
        return Launch(
            pipeline=pipeline,
            pipeline_id=pipeline_id,
            run=number,
            epoch=number,
            token=uuid.uuid4().hex,
            host="here",
            revision=1,
            revision_digest="-",
            definition={},
            lineage=1,
            checkpoint_root=str(protocol.checkpoint_root(self.state, pipeline, 1)),
            heads=[],
            spark=SparkSettings(classpath=[]),
            user=self.accounts.of(pipeline, pipeline_id),
        )

    def prepare(self, launch: Launch) -> Path:
        """What the worker does before it starts a keeper; returns the run directory."""
        run_dir = self.rundirs.path(launch.pipeline, launch.run)
        control = Control(seq=1, command=Command.RUN, boot_id=protocol.boot_id(), issued_at=protocol.boottime())
        self.rundirs.prepare(run_dir, launch, control)
        return run_dir

    def start(self, launch: Launch, code: str) -> Path:
        """Start an agent whose driver runs `code`; returns its run directory."""
        run_dir = self.prepare(launch)
        (run_dir / "attack.py").write_text(code)
        keeper = HostProcesses((sys.executable, "-c", KEEPER.format(python=PYTHON)))
        self.started.append(launch.token)
        keeper.spawn_keeper(run_dir, launch.token, Handover())
        return run_dir

    def identified(self, run_dir: Path) -> Identity:
        """Which processes a run has, once both are known."""
        wait_for(
            lambda: (found := self.rundirs.identity(run_dir)) and found.driver, "the processes of the run are known"
        )
        found = self.rundirs.identity(run_dir)
        assert found is not None
        return found

    def attack(self, launch: Launch, code: str) -> Any:
        """What the code leaves in `answer.json` of its run directory, once its run is over."""
        run_dir = self.start(launch, f"import json, os, subprocess\nanswer = {{}}\n{code}\n{LEAVE}")
        wait_for(lambda: self.rundirs.exit_record(run_dir) is not None, "the run is over", timeout=30)
        answer = run_dir / "answer.json"
        assert answer.exists(), (run_dir / protocol.LOG).read_text()
        return json.loads(answer.read_text())


LEAVE = "open('answer.json', 'w').write(json.dumps(answer))"


@pytest.fixture
def host() -> Iterator[Host]:
    """Below /tmp, since pytest's own directories are closed to other users."""
    top = Path(tempfile.mkdtemp(prefix="headgate-users-"))
    top.chmod(0o755)
    state = top / "state"
    state.mkdir(mode=0o700)
    handing_over.pass_through(state, state, UIDS.first)
    found = Host(state, Accounts(state, UIDS, UIDS.first), [])
    yield found
    processes = HostProcesses()
    for token, alive in processes.holders().items():
        for process in alive if token in found.started else ():
            processes.kill(process, token)
    shutil.rmtree(top)
    for uid in range(UIDS.first, UIDS.last + 1):
        shutil.rmtree(f"/dev/shm/headgate-{uid}", ignore_errors=True)
