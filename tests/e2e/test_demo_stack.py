"""The local stack as a user has it: one foreground process, started, disturbed and stopped from outside."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from controlplane.devstack import demo
from controlplane.devstack.client import Api
from controlplane.install.services.interrupt import Interrupt
from controlplane.install.services.kafka import running_kafka
from controlplane.install.services.ports import free_port
from controlplane.install.services.redis import running_redis
from pipelines.domain.runs.protocol import ProcessIdentity
from tests.java import quick_java

PROJECT = Path(__file__).resolve().parents[2]
READY = "Ctrl-C stops everything."


class Up:
    """A running `manage.py up` with its output in a file, below a state directory of its own."""

    def __init__(self, state: Path, *arguments: str, **more: str) -> None:
        self.state = state
        self.log = state.parent / "up.log"
        self.web = free_port()
        more = {"JAVA_HOME": quick_java(state.with_name("java")), **more}
        ports = ["--web-port", str(self.web), "--redis-port", str(free_port()), "--kafka-port", str(free_port())]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", *ports, *arguments],
                cwd=PROJECT,
                env=environment(state, **more),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def says(self, text: str, timeout: float = 240) -> None:
        assert wait(lambda: text in self.output or self.process.poll() is not None, timeout), self.output[-5000:]
        assert text in self.output, self.output[-5000:]

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def child(self, name: str) -> ProcessIdentity | None:
        try:
            return ProcessIdentity.model_validate_json((self.state / "up" / f"{name}.json").read_bytes())
        except OSError:
            return None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.web}"

    def token(self) -> str:
        created = subprocess.run(
            [sys.executable, "manage.py", "create_token", "admin"],
            cwd=PROJECT,
            env=environment(self.state),
            capture_output=True,
            text=True,
            check=True,
            timeout=180,
        )
        return created.stdout.strip()

    def api(self) -> Api:
        return Api(self.address, self.token(), Interrupt())

    def metrics(self) -> dict[tuple[str, str], float]:
        """Values of the series that are about pipelines, by name and pipeline; of states those of the present one."""
        answer = httpx2.get(f"{self.address}/metrics", headers={"Authorization": f"Token {self.token()}"}, timeout=60)
        assert answer.status_code == 200, answer.text
        samples = [each for family in text_string_to_metric_families(answer.text) for each in family.samples]
        return {(each.name, each.labels.get("pipeline", "")): each.value for each in samples if each.value}

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(150)


def environment(state: Path, **more: str) -> dict[str, str]:
    """What a user's shell would have; the tests' own settings stay out of it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HEADGATE_", "DJANGO_"))}
    cache = {"HEADGATE_CACHE": os.environ["HEADGATE_CACHE"]} if "HEADGATE_CACHE" in os.environ else {}
    return {**inherited, **cache, "HEADGATE_STATE": str(state), **more}


def wait(condition: Callable[[], bool], timeout: float) -> bool:
    return Interrupt().wait(condition, timeout, poll=0.2)


def processes_of(state: Path) -> list[str]:
    """Command lines and environments that name the state directory, zombies left out."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), process.environ().get("HEADGATE_STATE", "")]
        except psutil.Error:
            continue
        if any(str(state) in word for word in words):
            found.append(" ".join(words))
    return found


@contextmanager
def up(state: Path, *arguments: str, **more: str) -> Iterator[Up]:
    running = Up(state, *arguments, **more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.send_signal(signal.SIGTERM)
            running.process.wait(150)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_a_killed_stack_hinders_no_other_and_ctrl_c_ends_a_demo_with_its_agents(state: Path) -> None:
    with up(state) as first:
        first.says(READY)
        password = re.search(r"password +(\S+)", first.output)
        first.process.kill()
        first.process.wait(10)
    with up(state, "--demo") as second:
        second.says("Ended kafka, left by a killed stack.")
        assert wait(lambda: second.output.count(READY) == 2, 240), second.output[-5000:]
        with up(state) as third:
            assert third.process.wait(180) == 1
            third.says(f"(process {second.process.pid}) already uses {state}")
        api = second.api()
        assert wait(lambda: delivered(api, "demo") > 0, 120), second.output[-5000:]
        assert any("workers.agent" in words for words in processes_of(state))
        metrics = second.metrics()
        for name in ("records_read_total", "records_delivered_total", "batch_duration_seconds_count"):
            assert metrics[(f"headgate_channel_{name}", "demo")] > 0
        assert metrics[("headgate_channel_ledger_balanced", "demo")] == 1
        assert ("headgate_pipeline_phase", "demo") in metrics
        assert second.interrupt() == 0
    assert password is not None
    assert second.output.count(password[1]) == 1
    assert "Everything has stopped." in second.output
    assert processes_of(state) == []


def delivered(api: Api, pipeline: str) -> int:
    return int(api.get(f"/pipelines/{pipeline}/ledger/summary")["delivered"])


def test_a_busy_port_is_named_with_the_flag_that_changes_it(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        refused = subprocess.run(
            [sys.executable, "manage.py", "up", "--web-port", str(port)],
            cwd=PROJECT,
            env=environment(state),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    assert refused.returncode == 1
    assert f"Port {port} on 127.0.0.1, wanted for the page, is in use." in refused.stderr
    assert "--web-port PORT, or HEADGATE_WEB_PORT=PORT" in refused.stderr


def test_agents_outlive_a_stack_with_the_users_own_redis_and_kafka_until_one_is_told_to_end_them(state: Path) -> None:
    own = state.parent
    with running_kafka(own / "kafka") as servers, running_redis(own / "redis") as redis:
        own_ones = ("--no-kafka", "--no-redis")
        with up(state, *own_ones, HEADGATE_REDIS_URL=redis) as first:
            first.says(READY)
            assert (first.child("redis"), first.child("kafka")) == (None, None)
            demo.start(first.api(), demo.Demo("mine", servers))
            assert first.interrupt() == 0
        assert "The agents of mine continue without the control plane." in first.output
        assert any("workers.agent" in words for words in processes_of(state))
        with up(state, *own_ones, "--stop-agents", HEADGATE_REDIS_URL=redis) as second:
            assert wait(lambda: second.output.count(READY) == 2, 240), second.output[-5000:]
            runs = second.api().get("/pipelines/mine/runs")["results"]
            assert [(run["number"], run["state"]) for run in runs] == [(1, "LIVE")]
            assert second.interrupt() == 0
        assert processes_of(state) == []


def test_a_redis_that_does_not_answer_is_named(state: Path) -> None:
    with up(state, "--no-redis", HEADGATE_REDIS_URL=f"redis://:secret@127.0.0.1:{free_port()}/0") as stack:
        assert stack.process.wait(180) == 1
    assert re.search(r"No Redis answers at 127\.0\.0\.1:\d+/0, which --no-redis requires", stack.output)
    assert "secret" not in stack.output
