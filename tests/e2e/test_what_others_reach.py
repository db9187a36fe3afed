"""Another user of the machine beside a running stack: which files open, and which ports answer from outside."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psutil
import pytest

from pipelines.domain.runs.protocol import ProcessIdentity
from tests.agent.listening import is_loopback
from tests.chaos.installation import Installation

STRANGER = 65534
READABLE = 'while IFS= read -r path; do [ -r "$path" ] && echo "$path"; done; true'
PRIVATE = ("secret_key", "headgate.sqlite3", "up")


def listening(service: Path) -> set[tuple[str, str]]:
    """The name of a service, with each address that it or a process below it listens on. What makes previews has a name
    of its own: its Spark listens as that of an agent does."""
    found = psutil.Process(ProcessIdentity.model_validate_json(service.read_bytes()).pid)
    previewers = [each for each in found.children() if "workers.agent.evaluation.previewer" in each.cmdline()]
    beside = {below for each in previewers for below in [each, *each.children(recursive=True)]}
    return {
        ("previewer" if process in beside else service.stem, each.laddr.ip)
        for process in [found, *found.children(recursive=True)]
        for each in process.net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    }


def test_every_port_of_the_stack_is_on_the_loopback_interface(installation: Installation) -> None:
    services = sorted((installation.state / "up").glob("*.json"))
    found = {each for service in services for each in listening(service)}
    assert {name for name, _ in found} >= {"web", "redis", "kafka"}
    assert [each for each in found if not is_loopback(each[1])] == []
    assert "worker" not in {name for name, _ in found}


def test_files_of_the_stack_are_closed(installation: Installation) -> None:
    assert installation.state.stat().st_mode & 0o007 == 0
    for name in PRIVATE:
        assert (installation.state / name).stat().st_mode & 0o077 == 0, name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_opens_no_file_of_the_stack(installation: Installation) -> None:
    paths = [installation.state, *installation.state.rglob("*")]
    assert len(paths) > 20
    tried = subprocess.run(
        ["sh", "-c", READABLE],
        input="\n".join(["/bin/sh", *map(str, paths)]),
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        user=STRANGER,
        group=STRANGER,
        extra_groups=[],
    )
    assert tried.stdout == "/bin/sh\n"
