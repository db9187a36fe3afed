"""An agent that means harm to the worker that supervises it, or to the next one: what it leaves in the way, holds, and
takes beforehand."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.base.states import Command
from pipelines.domain.hosts.isolation import AgentUids
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control, ExitRecord, Promotion
from tests.attacks.hostile_agents import UIDS, Host, host, needs_users
from tests.waiting import wait_for
from workers.adapters.isolation import accounts
from workers.adapters.isolation.accounts import Exhausted
from workers.adapters.processes import HostProcesses
from workers.keeper import processes

__all__ = ["host"]

pytestmark = needs_users


def test_no_agent_writes_to_the_lock_that_it_holds(host: Host) -> None:
    """It names the last epoch: a worker that believed another would look for that many runs."""
    code = """
for name in os.listdir("/proc/self/fd"):
    for way in (lambda: int(name), lambda: os.open(f"/proc/self/fd/{name}", os.O_WRONLY | os.O_NONBLOCK)):
        try:
            os.pwrite(way(), b"9" * 12, 0)
            answer[os.readlink(f"/proc/self/fd/{name}")] = True
        except OSError:
            pass
"""
    assert not [path for path in host.attack(host.launch("attacker"), code) if "lock" in path]
    assert host.rundirs.last_number("attacker") == 1


def test_directories_in_the_place_of_files_keep_no_run_from_its_end(host: Host) -> None:
    """Each has a file in it, so that it cannot be removed as an empty one."""
    launch = host.launch("attacker").model_copy(update={"log_bytes": 200, "log_files": 2})
    names = ["exit.json", "dumps.json", "dump.json", "promote.json", "reserve", "agent.log.1", "agent.log.2"]
    names += ["stacks/worker-1.txt"]
    code = f"""
for name in {names!r}:
    os.makedirs(f"{{name}}/more")
    answer[name] = True
print("x" * 1000)
"""
    answer = host.attack(launch, code)
    run_dir = host.rundirs.path("attacker", 1)
    assert list(answer) == names
    found = host.rundirs.exit_record(run_dir)
    assert found is not None
    assert (found.token, found.exit_code) == (launch.token, 0)
    logs = [run_dir / each for each in ("agent.log", "agent.log.1", "agent.log.2")]
    assert not any("were lost" in log.read_text() for log in logs)
    host.rundirs.promote(run_dir, Promotion(token=launch.token, epoch=1, lineage=1, checkpoint_root="/", heads=[]))
    assert host.rundirs.promotion(run_dir) is not None
    host.rundirs.revoke(run_dir, ExitRecord(token=launch.token, reason="revoked", boottime=0, at=0))
    assert host.rundirs.exit_record(run_dir) is not None


@pytest.mark.parametrize(
    "plant", ["os.mkdir(path); os.chmod(path, 0o777)", "os.symlink('/tmp', path)", "open(path, 'w')"]
)
def test_no_agent_takes_the_place_of_anothers_buffer_in_memory(host: Host, plant: str) -> None:
    """The name is that of the user, whose number anybody can guess."""
    victim = host.launch("victim")
    assert victim.user is not None
    path = Path(f"/dev/shm/headgate-{victim.user.uid}")
    try:
        host.attack(host.launch("attacker"), f"path = {str(path)!r}\n{plant}")
        assert path.lstat().st_uid not in (0, victim.user.uid)
        host.prepare(victim)
        found = path.lstat()
        assert (found.st_uid, found.st_mode) == (victim.user.uid, 0o40700)
        assert list(path.iterdir()) == []
        (path / "kept").touch()
        host.prepare(victim)
        assert (path / "kept").exists()
    finally:
        path.unlink(missing_ok=True) if not path.is_dir() or path.is_symlink() else None


def test_no_pipeline_gets_a_user_whose_processes_live(host: Host) -> None:
    """An agent may have left one behind that has forgotten its token."""
    user = host.launch("pipeline").user
    assert user is not None
    narrow = replace(host.accounts, uids=AgentUids(first=user.uid - 1, last=user.uid))
    left = subprocess.Popen(["/bin/sleep", "60"], env={}, user=user.uid, group=user.gid, extra_groups=[])
    try:
        with pytest.raises(Exhausted):
            narrow.of("another", "its id")
    finally:
        left.kill()
        left.wait()
    assert narrow.of("another", "its id") == user.model_copy(update={"groups": [UIDS.first]})


def test_a_pipeline_keeps_its_user_while_an_agent_of_it_lives(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the range is meanwhile: what belongs to the one that lives must not be given to another."""
    launch = host.launch("pipeline")
    run_dir = host.start(launch, "import time; time.sleep(60)")
    host.identified(run_dir)
    moved = replace(host.accounts, uids=AgentUids(first=800_000, last=800_050))
    assert moved.of("pipeline", launch.pipeline_id) == launch.user
    monkeypatch.setattr(accounts, "_closed", lambda *_: "")
    offered, _ = accounts.set_up(host.state, moved.uids, moved.uids.first, [])
    assert (offered and offered.group, host.state.stat().st_gid) == (UIDS.first, UIDS.first)
    for process in HostProcesses().holders()[launch.token]:
        HostProcesses().kill(process, launch.token)
    wait_for(lambda: moved.of("pipeline", launch.pipeline_id) != launch.user, "it is dead")
    offered, _ = accounts.set_up(host.state, moved.uids, moved.uids.first, [])
    assert (offered and offered.group, host.state.stat().st_gid) == (moved.uids.first, moved.uids.first)


def test_temporary_files_of_an_agent_are_its_runs(host: Host) -> None:
    code = "import tempfile; os.mkdir('tmp'); answer['made'] = tempfile.mkdtemp()"
    made = Path(host.attack(host.launch("attacker"), code)["made"])
    assert made.parent == host.rundirs.path("attacker", 1) / "tmp"
    assert not made.exists()


GROW = """
import ctypes, mmap, struct, sys, time
fields = open("/proc/self/stat").read().rpartition(")")[2].split()
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
MAP_NORESERVE, PR_SET_MM, PR_SET_MM_MAP = 0x4000, 35, 14
size = 1 << 36
area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
code, data, stack = [int(fields[n - 3]) for n in (26, 27)], [int(fields[n - 3]) for n in (45, 46)], int(fields[25])
vectors = [start, start + size] * 2
memory = struct.pack("=11QQIi", *code, *data, int(fields[44]), libc.sbrk(0), stack, *vectors, 0, 0, -1)
grown = libc.prctl(PR_SET_MM, PR_SET_MM_MAP, memory, ctypes.c_ulong(len(memory)), 0)
open("grown", "w").write(str(grown))
time.sleep(60)
"""


def test_no_agent_holds_the_worker_up_by_an_environment_without_end(host: Host) -> None:
    """A process names 64 GiB of its memory as its environment and as its command line: each tick looks at all."""
    launch = host.launch("attacker")
    run_dir = host.start(launch, GROW)
    wait_for(lambda: (run_dir / "grown").exists() and (run_dir / "grown").read_text(), "it has grown")
    identity = host.identified(run_dir)
    assert identity.driver is not None
    if (run_dir / "grown").read_text() != "0":
        pytest.skip("this kernel lets nobody do it")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(HostProcesses().holders).result(30)[launch.token]
    assert not processes.carries(identity.driver.pid, launch.token)
    assert processes.kind_of(identity.driver.pid) is None
    os.kill(identity.keeper.pid, signal.SIGTERM)
    wait_for(lambda: host.rundirs.exit_record(run_dir), "it ends")


OBEY = """
import json, time
while True:
    try:
        if json.load(open(PATH))["command"] == "stop":
            break
    except FileNotFoundError:
        pass
    time.sleep(0.05)
"""


def test_an_agent_whose_directory_was_removed_reads_its_order_to_stop(host: Host) -> None:
    launch = host.launch("pipeline")
    run_dir = host.rundirs.path("pipeline", 1)
    host.start(launch, f"PATH = {str(run_dir / protocol.CONTROL)!r}\n{OBEY}")
    host.identified(run_dir)
    shutil.rmtree(run_dir)
    stop = Control(seq=2, command=Command.STOP, boot_id=protocol.boot_id(), issued_at=protocol.boottime())
    host.rundirs.write_control(run_dir, stop)
    found = wait_for(lambda: host.rundirs.exit_record(run_dir), "it obeys, and its keeper says so")
    assert (found.exit_code, found.stop_stage) == (0, "DRAIN")
