"""An agent that means harm, as a user of its own: what it may open, whom it may signal, and what it may plant."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from controlplane.provision.module import class_path
from pipelines.domain.access.reach import AllowedRoot, ReachPolicy
from pipelines.domain.base.states import Command
from pipelines.domain.hosts.isolation import AgentUids, IsolationState
from pipelines.domain.ledger.journal import JournalCorrupt, read_entries
from pipelines.domain.preview.protocol import CasesRequest, Side
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import AgentUser, Control, Handover, SparkSettings
from tests.attacks.hostile_agents import PYTHON, UIDS, Host, host, needs_users
from tests.waiting import wait_for
from workers.adapters import surveys
from workers.adapters.isolation import accounts
from workers.adapters.isolation.accounts import Accounts, Exhausted
from workers.adapters.previewers import ChildPreviews
from workers.adapters.processes import HostProcesses
from workers.keeper import account

__all__ = ["host"]

pytestmark = needs_users


def test_no_agent_reads_keys_the_database_or_another_pipelines_run(host: Host) -> None:
    closed = [host.state / name for name in ("secret_key", "secret_store.keys", "headgate.sqlite3", "redis.sock")]
    for path in closed:
        path.write_text("a key")
    victim = host.start(host.launch("victim"), "import time; time.sleep(60)")
    wait_for(lambda: (victim / protocol.IDENTITY).exists(), "the victim runs")
    closed += [victim / "launch.json", victim / "agent.log", victim, host.state, host.state / "runs"]
    code = f"""
for path in {list(map(str, closed))!r}:
    try:
        answer[path] = os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError as error:
        answer[path] = None
    if subprocess.run(["cat", path], capture_output=True).stdout:
        answer[path] = "cat"
answer["ids"] = [os.getresuid(), os.getresgid(), os.getgroups()]
answer["own"] = open("launch.json").read() != ""
answer["environment"] = sorted(os.environ)
answer["status"] = open("/proc/self/status").read()
"""
    launch = host.launch("attacker")
    answer = host.attack(launch, code)
    assert launch.user is not None
    uid = launch.user.uid
    assert answer.pop("ids") == [[uid] * 3, [uid] * 3, [UIDS.first]]
    assert answer.pop("own")
    allowed = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "JAVA_HOME", "LD_LIBRARY_PATH"}
    assert not {name for name in answer.pop("environment") if name not in allowed | OWN}
    status = dict(line.split(":\t", 1) for line in answer.pop("status").splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1"
    assert {int(status[name], 16) for name in ("CapEff", "CapPrm", "CapAmb")} == {0}
    assert answer == dict.fromkeys(map(str, closed))


PREVIEWER = """
import json, os, socket, subprocess, sys
sys.stdin.readline()
answer = {}
for path in PATHS:
    try:
        answer[path] = os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError:
        pass
    if subprocess.run(["cat", path], capture_output=True).stdout:
        answer[path] = "cat"
for what, act in (
    ("socket", lambda: socket.socket(socket.AF_UNIX).connect(SOCKET)),
    ("signal", lambda: os.kill(os.getppid(), 0)),
    ("environ", lambda: open(f"/proc/{os.getppid()}/environ").read()),
    ("log", lambda: open(f"/proc/{os.getpid()}/fd/2").read(1) if os.path.isfile("/dev/stderr") else 1 / 0),
):
    try:
        answer[what] = act() or True
    except (OSError, ZeroDivisionError):
        pass
answer["ids"] = [os.getresuid(), os.getresgid(), os.getgroups()]
answer["own"] = open(OWN).read()
answer["environment"] = dict(os.environ)
answer["status"] = open("/proc/self/status").read()
answer["descriptors"] = sorted(os.listdir("/proc/self/fd"))
print(json.dumps({"findings": [answer]}), flush=True)
"""


def test_a_previewer_can_do_no_more_than_the_agent_of_its_pipeline(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("HEADGATE_SECRET_KEY", "a key")
    closed = [host.state / name for name in ("secret_key", "secret_store.keys", "headgate.sqlite3")]
    for path in closed:
        path.write_text("a key")
    (redis := socket.socket(socket.AF_UNIX)).bind(str(host.state / "redis.sock"))
    redis.listen()
    victim, launch = host.launch("victim"), host.launch("orders")
    pushed = victim.data_root / "ingest_buffer" / "shop"
    for path in (pushed, launch.data_root / "sequences"):
        path.mkdir(parents=True)
    (kept := pushed / "0.recent").write_text("of a victim")
    (theirs := launch.data_root / "sequences" / "shop.json").write_text("its own")
    victims, own = host.prepare(victim), host.prepare(launch)
    closed += [victims, victims / "launch.json", pushed, kept, host.state, host.state / "runs"]
    code = f"PATHS, OWN = {list(map(str, closed))!r}, {str(theirs)!r}\nSOCKET = {str(host.state / 'redis.sock')!r}"
    lowering = f"{Path(account.__file__).read_text()}\ngive_up_privileges()"
    previews = ChildPreviews((PYTHON, "-c", f"{lowering}\n{code}\n{PREVIEWER}"))
    request = CasesRequest(candidate=Side(definition={}), spark={}, seconds=30)
    try:
        (answer,) = previews.make("orders", launch.user, request).findings
    finally:
        previews.close()
        redis.close()
    assert launch.user is not None
    uid = launch.user.uid
    assert answer.pop("ids") == [[uid] * 3, [uid] * 3, [UIDS.first]]
    assert answer.pop("own") == "its own"
    environment = answer.pop("environment")
    assert environment["HEADGATE_WORKER_UID"] == "0", "code of interceptors may be the worker's"
    assert not {"HOME", "TMPDIR", "HEADGATE_SECRET_KEY"} & environment.keys()
    status = dict(line.split(":\t", 1) for line in answer.pop("status").splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1"
    assert {int(status[name], 16) for name in ("CapEff", "CapPrm", "CapAmb")} == {0}
    assert answer.pop("descriptors") == ["0", "1", "2", "3"], "3 lists them"
    assert answer == {}
    assert own.exists()


OWN = {
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "MALLOC_ARENA_MAX",
    "HEADGATE_RUN",
    "HEADGATE_RUN_TOKEN",
    "HEADGATE_KEEPER_FD",
    "HEADGATE_WORKER_UID",
    "TMPDIR",
}


def test_no_agent_signals_or_traces_a_keeper_or_anothers_driver(host: Host) -> None:
    victim = host.start(host.launch("victim"), "import time; time.sleep(60)")
    rundirs = host.rundirs
    wait_for(lambda: (found := rundirs.identity(victim)) is not None and found.driver is not None, "the victim runs")
    identity = rundirs.identity(victim)
    assert identity is not None
    assert identity.driver is not None
    pids = [os.getpid(), identity.keeper.pid, identity.driver.pid]
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for pid in {pids} + [os.getppid()]:
    for what, act in (("signal", lambda: os.kill(pid, 9)), ("environ", lambda: open(f"/proc/{{pid}}/environ").read())):
        try:
            act()
            answer[f"{{what}} {{pid}}"] = True
        except PermissionError:
            pass
    if libc.ptrace(16, pid, 0, 0) == 0:
        answer[f"ptrace {{pid}}"] = True
"""
    assert host.attack(host.launch("attacker"), code) == {}
    assert HostProcesses().is_alive(identity.driver)


def test_the_worker_kills_an_agent_of_another_user(host: Host) -> None:
    launch = host.launch("victim")
    run_dir = host.start(launch, "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)")
    rundirs = host.rundirs
    wait_for(lambda: (found := rundirs.identity(run_dir)) is not None and found.driver is not None, "it runs")
    identity = rundirs.identity(run_dir)
    assert identity is not None
    assert identity.driver is not None
    assert identity.driver in HostProcesses().holders()[launch.token]
    assert HostProcesses().kill(identity.driver, launch.token)
    wait_for(lambda: rundirs.exit_record(run_dir) is not None, "its keeper records the end")
    found = rundirs.exit_record(run_dir)
    assert found is not None
    assert found.signal == signal.SIGKILL
    assert run_dir.stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_what_an_agent_plants_is_neither_read_nor_written(host: Host, link: str) -> None:
    """Links to the database in the place of every file that others write or read there."""
    database = host.state / "headgate.sqlite3"
    database.write_text('{"token": "stolen"}')
    launch = host.launch("attacker")
    names = ["agent.log", "agent.log.1", "exit.json", "promote.json", "dump.json", "dumps.json", "status.json"]
    names += ["journal.jsonl", "reserve", "stacks/python.txt", "control.json", "launch.json", "identity.json"]
    make = "os.symlink" if link == "symbolic" else "os.link"
    code = f"""
for name in {names!r}:
    try:
        os.unlink(name)
    except OSError:
        pass
    try:
        {make}({str(database)!r}, name)
        answer[name] = True
    except OSError as error:
        pass
"""
    answer = host.attack(launch, code)
    rundirs, run_dir = host.rundirs, host.rundirs.path("attacker", 1)
    assert not answer.keys() & {"agent.log", "control.json", "launch.json", "identity.json"}
    if link == "symbolic":
        assert {"status.json", "journal.jsonl", "exit.json"} <= answer.keys()
    assert rundirs.status(run_dir) is None
    assert b"stolen" not in rundirs.journal(run_dir, 0, 1000).data
    assert rundirs.exit_record(run_dir) is not None
    assert database.read_text() == '{"token": "stolen"}'
    assert "stolen" not in (run_dir / "agent.log").read_text()


def test_a_pipe_in_the_place_of_a_status_holds_nobody_up(host: Host) -> None:
    host.attack(host.launch("attacker"), "for name in ('status.json', 'journal.jsonl'): os.mkfifo(name)")
    run_dir = host.rundirs.path("attacker", 1)
    assert host.rundirs.status(run_dir) is None
    assert host.rundirs.journal(run_dir, 0, 1000).data == b""
    with pytest.raises(JournalCorrupt):
        read_entries(host.rundirs.journal(run_dir, 1, 1000).data, 0)


def test_what_the_worker_left_is_handed_over_and_links_are_not_followed(host: Host) -> None:
    launch = host.launch("pipeline")
    key = host.state / "secret_key"
    key.write_text("a key")
    key.chmod(0o600)
    root = Path(launch.checkpoint_root) / "in.out"
    root.mkdir(parents=True)
    (root / "offsets").write_text("1")
    (root / "link").symlink_to(key)
    (root / "name").hardlink_to(key)
    (launch.data_root / "files").mkdir(parents=True)
    (launch.data_root / "files" / "in.json").write_text("{}")
    paths = [str(root / "offsets"), str(launch.data_root / "files" / "in.json")]
    code = f"""
for path in {paths!r}:
    open(path, "a").write(" ")
    answer[path] = open(path).read()
"""
    assert list(host.attack(launch, code).values()) == ["1 ", "{} "]
    assert (key.stat().st_uid, key.stat().st_mode & 0o777, key.read_text()) == (0, 0o600, "a key")


def test_each_pipeline_keeps_a_user_that_no_other_has(host: Host) -> None:
    launches = [host.launch(f"pipeline-{number}") for number in range(10)]
    users: list[AgentUser | None] = []
    for name in [each.pipeline for each in launches]:
        launch = host.launch(name)
        control = Control(seq=1, command=Command.RUN, boot_id=protocol.boot_id(), issued_at=0)
        host.rundirs.prepare(host.rundirs.path(name, 1), launch, control)
        users.append(launch.user)
    assert len({user.uid for user in users if user}) == 10
    assert [host.launch(each.pipeline).user for each in launches] == users
    taken = sorted(user.uid for user in users if user)
    full = Accounts(host.state, AgentUids(first=taken[0] - 1, last=taken[0]), UIDS.first)
    with pytest.raises(Exhausted):
        full.of("another", "its id")


def test_a_host_that_cannot_says_so(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = host.state / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(sys, "executable", PYTHON)
    site = next(path for path in sys.path if path.endswith("site-packages"))
    monkeypatch.setattr(accounts, "_PROJECT", f"{accounts._PROJECT}:{site}")
    offered, found = accounts.set_up(host.state, UIDS, UIDS.first, [])
    assert (found.state, offered is not None) == (IsolationState.USER, True), found
    offered, found = accounts.set_up(host.state, UIDS, UIDS.first, [str(closed / "jars")])
    assert offered is None
    assert str(closed) in found.detail
    assert found.hint
    broken = host.state.parent / "broken"
    broken.mkdir()
    (broken / "ssl.py").write_text("raise ImportError('a library is missing', path='/usr/lib/_ssl.so')")
    broken.chmod(0o755)
    (broken / "ssl.py").chmod(0o644)
    with monkeypatch.context() as patched:
        patched.setattr(accounts, "_PROJECT", f"{broken}:{accounts._PROJECT}")
        offered, found = accounts.set_up(host.state, UIDS, UIDS.first, [])
    assert offered is None
    assert "cannot use /usr/lib/_ssl.so" in found.detail
    without = "import os; os.setresuid(700001, 700001, 700001)\n" + PRIVILEGED
    env = {"PYTHONPATH": f"{Path(__file__).resolve().parents[2]}:{site}", "PATH": os.environ["PATH"]}
    said = subprocess.run([PYTHON, "-c", without], env=env, cwd="/", capture_output=True, text=True, check=True).stdout
    assert "CAP_SETUID" in said


PRIVILEGED = """
from pathlib import Path
from pipelines.domain.hosts.isolation import AgentUids
from workers.adapters.isolation.accounts import set_up
print(set_up(Path("/nowhere"), AgentUids(), 60578, [])[1].detail)
"""


def complete_files(directory: Path) -> list[Path]:
    """The files of a sink, without those that it is about to write or keeps for itself."""
    found: list[Path] = []
    for top, below, names in os.walk(directory):
        below[:] = [name for name in below if name[0] not in "._"]
        found += [Path(top, name) for name in names if name[0] not in "._"]
    return found


def test_a_real_agent_delivers_as_a_user_without_a_name_and_stops(host: Host) -> None:
    """Driver, JVM and Hadoop's file systems; the sink's directory is open to the group of all agents."""
    out = host.state.parent / "out"
    out.mkdir()
    os.chown(out, -1, UIDS.first)
    out.chmod(0o770)
    definition = {
        "api_version": "headgate/v1",
        "name": "real",
        "sources": {"numbers": {"type": "sequence", "rate": 1000, "limit": 2000, "body": "{n}"}},
        "channels": {"lake": {"type": "file"}},
        "sinks": {
            "lake": {"channel": "lake", "type": "file", "path": str(out), "format": "text", "roll": {"interval": 0}}
        },
        "delivery": {"trigger_interval_ms": 200},
    }
    module = Path(shutil.copy(class_path()[0], out.parent))
    module.chmod(0o644)
    launch = host.launch("real").model_copy(
        update={
            "definition": definition,
            "reach": ReachPolicy(roots=(AllowedRoot(path=str(out), mode="write"),)),
            "spark": SparkSettings(classpath=[str(module)]),
        }
    )
    site = next(path for path in sys.path if path.endswith("site-packages"))
    run_dir = host.rundirs.path("real", 1)
    now = protocol.boottime()
    host.rundirs.prepare(
        run_dir, launch, Control(seq=1, command=Command.RUN, boot_id=protocol.boot_id(), issued_at=now)
    )
    paths = f"PYTHONPATH={Path(__file__).resolve().parents[2]}:{site}"
    argv = ["/usr/bin/env", paths, PYTHON, "-P", "-m", "workers.agent", str(run_dir)]
    keeper = f"import sys, pathlib, workers.keeper.keeper as k; k.main(pathlib.Path(sys.argv[1]), {argv!r})"
    host.started.append(launch.token)
    HostProcesses((sys.executable, "-c", keeper)).spawn_keeper(run_dir, launch.token, Handover())

    def over_or(condition: bool) -> bool:
        assert not (run_dir / protocol.EXIT).exists(), (run_dir / protocol.LOG).read_text()
        return condition

    def delivered() -> bool:
        written = [path.read_text().split() for path in complete_files(out)]
        return over_or(sorted(map(int, chain(*written))) == list(range(2000)))

    wait_for(delivered, "all events are delivered", timeout=150)
    assert launch.user is not None
    assert {path.stat().st_uid for path in complete_files(out)} == {launch.user.uid}
    running = HostProcesses().holders()[launch.token]
    uids = {Path(f"/proc/{each.pid}").stat().st_uid for each in running}
    assert uids == {0, launch.user.uid}
    stop = Control(seq=2, command=Command.STOP, boot_id=protocol.boot_id(), issued_at=protocol.boottime())
    host.rundirs.write_control(run_dir, stop)
    wait_for((run_dir / protocol.EXIT).exists, "it ends", timeout=60)
    record = host.rundirs.exit_record(run_dir)
    assert record is not None
    assert record.exit_code == 0, (run_dir / protocol.LOG).read_text()
    assert launch.token not in HostProcesses().holders()


def test_a_look_at_positions_runs_as_the_pipelines_user_too(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens what the definition names, as an agent does."""
    top, user = host.state.parent, host.launch("pipeline").user
    assert user is not None
    python = top / "python"
    python.write_text(f'#!/bin/sh\nexport PYTHONPATH="$PYTHONPATH:{top}"\nexec {PYTHON} "$@"\n')
    (top / "look.py").write_text("import os; print(os.getresuid(), open('/proc/self/status').read())")
    python.chmod(0o755)
    (top / "look.py").chmod(0o644)
    monkeypatch.setattr(sys, "executable", str(python))
    child = surveys._child("look", user)
    said, log = child.communicate(timeout=30)
    assert said.decode().startswith(str((user.uid,) * 3)), log.decode()
    assert "NoNewPrivs:\t1" in said.decode()
