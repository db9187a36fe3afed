"""A canary secret in a whole installation: stored, used, quoted in an error, and nowhere to be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from controlplane.devstack.client import Refused
from pipelines.domain.runs.protocol import TOKEN_VARIABLE
from tests.chaos.installation import PROJECT, Installation, wait_for
from tests.chaos.stream import MOVING_WITHIN, Stream

CANARY = "canary-4c7d21e0"
OPTIONS = {"sasl.mechanism": "PLAIN", "sasl.username": "shop", "sasl.password": "${secret:canary}"}


@pytest.fixture(scope="module")
def stored(shared_stream: Stream) -> Installation:
    """The canary, set by the command line from its standard input."""
    installation = shared_stream.installation
    http = installation.api._http
    url = str(http.base_url).removesuffix("/api/v1/").removesuffix("/api/v1")
    token = http.headers["Authorization"].removeprefix("Token ")
    broker = shared_stream.demo.definition()["sources"]["orders"]["bootstrap_servers"]
    binding = ["--pipeline", "*", "--destination", broker]
    command = "from controlplane.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "secrets", "set", "canary", *binding],
        cwd=PROJECT,
        env={"HEADGATE_URL": url, "HEADGATE_TOKEN": token, "PATH": "/usr/bin:/bin"},
        input=CANARY,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"canary: version 1\nIt goes to {broker}, for *.\n"), done.stderr
    return installation


def definition(stream: Stream, name: str, options: dict[str, Any]) -> dict[str, Any]:
    made = stream.demo.definition() | {"name": name}
    made["sources"]["orders"] |= {"group_id": name, "options": options}
    return made


def answers(installation: Installation, name: str) -> Iterator[tuple[str, str]]:
    """Whatever the API says of a pipeline and of the store."""
    api, one = installation.api, f"/pipelines/{name}"
    paths = [one, *(f"{one}/{each}" for each in ("status", "runs", "revisions", "revisions/1", "ledger"))]
    paths += ["/secrets", "/events?limit=500", "/audit?limit=500", "/operations?limit=500", "/hosts", "/pipelines"]
    logs = list((installation.state / "runs" / name).glob("*/agent.log"))
    paths += [f"/runs/{run['id']}/log?tail=10000" for run in api.get(f"{one}/runs")["results"] if logs]
    for path in paths:
        yield path, json.dumps(api.get(path))
    page = httpx2.get(str(api._http.base_url).split("/api")[0] + f"/pipelines/{name}")
    yield "page", page.text


def processes(installation: Installation) -> Iterator[tuple[str, bytes]]:
    """argv and environ of the stack's processes and of those of every run."""
    marks = (str(installation.state).encode(), f"{TOKEN_VARIABLE}=".encode())
    for pid in psutil.pids():
        try:
            content = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if any(mark in content for mark in marks):
            yield f"process {pid}", content


def files(installation: Installation) -> Iterator[tuple[str, bytes]]:
    """The state directory with database, Redis and run directories, and what the stack has printed."""
    below = [Path(top, name) for top, _, names in os.walk(installation.state) for name in names]
    for path in [*below, installation.log]:
        try:
            if path.is_file() and "kafka" not in path.parts:
                yield str(path), path.read_bytes()
        except FileNotFoundError:
            continue


def assert_hidden(installation: Installation, name: str) -> None:
    for place, text in answers(installation, name):
        assert CANARY not in text, place
    found = [*processes(installation), *files(installation)]
    assert len([place for place, _ in found if place.startswith("process")]) >= 4
    assert any(place.endswith("sqlite3") for place, _ in found)
    for place, content in found:
        assert CANARY.encode() not in content, place


def test_a_pipeline_runs_with_a_secret_that_nobody_can_read(stored: Installation, stream: Stream) -> None:
    api, name = stored.api, "with-secret"
    api.post("/pipelines", {"definition": definition(stream, name, OPTIONS)})
    api.act(name, "start", timeout=MOVING_WITHIN)
    wait_for(lambda: api.get(f"/pipelines/{name}")["phase"] == "RUNNING", MOVING_WITHIN, "it runs")
    assert_hidden(stored, name)
    assert [secret["used_by"] for secret in api.get("/secrets")["results"]] == [[name]]
    with pytest.raises(Refused, match=name):
        api.delete("/secrets/canary")
    launch = stored.state / "runs" / name / "1" / "launch.json"
    assert "${secret:canary}" in launch.read_text()
    api.act(name, "stop", timeout=MOVING_WITHIN)
    assert_hidden(stored, name)


def test_where_an_error_would_quote_the_secret_it_is_not_accepted(stored: Installation, stream: Stream) -> None:
    """A value that is no number where one is needed: the exception would quote it."""
    with pytest.raises(Refused, match="secret is not allowed here"):
        stored.api.post(
            "/pipelines", {"definition": definition(stream, "quoting", {"request.timeout.ms": "${secret:canary}"})}
        )
    assert [each["name"] for each in stored.api.get("/pipelines")["results"] if each["name"] == "quoting"] == []


def test_the_key_file_of_a_new_installation_is_private(stored: Installation) -> None:
    file = stored.state / "secret_store.keys"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_text().split()) == 1
