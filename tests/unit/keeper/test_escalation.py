"""The upper rungs of the keeper's ladder: repeated interrupts, dumps that name what is stuck, and who has killed."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

from pipelines.domain.runs.protocol import DUMP_ORDER, Dump, DumpOrder, Dumps
from tests.unit.keeper.test_keeper import SLEEPER, Kept, alive, kept, wait_for
from workers.keeper.escalation import Due, DumpFile, Order
from workers.keeper.jvm_dump import JvmDump

__all__ = ["kept"]

ANSWERS = """
import ctypes, faulthandler, os, signal, sys, threading, time
os.makedirs("stacks", exist_ok=True)
faulthandler.register(signal.SIGUSR1, open("stacks/python.txt", "a"), all_threads=True)
def named(name):
    def call(action): action()
    call.__code__ = call.__code__.replace(co_name=name)
    return call
"""
COUNTS_TERMS = (
    ANSWERS
    + """
terms = []
signal.signal(signal.SIGTERM, lambda *_: (terms.append(1), print("term", len(terms), flush=True)))
at_work = lambda: (print("up", flush=True), time.sleep(60))
threading.Thread(target=named("sinks.lake"), args=[at_work], daemon=True).start()
while len(terms) < 3: time.sleep(0.01)
"""
)
HOLDS_THE_LOCK = (
    ANSWERS
    + """
signal.signal(signal.SIGTERM, lambda *_: print("heard", flush=True))
threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
named("sinks.lake")(lambda: (print("up", flush=True), ctypes.PyDLL(None).sleep(60)))
"""
)


def dumps(run: Kept) -> list[Dump]:
    """What dumps.json tells."""
    found = Dumps.load(run.dir / "dumps.json")
    return found.taken if found else []


def taken(run: Kept, asked: str) -> bool:
    """Whether the dump that was asked for last is there."""
    return bool(dumps(run)) and dumps(run)[-1].asked == asked


def text_of(run: Kept, name: str) -> str:
    return (run.dir / "stacks" / name).read_text()


def test_the_highest_rung_that_is_due_is_told_with_the_number_of_the_interrupt() -> None:
    order = Order(seq=1, stop=True, term_at=10, term_every=3, kill_at=20)
    assert [order.due(at) for at in (9, 10, 12.9, 13, 19, 20)] == [
        Due("DRAIN"),
        Due("INTERRUPT", 1),
        Due("INTERRUPT", 1),
        Due("INTERRUPT", 2),
        Due("INTERRUPT", 4),
        Due("KILL"),
    ]


def test_an_interrupt_is_repeated_and_each_one_dumps_the_stacks_with_the_component_at_work(kept: Kept) -> None:
    kept.start(COUNTS_TERMS).said("up")
    kept.order(term_at=0.1, kill_at=60, every=1.5)
    record = kept.exit()
    assert (record.exit_code, record.stop_stage, record.killed_by) == (0, "INTERRUPT", None)
    found = dumps(kept)
    assert [(dump.stop_stage, dump.number) for dump in found] == [("INTERRUPT", 1), ("INTERRUPT", 2), ("INTERRUPT", 3)]
    assert {path for dump in found for path in dump.stuck} == {"sinks.lake"}
    (name,) = found[0].files
    assert "-INTERRUPT-1-driver.txt" in name
    assert "at work: sinks.lake" in text_of(kept, name)
    assert "at work: sinks.lake" in kept.log


def test_a_driver_that_holds_the_interpreters_lock_is_dumped_and_killed_on_time(kept: Kept) -> None:
    kept.start(HOLDS_THE_LOCK).said("up")
    kept.order(term_at=0.1, kill_at=1.5, every=60)
    record = kept.exit()
    assert (record.signal, record.stop_stage, record.killed_by) == (signal.SIGKILL, "KILL", "keeper")
    assert dumps(kept)[0].stuck == ["sinks.lake"]
    assert "heard" not in kept.log


def test_a_kill_without_an_interrupt_before_it_dumps_the_stacks_first(kept: Kept) -> None:
    kept.start(COUNTS_TERMS).said("up")
    kept.order(term_at=0, kill_at=0)
    assert kept.exit().killed_by == "keeper"
    assert [(dump.stop_stage, dump.stuck) for dump in dumps(kept)] == [("KILL", ["sinks.lake"])]


def test_a_process_without_a_handler_is_not_ended_by_a_dump(kept: Kept) -> None:
    kept.start(SLEEPER).said("up")
    DumpOrder(id="one").store(kept.dir / DUMP_ORDER)
    wait_for(lambda: dumps(kept))
    assert (dumps(kept)[0].asked, dumps(kept)[0].silent) == ("one", [kept.driver()])
    assert alive(kept.driver())


def test_stacks_are_dumped_whenever_somebody_asks(kept: Kept) -> None:
    kept.start(COUNTS_TERMS).said("up")
    for number, stop_stage in enumerate(["live", "stalled", "../x"], start=1):
        DumpOrder(id=str(number), stop_stage=stop_stage).store(kept.dir / DUMP_ORDER)
        wait_for(partial(taken, kept, str(number)))
    assert [(dump.stop_stage, dump.asked) for dump in dumps(kept)] == [("live", "1"), ("stalled", "2"), ("live", "3")]
    assert all(dump.stuck == ["sinks.lake"] and len(dump.files) == 1 for dump in dumps(kept))


def test_an_order_that_is_written_again_is_carried_out_once(tmp_path: Path) -> None:
    file, order = DumpFile(tmp_path / DUMP_ORDER), DumpOrder(id="one", stop_stage="drain")
    assert file.poll() is None
    for expected in (("one", "drain"), None):
        order.store(tmp_path / DUMP_ORDER)
        assert file.poll() == expected
    DumpOrder(id="two").store(tmp_path / DUMP_ORDER)
    assert file.poll() == ("two", "live")


def test_dumps_of_a_stop_that_never_ends_do_not_fill_the_disk(kept: Kept) -> None:
    kept.start(COUNTS_TERMS).said("up")
    first = None
    for number in range(22):
        DumpOrder(id=str(number)).store(kept.dir / DUMP_ORDER)
        wait_for(partial(taken, kept, str(number)))
        first = first or dumps(kept)[0].files[0]
    assert first is not None
    assert len(dumps(kept)) == 20
    assert not (kept.dir / "stacks" / first).exists()


def test_the_watchdog_inside_the_driver_is_told_apart_from_a_crash_and_its_words_are_kept(kept: Kept) -> None:
    """The keeper is held up until the driver's own C timer has ended it."""
    kept.start(
        ANSWERS
        + """
print("up", flush=True)
while not os.path.exists("go"): time.sleep(0.01)
faulthandler.dump_traceback_later(1, exit=True, file=open("stacks/python.txt", "a"))
named("sinks.lake")(lambda: ctypes.PyDLL(None).sleep(60))
"""
    ).said("up")
    driver, keeper = kept.driver(), kept.identity().keeper.pid
    os.kill(keeper, signal.SIGSTOP)
    kept.write("go", "")
    kept.order(term_at=0, kill_at=0)
    wait_for(lambda: not alive(driver))
    os.kill(keeper, signal.SIGCONT)
    record = kept.exit()
    assert (record.exit_code, record.stop_stage, record.killed_by) == (1, "KILL", "agent")
    assert [(dump.stop_stage, dump.stuck) for dump in dumps(kept)] == [("KILL", ["sinks.lake"])]


def test_the_last_words_of_a_driver_that_crashes_are_kept(kept: Kept) -> None:
    kept.start(ANSWERS + 'faulthandler.enable(open("stacks/python.txt", "a"))\nctypes.string_at(0)\n')
    assert kept.exit().signal == signal.SIGSEGV
    (dump,) = dumps(kept)
    assert dump.stop_stage == "crash"
    assert "Segmentation fault" in text_of(kept, dump.files[0])


THREADS = b"""2026-11-21 10:20:23
Full thread dump OpenJDK 64-Bit Server VM (17.0.1+1 mixed mode):

"main" #1 prio=5
   java.lang.Thread.State: RUNNABLE

JNI global refs: 30, weak refs: 0

Heap
 def new generation   total 1K
 Metaspace       used 1K

"""


def fed(catcher: JvmDump, text: bytes, size: int) -> bytes:
    return b"".join(catcher.feed(text[at : at + size]) for at in range(0, len(text), size)) + catcher.flush()


def test_a_thread_dump_is_taken_out_of_the_log_however_it_is_cut() -> None:
    for size in (1, 7, 64, 4096):
        catcher = JvmDump()
        catcher.expect()
        log = fed(catcher, b"before\n2026-11-21 10:20:22\nno dump\n" + THREADS + b"after\nunfinished", size)
        assert log == b"before\nno dump\nafter\nunfinished", size
        assert catcher.take(0) == THREADS.rstrip() + b"\n"


def test_nothing_is_taken_that_nobody_asked_for_and_a_dump_that_never_ends_is_given_up() -> None:
    catcher = JvmDump()
    assert fed(catcher, THREADS, 5) == THREADS
    catcher.expect()
    assert catcher.feed(THREADS[: THREADS.index(b"JNI")]) == b""
    assert catcher.take(0).startswith(b"2026-11-21")
    assert fed(catcher, b"later\n", 2) == b"later\n"


def test_a_jvm_is_dumped_beside_its_driver(kept: Kept, tmp_path: Path) -> None:
    """A stub with the name of the JVM prints what a JVM prints."""
    stub, program = tmp_path / "java", tmp_path / "jvm.py"
    stub.symlink_to(sys.executable)
    answer = f"lambda *_: print({THREADS.decode()!r}, end='', flush=True)"
    program.write_text(
        f"import signal, time\nsignal.signal(signal.SIGQUIT, {answer})\nprint('jvm', flush=True)\ntime.sleep(60)"
    )
    call = f"subprocess.Popen([{str(stub)!r}, {str(program)!r}], process_group=0)"
    kept.start(f"{ANSWERS}\nimport subprocess\n{call}\ntime.sleep(60)").said("jvm")
    DumpOrder(id="one").store(kept.dir / DUMP_ORDER)
    wait_for(lambda: dumps(kept))
    (dump,) = dumps(kept)
    assert [name.rpartition("-")[2] for name in dump.files] == ["driver.txt", "jvm.txt"]
    assert "Full thread dump" in text_of(kept, dump.files[1])
    assert "Full thread dump" not in kept.log
