from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controlplane.provision import setup, steps
from controlplane.provision.steps import Ended, Step
from tests import steps as checks
from tests.waiting import wait_for

LIMIT = 20.0


def heed_interrupts() -> None:
    """A shell lets what it starts in the background ignore them, and all that comes from that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def shell(name: str, script: str, *needs: str) -> Step:
    return Step(name, ("sh", "-c", script), needs)


@pytest.mark.parametrize("plan", [setup.AGENTS, setup.HOST, setup.SETUP, checks.PLAN])
def test_every_step_has_a_name_of_its_own_and_needs_only_steps_before_it(plan: tuple[Step, ...]) -> None:
    names = [step.name for step in plan]
    assert len(set(names)) == len(names)
    assert all(set(step.needs) <= set(names[:position]) for position, step in enumerate(plan))


def test_chosen_steps_come_with_all_that_they_need_in_the_order_of_the_plan() -> None:
    plan = [shell("a", ""), shell("b", "", "a"), shell("c", ""), shell("d", "", "b")]
    assert [step.name for step in steps.chosen(plan, ["d"])] == ["a", "b", "d"]


def test_tests_wait_for_all_of_the_set_up_and_for_nothing_else() -> None:
    plan = checks.plan(["vitest"], ["pytest", "tests/unit"])
    assert plan[-1] == Step("tests", ("pytest", "tests/unit"), [step.name for step in setup.SETUP])
    assert [step.name for step in plan[len(setup.SETUP) : -1]] == ["tests of the dashboard"]


def test_steps_that_do_not_need_each_other_run_at_the_same_time(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    await_other = f"touch {{}}; for i in $(seq {LIMIT * 20:.0f}); do test -e {{}} && exit 0; sleep 0.05; done; exit 1"
    plan = [shell("one", await_other.format(mine, other)), shell("two", await_other.format(other, mine))]
    assert steps.run(plan, jobs=2) == 0


def test_no_more_steps_run_at_a_time_than_there_are_jobs(tmp_path: Path) -> None:
    alone = f"mkdir {tmp_path}/running && sleep 0.05 && rmdir {tmp_path}/running"
    assert steps.run([shell(name, alone) for name in "abc"], jobs=1) == 0


def test_a_step_runs_after_what_it_needs(tmp_path: Path) -> None:
    plan = [shell("first", f"sleep 0.1; touch {tmp_path}/done"), shell("second", f"test -e {tmp_path}/done", "first")]
    assert steps.run(plan, jobs=2) == 0


def test_a_failure_keeps_its_exit_code_and_its_output_comes_last(capfd: pytest.CaptureFixture[str]) -> None:
    plan = [
        shell("bad", "echo what is wrong; echo and where >&2; exit 7"),
        shell("needs it", "echo never", "bad"),
        shell("good", "sleep 0.2; echo first line; echo second line"),
    ]
    assert steps.run(plan, jobs=2) == 7
    shown = capfd.readouterr().out
    assert shown.endswith("\nbad:\nwhat is wrong\nand where\n")
    assert shown.index("first line\nsecond line\n") < shown.index("what is wrong")
    assert "needs it            not run" in shown
    assert "never" not in shown


def test_the_first_of_several_failures_is_the_one_that_is_told_last(capfd: pytest.CaptureFixture[str]) -> None:
    plan = [shell("early", "echo cause; exit 3"), shell("late", "sleep 0.2; echo consequence; exit 4")]
    assert steps.run(plan, jobs=2) == 3
    shown = capfd.readouterr().out
    assert shown.index("consequence") < shown.index("cause")


def test_an_interrupt_reaches_every_step_once_and_is_waited_for(tmp_path: Path) -> None:
    script = "trap 'echo interrupted >> {0}' INT; touch {0}; until test -s {0}; do sleep 0.05; done; echo over >> {0}"
    notes = [tmp_path / "one", tmp_path / "two"]
    plan = [("sh", "-c", script.format(note)) for note in notes]
    code = f"from controlplane.provision import steps\nsteps.run([steps.Step(c[-1], c) for c in {plan}])"
    running = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=heed_interrupts
    )
    wait_for(lambda: all(note.exists() for note in notes), "both steps", LIMIT)
    os.killpg(running.pid, signal.SIGINT)  # what a terminal does
    assert running.wait(LIMIT) != 0
    assert [note.read_text() for note in notes] == ["interrupted\nover\n"] * 2


def test_what_runs_is_named_while_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "PATIENCE", 0.1)
    assert steps.run([shell("jars", "sleep 0.4")]) == 0
    assert "still running       jars  (0 s)" in capfd.readouterr().out


def test_one_line_of_output_is_shown_beside_the_name(capfd: pytest.CaptureFixture[str]) -> None:
    assert steps.run([shell("java", "echo Java 17"), shell("silent", "")], jobs=1) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("  java                Java 17  (")
    assert lines[1].startswith("  silent              passed  (")


def test_what_a_step_took_is_reported_with_the_cpu_seconds_of_its_children() -> None:
    busy = "import time; end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    reported: list[Ended] = []
    started = time.monotonic()
    plan = [Step("busy", ("sh", "-c", f"{sys.executable} -S -c '{busy}'; true"))]
    assert steps.run(plan, ended=reported.append) == 0
    assert reported[0].cpu >= 0.2
    assert reported[0].cpu <= reported[0].wall * 2
    assert reported[0].wall <= time.monotonic() - started


def test_a_process_that_is_known_only_after_the_interrupt_is_interrupted_too() -> None:
    groups = steps._Groups()
    groups.interrupt()
    late = subprocess.Popen(["sleep", "60"], process_group=0, preexec_fn=heed_interrupts)
    groups.add(late.pid)
    assert late.wait(LIMIT) == -signal.SIGINT
