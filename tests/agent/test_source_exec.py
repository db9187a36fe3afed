"""What a command prints, and that it never outlives its agent."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.agent.harness import alive
from tests.agent.sources import MakeSourcePipeline, bodies, make_source_pipeline
from tests.waiting import wait_for

__all__ = ["make_source_pipeline"]


def followers(path: Path) -> list[int]:
    """Living processes whose command line names the file."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0] if line else "Z"
        except OSError:
            continue
        if str(path).encode() in line and b"tail" in line and state != "Z":
            found.append(int(entry.name))
    return found


def test_lines_arrive_and_the_command_dies_with_its_agent_and_even_with_its_keeper(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    log = tmp_path / "followed.log"
    log.write_text("".join(f"old {n}\n" for n in range(10)))
    source = {
        "type": "exec",
        "shell": ["/bin/bash", "-c"],
        "command": f"tail -n +1 -F {log} & wait",
        "batch_timeout_ms": 100,
        "restart": True,
        "restart_throttle_ms": 100,
    }
    pipeline = make_source_pipeline(source)
    run = pipeline.start()
    run.wait_delivered(10)
    with log.open("a") as file:
        file.writelines(f"new {n}\n" for n in range(500))
    run.wait_delivered(510)
    assert len(followers(log)) >= 1
    os.kill(run.pid("driver"), signal.SIGKILL)
    wait_for(lambda: not followers(log), "the command to be gone", 10)
    run.wait_exit()

    run = pipeline.start()
    run.wait_delivered(510)
    keeper, driver = run.pid("keeper"), run.pid("driver")
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: not alive(driver), "the driver to end without its keeper", 60)
    wait_for(lambda: not followers(log), "the command to be gone", 10)
    assert bodies(tmp_path / "out").keys() == {f"old {n}" for n in range(10)} | {f"new {n}" for n in range(500)}


def test_a_command_that_fails_is_seen_and_what_it_printed_is_delivered(
    make_source_pipeline: MakeSourcePipeline,
) -> None:
    source = {
        "type": "exec",
        "shell": ["/bin/bash", "-c"],
        "command": "echo one; echo two; echo no space left >&2; exit 3",
        "batch_timeout_ms": 100,
    }
    pipeline = make_source_pipeline(source)
    run = pipeline.start()
    run.wait_delivered(2)

    def failed() -> bool:
        states = run.status.components if run.status else []
        return any(state.kind == "source" and state.state == "failed" for state in states)

    wait_for(failed, "the command's failure", 60)
    assert run.status is not None
    (source_state,) = [state for state in run.status.components if state.kind == "source"]
    assert source_state.detail.startswith("The command ended with exit status 3: no space left.")
    (buffer,) = run.status.ingest_buffers
    assert buffer.failure == source_state.detail
