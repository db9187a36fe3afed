"""What is posted and what commands print is taken in as Flume does it, without its losses."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from controlplane.install.services.ports import free_port
from pipelines.domain.definitions.components.source.exec import ExecSource
from pipelines.domain.definitions.components.source.http import HttpSource
from tests.vectors import Vector, drives
from tests.waiting import wait_for
from workers.agent.push import answers as counts
from workers.agent.push import command_state
from workers.agent.push import log as logs
from workers.agent.push.answers import Answers
from workers.agent.push.command import CommandPump, Lines
from workers.agent.push.event import Event
from workers.agent.push.http import Application, Refusal, json_events
from workers.agent.push.log import IngestBuffer, Pin
from workers.agent.push.process import PushProcess
from workers.agent.push.reader import events
from workers.agent.push.taking import IngestThread


class Listening:
    """The HTTP source over a log, called as an ASGI server calls it."""

    def __init__(self, directory: Path, **keys: Any) -> None:
        keys = {"port": 1, "ingest_buffer": "memory", "keep_alive": 0.0} | keys
        self.spec = HttpSource.model_validate({"type": "http"} | keys)
        self.log = IngestBuffer(directory / "log", self.spec, durable=False)
        ingest_buffer = IngestThread(self.log, self.spec.transaction_capacity)
        ingest_buffer.start()
        self.answers = Answers(self.log.directory)
        self.application = Application(self.spec, self.log, ingest_buffer, self.answers)

    def send(self, method: str, path: str, content: bytes = b"", /, **headers: str) -> httpx.Response:
        async def request() -> httpx.Response:
            transport = httpx.ASGITransport(self.application)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=30) as client:
                return await client.request(method, path, content=content, headers=headers)

        return asyncio.run(request())

    def post(self, content: str | bytes, charset: str = "", **headers: str) -> httpx.Response:
        kind = {"content-type": f"application/json; charset={charset}"} if charset else {}
        body = content.encode() if isinstance(content, str) else content
        return self.send("POST", "/", body, **{**kind, **headers})

    def taken(self) -> list[Event]:
        return list(events(self.log.directory, 0, self.log.end))


def as_flume(found: list[Event]) -> list[dict[str, Any]]:
    return [{"headers": dict(event.headers), "body": (event.body or b"").decode()} for event in found]


@drives("HS-001", "HS-002", "HJ-001", "HJ-003")
def test_what_is_posted_is_taken_in_whatever_its_charset(vector: Vector, tmp_path: Path) -> None:
    (request,) = vector.input_events
    for charset in [request["charset"]] if "charset" in request else ["", "UTF-8", "UTF-16", "UTF-32"]:
        listening = Listening(tmp_path / (charset or "none"))
        answer = listening.post(request["post"].encode(charset or "utf-8"), charset)
        assert answer.status_code == vector.expected.get("http", 200), answer.text
        assert as_flume(listening.taken()) == vector.expected["events"]


@drives("HS-005")
def test_a_handler_that_breaks_is_answered_with_500(vector: Vector, tmp_path: Path) -> None:
    assert vector.input_events == [{"post": "handler broken"}]
    listening = Listening(tmp_path)
    listening.application._events = None  # type: ignore[assignment,method-assign]
    assert listening.post("[]").status_code == vector.expected["http"]


@drives("HS-007")
def test_methods_that_tell_of_the_server_are_forbidden(vector: Vector, tmp_path: Path) -> None:
    listening = Listening(tmp_path)
    for method in vector.input_events[0]["methods"]:
        assert listening.send(method, "/").status_code == vector.expected["http"]


OLDER_THAN_TLS_1_2 = {"SSLv3": ssl.TLSVersion.TLSv1_1}
"""Python's own OpenSSL speaks nothing older."""


@drives("HS-008")
def test_old_tls_is_refused(vector: Vector, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True, timeout=60)
    port = free_port()
    with pushing(tmp_path, "http", {"port": port, "tls_certificate": str(certificate), "tls_key": str(key)}):
        wait_for(lambda: _answers(f"https://127.0.0.1:{port}/"), "the port to answer over TLS")
        warnings.simplefilter("ignore", DeprecationWarning)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.maximum_version = OLDER_THAN_TLS_1_2[vector.input_events[0]["tls"]]
        errors = {httpx.ConnectError: "tls_handshake"}
        with pytest.raises(httpx.ConnectError) as raised:
            httpx.get(f"https://127.0.0.1:{port}/", verify=old)
        assert errors[raised.type] == vector.error


def _answers(url: str) -> bool:
    try:
        return httpx.post(url, content="[]", verify=False, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


@drives("HJ-006")
def test_what_is_no_json_is_a_bad_request(vector: Vector, tmp_path: Path) -> None:
    answer = Listening(tmp_path).post(vector.input_events[0]["post"])
    assert {400: "bad_request"}[answer.status_code] == vector.error
    assert "not JSON" in answer.json()["detail"]


@drives("EX-002", "EX-007", "EX-008")
def test_lines_that_a_command_prints_are_events(vector: Vector, tmp_path: Path) -> None:
    command, shell = vector.config["command"], vector.config["shell"].split()
    found = printed(tmp_path, command=command, shell=shell)
    assert [(event.body or b"").decode() for event in found] == vector.expected["bodies"]


def test_a_command_is_read_beside_thousands_of_open_files(tmp_path: Path) -> None:
    with ExitStack() as files:
        for _ in range(1100):
            files.enter_context(Path(os.devnull).open())
        assert [event.body for event in printed(tmp_path, command="echo one")] == [b"one"]


@drives("EX-018")
def test_what_a_command_started_ends_with_it(vector: Vector, tmp_path: Path) -> None:
    mark = f"{os.getpid()}.5"
    command = vector.config["command"].replace("1000", f"1000 {mark}")
    pump, _ = pump_of(tmp_path, command=command, shell=vector.config["shell"].split())
    thread = threading.Thread(target=pump.run, daemon=True)
    thread.start()
    wait_for(lambda: sleeping(mark), "the command's child")
    pump.stop()
    thread.join(20)
    gone = {"kill the whole process group / session": lambda: not sleeping(mark)}
    wait_for(gone[vector.expected["ours_must"]], "the command's child to be gone")


def sleeping(mark: str) -> list[Path]:
    """Living processes called sleep with the mark as an argument."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cmdline").read_bytes().split(b"\0")[:3] == [b"sleep", b"1000", mark.encode()]:
                found.append(path)
        except OSError:
            continue
    return found


def pump_of(tmp: Path, **keys: Any) -> tuple[CommandPump, IngestBuffer]:
    spec = ExecSource.model_validate({"type": "exec", "keep_alive": 0.0, **keys})
    log = IngestBuffer(tmp / "log", spec, durable=False)
    return CommandPump(spec, log), log


def reports(tmp: Path, **keys: Any) -> tuple[CommandPump, list[str]]:
    """A pump, and what it says of the command."""
    pump, log = pump_of(tmp, **keys)
    found: list[str] = []
    return CommandPump(pump._spec, log, found.append), found


BASH = ["/bin/bash", "-c"]


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        ("echo out; echo first >&2; echo no space left >&2; exit 3", "exit status 3: no space left"),
        ("echo 'no end of line' >&2 | cat; printf 'the last' >&2; exit 1", "exit status 1: the last"),
        ("echo told >&2; echo ' ' >&2; exit 2", "exit status 2: told"),
        ("exit 7", "exit status 7"),
        ("exec >&-; sleep 0.3; echo late >&2; exit 4", "exit status 4: late"),
        ("echo dies >&2; kill -9 $$", "signal 9 (SIGKILL): dies"),
        (r"printf '\xff\xfe\n' >&2; exit 5", "exit status 5: \ufffd\ufffd"),
        ("head -c 300000 /dev/zero | tr '\\0' x >&2; exit 6", "exit status 6: " + 500 * "x"),
        ("echo full stop. >&2; exit 8", "exit status 8: full stop"),
    ],
)
@pytest.mark.parametrize("log_stderr", [False, True])
def test_a_command_that_fails_says_how_and_its_last_words(
    tmp_path: Path, command: str, cause: str, log_stderr: bool
) -> None:
    pump, found = reports(tmp_path, command=command, shell=BASH, log_stderr=log_stderr)
    pump.run()
    assert found == [f"The command ended with {cause}. It is not started again, since restart is false."]


def test_a_command_that_ends_well_or_is_stopped_has_not_failed(tmp_path: Path) -> None:
    pump, found = reports(tmp_path, command="echo done; echo a warning >&2", shell=BASH)
    pump.run()
    stopped, said = reports(tmp_path / "stopped", command="sleep 1000")
    thread = threading.Thread(target=stopped.run, daemon=True)
    thread.start()
    wait_for(lambda: stopped._child is not None, "the command")
    stopped.stop()
    thread.join(20)
    assert (found, said) == ([], [])


def test_a_command_that_cannot_be_started_has_failed(tmp_path: Path) -> None:
    pump, found = reports(tmp_path, command=[str(tmp_path / "nothing")])
    pump.run()
    assert len(found) == 1
    assert found[0].startswith("The command cannot be started: ")


def test_a_command_that_is_started_again_is_well_once_it_prints(tmp_path: Path) -> None:
    once = tmp_path / "once"
    command = f"if [ ! -e {once} ]; then touch {once}; echo first >&2; exit 3; fi; echo line; exec sleep 1000"
    pump, found = reports(tmp_path, command=command, shell=BASH, restart=True, restart_throttle_ms=10)
    thread = threading.Thread(target=pump.run, daemon=True)
    thread.start()
    wait_for(lambda: len(found) == 2, "the second try")
    pump.stop()
    thread.join(20)
    assert found == ["The command ended with exit status 3: first. It is started again after 0.01 s.", ""]


def test_the_agent_reads_why_the_command_of_its_push_process_is_down(tmp_path: Path) -> None:
    with pushing(tmp_path, "exec", {"command": "echo no disk >&2; exit 3", "shell": BASH}) as process:
        process.wait(30)
    said = command_state.read(tmp_path / "log")
    assert said.startswith("The command ended with exit status 3: no disk.")
    command_state.forget(tmp_path / "log")
    assert command_state.read(tmp_path / "log") == ""


def printed(tmp: Path, **keys: Any) -> list[Event]:
    pump, log = pump_of(tmp, **keys)
    pump.run()
    return list(events(log.directory, 0, log.end))


class pushing:  # noqa: N801 - used like a function
    """The push process, as the agent starts it."""

    def __init__(self, tmp: Path, kind: str, keys: dict[str, Any]) -> None:
        spec = {"type": kind, **keys}
        options = {"type": kind, "spec": spec, "directory": str(tmp / "log"), "durable": True, "extent": str(tmp / "x")}
        argv = [sys.executable, "-P", "-m", "workers.agent.push.push"]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, env=environment, text=True)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(options) + "\n")
        self.process.stdin.flush()

    def __enter__(self) -> subprocess.Popen[str]:
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(20)


def test_a_full_log_is_answered_with_503_that_names_what_pins_it_and_never_fits_with_413(tmp_path: Path) -> None:
    listening = Listening(tmp_path, capacity=100, transaction_capacity=100)
    ten = json.dumps([{"headers": {}, "body": str(n)} for n in range(75)])
    assert listening.post(ten).json() == {"accepted": 75}
    logs.write_pin(listening.log.directory, Pin("audit", "sinks.audit", "refused"))
    full = listening.post(ten)
    assert (full.status_code, full.headers["retry-after"]) == (503, "1")
    assert "channel audit, held by sinks.audit (refused)" in full.json()["detail"]
    assert listening.post(json.dumps([{"body": "x"}] * 150)).status_code == 413
    assert len(listening.taken()) == 75


def test_requests_are_refused_clearly(tmp_path: Path) -> None:
    listening = Listening(tmp_path, token="s3cret", max_request_bytes=50)
    good = {"authorization": "Bearer s3cret"}
    assert listening.post("[]").status_code == 401
    assert listening.post("[]", authorization="Bearer wrong").status_code == 401
    assert listening.post("[]", **good).status_code == 200
    assert listening.post("[" + " " * 60 + "]", **good).status_code == 413
    assert listening.send("GET", "/", **good).status_code == 405
    assert listening.send("POST", "/elsewhere", b"[]", **good).status_code == 404
    assert listening.post("[]", "ISO-8859-1", **good).status_code == 415
    assert listening.log.end == 0
    listening.answers.write()
    assert counts.read(listening.log.directory) == {"200": 1, "401": 2, "404": 1, "405": 1, "413": 1, "415": 1}
    again = Answers(listening.log.directory)
    again.note(200)
    again.write()
    assert counts.read(listening.log.directory)["200"] == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[1]",
        '[{"headers": {"a": 1}, "body": "x"}]',
        '[{"body": 1}]',
        '[{"body": "\\ud800"}]',
        "[" * 100_000,
        '[{"headers": [], "body": "x"}, 2]',
        "\x00",
    ],
)
def test_what_is_no_array_of_events_is_a_bad_request(content: str) -> None:
    with pytest.raises(Refusal) as refusal:
        json_events(content.encode())
    assert refusal.value.status == 400


@pytest.mark.parametrize("item", ["{}", '{"headers": {"a": "1"}}', '{"body": null}', '{"headers": null, "body": ""}'])
def test_a_json_event_without_a_body_is_an_empty_one(tmp_path: Path, item: str) -> None:
    listening = Listening(tmp_path)
    assert listening.post(f'[{item}, {{"body": "x"}}]').status_code == 200
    assert [event.body for event in listening.taken()] == [b"", b"x"]


def test_a_blob_is_one_event_with_the_parameters_as_headers(tmp_path: Path) -> None:
    listening = Listening(tmp_path, handler="blob")
    assert listening.send("POST", "/?a=1&b=x%20y", b"\x00\xff").status_code == 200
    (event,) = listening.taken()
    assert (event.body, dict(event.headers)) == (b"\x00\xff", {"a": "1", "b": "x y"})


def test_many_senders_at_once_are_all_taken_in(tmp_path: Path) -> None:
    listening = Listening(tmp_path)
    threads = [threading.Thread(target=lambda n=n: listening.post(json.dumps([{"body": str(n)}]))) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(event.body or b"") for event in listening.taken()) == list(range(20))


def test_a_line_that_is_too_long_or_undecodable_has_a_problem() -> None:
    lines = Lines(5, "ascii")
    found = [*lines.feed(b"ok\r\n12345"), *lines.feed(b"6789"), *lines.feed(b"0\n\xff\n"), *lines.feed(b"end")]
    found += [*lines.end()]
    assert [event.body for event in found] == [b"ok", b"12345", b"\xff", b"end"]
    assert found[1].problem == "The line has 10 bytes; 5 are allowed."
    assert "not in ascii" in str(found[2].problem)


def test_a_full_log_holds_the_command_back_and_loses_no_line(tmp_path: Path) -> None:
    pump, log = pump_of(
        tmp_path, command="seq 300", capacity=50, transaction_capacity=50, batch_size=20, batch_timeout_ms=10
    )
    thread = threading.Thread(target=pump.run, daemon=True)
    thread.start()
    found: list[bytes | None] = []

    def drained() -> bool:
        end = logs.end(log.directory)
        found.extend(event.body for event in events(log.directory, len(found), end))
        logs.acknowledge(log.directory, end)
        return len(found) == 300

    wait_for(drained, "all lines", 60)
    thread.join(20)
    assert found == [str(n).encode() for n in range(1, 301)]


def test_a_push_process_ends_with_its_cord_and_takes_its_command_with_it(tmp_path: Path) -> None:
    mark = f"{os.getpid()}.7"
    keys = {"command": f"sleep 1000 {mark} & wait", "shell": ["/bin/bash", "-c"]}
    with pushing(tmp_path, "exec", keys) as process:
        wait_for(lambda: sleeping(mark), "the command's child")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0
        wait_for(lambda: not sleeping(mark), "the command's child to be gone")


@pytest.mark.parametrize("end", ["cord", "command"])
def test_a_process_that_left_the_group_of_its_command_ends_with_it(tmp_path: Path, end: str) -> None:
    mark = f"{os.getpid()}.9"
    rest = "wait; sleep 1000" if end == "cord" else "wait"
    keys = {"command": f"(setsid sleep 1000 {mark} > /dev/null 2>&1 &) & {rest}", "shell": BASH}
    with pushing(tmp_path, "exec", keys) as process:
        if end == "cord":
            wait_for(lambda: sleeping(mark), "the command's daemon")
            assert process.stdin is not None
            process.stdin.close()
        assert process.wait(20) == 0
        assert not sleeping(mark)


MISSED = """
import os, subprocess, sys
from workers.agent.push import orphans
child = subprocess.Popen(["sleep", "1000"])
listed, missed = orphans._children, iter([[]])
orphans._children = lambda: next(missed, listed())
orphans.end()
sys.exit(os.path.exists(f"/proc/{child.pid}"))
"""


def test_a_process_that_the_kernels_list_of_children_misses_ends_too() -> None:
    """The list says less than there is while another child ends (proc_pid_task_children(5))."""
    subprocess.run([sys.executable, "-c", MISSED], check=True, timeout=30)


def test_a_push_process_that_is_closed_lets_go_of_its_port_and_is_not_started_again(tmp_path: Path) -> None:
    port = free_port()
    spec = {"type": "http", "port": port}
    options = {"type": "http", "spec": spec, "directory": str(tmp_path / "log"), "durable": True}
    push = PushProcess("sources.shop", {**options, "extent": str(tmp_path / "x")})
    push.start()
    wait_for(lambda: _answers(f"http://127.0.0.1:{port}/"), "the port to answer")
    push.close()
    assert push._thread is not None
    push._thread.join(20)
    assert not push._thread.is_alive()
    assert not _answers(f"http://127.0.0.1:{port}/")
    assert push.failure == ""
    early = PushProcess("sources.shop", {**options, "extent": str(tmp_path / "x")})
    early.close()
    early.start()
    assert early._thread is not None
    early._thread.join(20)
    assert not early._thread.is_alive()


def test_a_killed_push_process_has_every_accepted_event(tmp_path: Path) -> None:
    port = free_port()
    accepted = 0
    with pushing(tmp_path, "http", {"port": port}) as process:
        wait_for(lambda: _answers(f"http://127.0.0.1:{port}/"), "the port to answer")
        kill = threading.Timer(0.5, lambda: process.send_signal(signal.SIGKILL))
        deadline = time.monotonic() + 60
        with httpx.Client(timeout=30) as client:
            while time.monotonic() < deadline:
                try:
                    answer = client.post(f"http://127.0.0.1:{port}/", json=[{"body": str(accepted)}])
                except httpx.HTTPError:
                    break
                accepted += answer.status_code == 200
                if accepted and kill.ident is None:
                    kill.start()
    log = IngestBuffer(tmp_path / "log", HttpSource(type="http", port=1), durable=True)
    found = [int(event.body or b"") for event in events(log.directory, 0, log.end)]
    assert found[:accepted] == list(range(accepted))
    assert accepted > 0
