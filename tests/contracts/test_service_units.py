"""The service units: a restart of the worker's service leaves agents alone, and they run the commands of the wheel."""

from __future__ import annotations

import configparser
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.domain.runs.protocol import IDENTITY, LAUNCH, Identity, Launch, SparkSettings
from tests.waiting import wait_for
from workers.adapters.processes import HostProcesses

ROOT = Path(__file__).resolve().parents[2]
UNITS = ROOT / "deploy" / "systemd"

KEEPER = """
import sys
from pathlib import Path
from workers.keeper.keeper import main
sys.exit(main(Path(sys.argv[1]), [sys.executable, "-c", "import time; time.sleep(600)"]))
"""
WORKER = f"""
import sys, time
from pathlib import Path
from pipelines.domain.runs.protocol import Handover
from workers.adapters.processes import HostProcesses
HostProcesses((sys.executable, "-c", {KEEPER!r})).spawn_keeper(Path(sys.argv[1]), sys.argv[2], Handover())
print("spawned", flush=True)
time.sleep(600)
"""


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNITS / name)
    return parser


def test_the_workers_unit_ends_the_worker_alone_and_starts_it_again_whatever_ended_it() -> None:
    service = unit("headgate-worker.service")["Service"]
    assert service["KillMode"] == "process"
    assert service["Restart"] == "always"
    assert "PrivateTmp" not in service  # agents outlive the mounts of the worker that started them
    assert service["OOMPolicy"] == "continue"


def test_the_units_run_the_commands_of_the_server() -> None:
    programs = {path.name: unit(path.name)["Service"]["ExecStart"].split() for path in UNITS.glob("*.service")}
    assert {words[0] for words in programs.values()} == {"/opt/headgate/.venv/bin/headgate"}
    assert {name: words[1] for name, words in programs.items()} == {
        "headgate-backup.service": "backup",
        "headgate-web.service": "web",
        "headgate-worker.service": "worker",
    }


def test_the_web_server_of_a_service_expects_https_unless_the_environment_says_otherwise() -> None:
    lines = (UNITS / "headgate-web.service").read_text().splitlines()
    assert lines.index("Environment=HEADGATE_HTTPS=true") < lines.index("EnvironmentFile=/etc/headgate/environment")


@pytest.mark.parametrize("path", sorted(UNITS.iterdir()), ids=lambda path: path.name)
def test_every_unit_can_be_read_and_names_no_user_but_its_own(path: Path) -> None:
    found = unit(path.name)
    assert found.has_section("Unit")
    if path.suffix == ".service":
        assert found["Service"]["User"] == "headgate"


@dataclass(frozen=True)
class Started:
    """A worker in a session of its own, as systemd starts it, and the token of the agent that it has started."""

    worker: subprocess.Popen[str]
    token: str
    run_dir: Path

    def agents(self) -> dict[int, tuple[int, int]]:
        """(process group, session) of each living process of the agent."""
        holders = HostProcesses().holders().get(self.token, ())
        return {each.pid: (os.getpgid(each.pid), os.getsid(each.pid)) for each in holders}

    def complete(self) -> bool:
        """Keeper and driver, which is known once it is what it will be."""
        identity = Identity.load(self.run_dir / IDENTITY)
        return identity is not None and identity.driver is not None and len(self.agents()) == 2


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    token, run_dir = uuid.uuid4().hex, tmp_path / "runs" / "orders" / "1"
    run_dir.mkdir(parents=True)
    launch = Launch(
        pipeline="orders",
        pipeline_id="1",
        run=1,
        epoch=1,
        token=token,
        host="here",
        revision=1,
        revision_digest="d",
        definition={},
        lineage=1,
        checkpoint_root=str(tmp_path),
        heads=[],
        spark=SparkSettings(classpath=[]),
    )
    launch.store(run_dir / LAUNCH)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(run_dir), token],
        cwd=ROOT,
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "spawned\n"
    made = Started(worker, token, run_dir)
    wait_for(made.complete, "keeper and driver")
    yield made
    processes = HostProcesses()
    for each in processes.holders().get(token, ()):
        processes.kill(each, token)
    worker.kill()
    worker.wait(10)
    worker.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_agents_outlive_the_end_of_the_workers_process_group_and_session(
    started: Started, number: signal.Signals
) -> None:
    before = started.agents()
    worker = started.worker.pid
    assert all(group != worker and session != worker for group, session in before.values())
    os.killpg(worker, number)
    started.worker.wait(10)
    still = time.monotonic() + 1.0
    while time.monotonic() < still:
        assert started.agents() == before
        time.sleep(0.1)
