"""What an agent does besides moving records: pause, resume, and wait for work."""

from __future__ import annotations

import time

from bench.bench import Bench, Values, check, results
from bench.figures import Result
from bench.systems.headgate import Agent, Headgate
from bench.topics import Pacer
from bench.usage import proportional_mb, total_cpu_seconds
from pipelines.domain.base.states import Command

RATE = 1000
_BEFORE_IDLE = 10_000  # records that an agent has moved before its rest is measured
_REST = 20.0  # seconds until it has given memory back
_TIMEOUT = 120.0
_MODES = ("micro_batch", "real_time")


def pause_resume(bench: Bench) -> list[Result]:
    """Under 1,000 records a second: from the order to the proof of a pause, and from the order to the next record."""
    values: Values = {}
    for system in bench.able("pause_resume", [Headgate(mode) for mode in _MODES]):
        values |= _pause_resume(bench, system)
    return results("pause_resume", values)


def _pause_resume(bench: Bench, system: Headgate) -> Values:
    pauses: list[float] = []
    resumes: list[float] = []
    with bench.source(0) as source, bench.work(source, hurry=True) as work, system.start(work) as agent:
        pacer = Pacer(work.servers, source, RATE)
        pacer.start()
        try:
            agent.await_(lambda: bench.topics.size(work.sink) > RATE, f"{RATE} records", _TIMEOUT)
            for _ in range(bench.options.runs):
                pauses.append(_obeys(agent, Command.PAUSE))
                before = bench.topics.size(work.sink)
                started = time.monotonic()
                agent.order(Command.RUN)
                agent.await_(
                    lambda before=before: bench.topics.size(work.sink) > before,  # type: ignore[misc]
                    "a record after the pause",
                    _TIMEOUT,
                    0.005,
                )
                resumes.append(time.monotonic() - started)
                time.sleep(1)
        finally:
            sent = pacer.end()
        agent.await_(lambda: bench.topics.size(work.sink) >= sent, "the last record", _TIMEOUT)
        agent.stop()
        check(system.name, bench.topics.read([work.sink], sent))
    bench.say(f"  {system.name}: pauses {_listed(pauses)}, resumes {_listed(resumes)} s")
    return {(system.name, "pause_seconds"): pauses, (system.name, "resume_seconds"): resumes}


def _obeys(agent: Agent, command: Command) -> float:
    started = time.monotonic()
    seq = agent.order(command)
    agent.await_(lambda: agent.obeyed(seq), f"{command} done", _TIMEOUT, 0.005)
    return time.monotonic() - started


def idle(bench: Bench) -> list[Result]:
    """An agent that has moved some records and has nothing more to do: proportional memory and share of a core."""
    values: Values = {}
    for number in range(1, bench.options.runs + 1):
        for system in bench.able("idle", [Headgate(delivery={})]):
            cpu, memory = _rest(bench, system)
            values.setdefault((system.name, "idle_cpu_percent"), []).append(cpu)
            values.setdefault((system.name, "idle_pss_mb"), []).append(memory)
            bench.say(f"  idle {number}/{bench.options.runs} {system.name}: {cpu:.2f} % of a core, {memory:.0f} MB")
    return results("idle", values)


def _rest(bench: Bench, system: Headgate) -> tuple[float, float]:
    with bench.source(_BEFORE_IDLE) as source, bench.work(source, hurry=True) as work, system.start(work) as agent:
        agent.await_(lambda: bench.topics.size(work.sink) >= _BEFORE_IDLE, f"{_BEFORE_IDLE:,} records", _TIMEOUT)
        time.sleep(_REST)
        started, before = time.monotonic(), total_cpu_seconds(agent.token)
        time.sleep(bench.options.seconds / 2)
        share = (total_cpu_seconds(agent.token) - before) / (time.monotonic() - started)
        memory = proportional_mb(agent.token)
        agent.stop()
        check(system.name, bench.topics.read([work.sink], _BEFORE_IDLE))
    return 100 * share, memory


def _listed(seconds: list[float]) -> str:
    return " ".join(f"{value:.3f}" for value in seconds)
