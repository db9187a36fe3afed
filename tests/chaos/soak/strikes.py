"""The faults themselves: each strikes, and returns what heals it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from confluent_kafka import KafkaException

from tests.chaos.small_disk import full
from tests.chaos.soak.measuring import Group, Process
from tests.chaos.soak.schedule import Strike
from tests.chaos.soak.site import Site

Heal = Callable[[], None]
IN_OPERATION = 2.0
"""Seconds at most between the request for an operation and the death of its worker."""
SOME = 5


class NothingToStrike(Exception):
    """What should be struck is not there at this moment."""


def nothing() -> None:
    """It heals by itself."""


def _send(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _group(site: Site, strike: Strike) -> Group:
    alive = [group for group in site.groups(strike.pipeline) if group.driver]
    if not alive:
        raise NothingToStrike("no agent lives")
    return alive[-1]


def _kill(part: str) -> Callable[[Site, Strike], Heal]:
    def strike(site: Site, given: Strike) -> Heal:
        found: list[Process] = getattr(_group(site, given), part)
        if not found:
            raise NothingToStrike(f"there is no {part}")
        _send(found, signal.SIGKILL)
        return nothing

    return strike


def _halt_agent(site: Site, strike: Strike) -> Heal:
    members = _group(site, strike).members
    _send(members, signal.SIGSTOP)
    return lambda: _send(members, signal.SIGCONT)


def _kill_service(name: str) -> Callable[[Site, Strike], Heal]:
    def strike(site: Site, _: Strike) -> Heal:
        try:
            site.installation.kill(name)
        except (OSError, ValueError) as error:
            raise NothingToStrike(f"{name} does not live") from error
        return nothing

    return strike


def _halt_service(name: str) -> Callable[[Site, Strike], Heal]:
    def strike(site: Site, _: Strike) -> Heal:
        try:
            pid = site.installation.signal(name, signal.SIGSTOP)
        except (OSError, ValueError) as error:
            raise NothingToStrike(f"{name} does not live") from error

        def heal() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

        return heal

    return strike


def _kill_in_operation(site: Site, strike: Strike) -> Heal:
    site.user.act(strike.pipeline, "restart")
    time.sleep(strike.chance * IN_OPERATION)
    return _kill_service("worker")(site, strike)


def _kill_broker(site: Site, _: Strike) -> Heal:
    site.broker.signal(signal.SIGKILL)
    return nothing


def _halt_broker(site: Site, _: Strike) -> Heal:
    site.broker.signal(signal.SIGSTOP)
    return lambda: site.broker.signal(signal.SIGCONT)


def _remove_directory(site: Site, strike: Strike) -> Heal:
    shutil.rmtree(_group(site, strike).run, ignore_errors=True)
    return nothing


def _truncate_journal(site: Site, strike: Strike) -> Heal:
    journal = _group(site, strike).run / "journal.jsonl"
    try:
        size = journal.stat().st_size
        os.truncate(journal, int(size * strike.chance * 0.9))
    except OSError as error:
        raise NothingToStrike("there is no journal") from error
    if not size:
        raise NothingToStrike("the journal is empty")
    return nothing


def _refuse_source(site: Site, _: Strike) -> Heal:
    site.broker.source.refuse()
    return site.broker.source.accept


def _silence_source(site: Site, _: Strike) -> Heal:
    site.broker.source.fall_silent()
    return site.broker.source.pass_again


def _refuse_sink(site: Site, _: Strike) -> Heal:
    site.broker.sink.refuse()
    return site.broker.sink.accept


def _silence_sink(site: Site, _: Strike) -> Heal:
    site.broker.sink.fall_silent()
    return site.broker.sink.pass_again


def _add_partition(site: Site, strike: Strike) -> Heal:
    try:
        site.flows[strike.pipeline].load.add_partition()
    except KafkaException as error:
        raise NothingToStrike("the broker does not answer") from error
    return nothing


def _poison(site: Site, strike: Strike) -> Heal:
    site.flows[strike.pipeline].load.poison(SOME)
    return nothing


def _huge(site: Site, strike: Strike) -> Heal:
    site.flows[strike.pipeline].load.huge()
    return nothing


def _churn_group(site: Site, strike: Strike) -> Heal:
    site.flows[strike.pipeline].load.churn_group()
    return nothing


def _lock_database(site: Site, _: Strike) -> Heal:
    connection = sqlite3.connect(site.database, timeout=10, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        raise NothingToStrike("the database was locked already") from error
    return connection.close


def _fill_disk(site: Site, _: Strike) -> Heal:
    if not is_small(site.runs):
        raise NothingToStrike("the run directories have no disk of their own")
    stack = contextlib.ExitStack()
    stack.enter_context(full(site.runs))
    return stack.close


def is_small(path: Path) -> bool:
    """Whether a path is a disk of its own."""
    return path.is_mount()


def _ask(action: str, back: str) -> Callable[[Site, Strike], Heal]:
    def strike(site: Site, given: Strike) -> Heal:
        if (answer := site.user.act(given.pipeline, action)).startswith(("refused", "no answer")):
            raise NothingToStrike(f"{action}: {answer}")

        def heal() -> None:
            site.user.act(given.pipeline, back)

        return heal if back else nothing

    return strike


STRIKES: dict[str, Callable[[Site, Strike], Heal]] = {
    "agent_killed": _kill("driver"),
    "keeper_killed": _kill("keeper"),
    "jvm_killed": _kill("jvm"),
    "agent_halted": _halt_agent,
    "worker_killed": _kill_service("worker"),
    "worker_halted": _halt_service("worker"),
    "worker_killed_in_operation": _kill_in_operation,
    "web_killed": _kill_service("web"),
    "redis_killed": _kill_service("redis"),
    "redis_halted": _halt_service("redis"),
    "broker_killed": _kill_broker,
    "broker_halted": _halt_broker,
    "directory_removed": _remove_directory,
    "journal_truncated": _truncate_journal,
    "source_refused": _refuse_source,
    "source_unresponsive": _silence_source,
    "sink_refused": _refuse_sink,
    "sink_unresponsive": _silence_sink,
    "partition_added": _add_partition,
    "poison": _poison,
    "huge_record": _huge,
    "group_churned": _churn_group,
    "database_locked": _lock_database,
    "disk_full": _fill_disk,
    "user_pause": _ask("pause", "resume"),
    "user_stop": _ask("stop", "start"),
    "user_restart": _ask("restart", ""),
}
