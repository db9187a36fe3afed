"""At every stage of a migration everything that takes part in it dies once: it ends, and no record is lost or taken for
delivered. By default a short selection of deaths runs; `make chaos` runs all of them, with two seeds."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pipelines.domain.runs.protocol import IDENTITY, Identity
from tests.chaos.extent import SEEDS, WHOLE, some
from tests.chaos.installation import installed, wait_for
from tests.chaos.migrating import ENDED_WITHIN, STUCK, Trial, asked, stamped
from tests.chaos.stream import Stream, kill, streaming
from tests.figures import RecordProperty
from tests.postgres import running_postgres
from tests.waiting import wait_for as wait_until
from workers.adapters.processes import HostProcesses

STAGES = (
    "PREFLIGHT",
    "PAUSING",
    "PAUSE_PROVEN",
    "SNAPSHOT",
    "APPLYING",
    "READY_TO_CUT_OVER",
    "RESUMING",
    "VERIFYING",
    "ROLLING_BACK",
)
"""In their order."""
ALONE_WITHIN = 180.0
LATER = 0.3
"""Seconds at most between the beginning of a stage and the blow."""
BATCH = 20_000
"""Events at most: what waited during a death is made up for, also by a machine that takes seconds for each batch."""
RULES = {"window": 5, "band": 0.01, "lag_slack": 1_000_000, "crashes": 5}
"""What dies slows the stream down: only what is wrong with the books would take a migration back."""


@dataclass
class Struck:
    """A stream on an installation with a database server."""

    stream: Stream
    database: psycopg.Connection[tuple[Any, ...]]

    def stage(self, trial: Trial) -> str:
        """As the database has it: the web process may be dead."""
        row = self.database.execute("SELECT stage FROM pipelines_migration WHERE id = %s", [trial.id]).fetchone()
        assert row is not None
        return str(row[0])

    def comes_to(self, trial: Trial, stage: str) -> str:
        """Wait until it is at the stage, or beyond it; returns where it is."""
        before = ("APPROVED", *STAGES[: STAGES.index(stage)])
        wait_until(lambda: self.stage(trial) not in before, f"{stage}: {self.stage(trial)}", ENDED_WITHIN)
        return self.stage(trial)

    def driver(self, number: int | None) -> int | None:
        """The pid of a run's driver, while it lives."""
        run_dir = next((run["run_dir"] for run in self.stream.runs if run["number"] == number), None)
        identity = Identity.load(Path(run_dir) / IDENTITY) if run_dir else None
        if identity is None or identity.driver not in HostProcesses().holders().get(identity.token, ()):
            return None
        return identity.driver.pid

    def is_alone(self) -> bool:
        """Whether one run has the pipeline, its processes live, and no others."""
        alive = [run for run in self.stream.runs if run["state"] != "ENDED"]
        holders = self.stream.watch.alive()
        return [run["role"] for run in alive] == ["ACTIVE"] and len(holders) == 1


def _service(name: str) -> Callable[[Struck, Trial], None]:
    def strike(struck: Struck, _: Trial) -> None:
        struck.stream.installation.kill(name)

    return strike


def _old(struck: Struck, trial: Trial) -> None:
    if pid := struck.driver(trial.shown["old_run"]):
        kill(pid)


def _new(struck: Struck, trial: Trial) -> None:
    wait_for(lambda: struck.driver(trial.shown["new_run"]) or trial.stage not in STAGES, 60, "the new agent is there")
    if pid := struck.driver(trial.shown["new_run"]):
        kill(pid)


def _database(struck: Struck, trial: Trial) -> None:
    ours = "pid <> pg_backend_pid() AND datname = current_database()"
    struck.database.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")  # noqa: S608


VICTIMS: dict[str, Callable[[Struck, Trial], None]] = {
    "worker": _service("worker"),
    "old": _old,
    "new": _new,
    "redis": _service("redis"),
    "broker": _service("kafka"),
    "database": _database,
    "web": _service("web"),
}
SHORT = [(1, "APPLYING", "worker"), (1, "RESUMING", "database")]
CASES = [*product(SEEDS, STAGES, VICTIMS)] if WHOLE else some(SHORT, 2)


@pytest.fixture(scope="module")
def struck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Struck]:
    directory = tmp_path_factory.mktemp("struck")
    with running_postgres() as address:
        settings = {"HEADGATE_DATABASE_URL": address, "HEADGATE_SECRET_KEY": secrets.token_urlsafe(50)}
        with (
            installed(directory, **settings) as installation,
            streaming(installation, name="struck", batch=BATCH) as stream,
            psycopg.connect(address, autocommit=True) as database,
        ):
            yield Struck(stream, database)


@pytest.mark.parametrize(("seed", "stage", "victim"), CASES)
def test_whoever_dies_at_whatever_stage_it_ends_and_the_pipeline_goes_on(
    struck: Struck, seed: int, stage: str, victim: str, record_property: RecordProperty
) -> None:
    stream, dice = struck.stream, random.Random(f"{seed} {stage} {victim}")
    changed = stamped(stream.demo, f"{seed} {stage} {victim}")
    back = stage == "ROLLING_BACK"
    rules = {**RULES, "window": 600} if back else RULES
    trial = asked(
        stream.installation.api, stream.demo.name, "revision", {"definition": changed, "rules": rules}
    ).start()
    if back:
        struck.comes_to(trial, "VERIFYING")
        trial.roll_back()
    hit = struck.comes_to(trial, stage)
    time.sleep(dice.uniform(0, LATER))
    VICTIMS[victim](struck, trial)
    struck_at = time.monotonic()
    print(f"{victim} struck at {hit}")
    if trial.ends()["stage"] == STUCK:
        is_settled(trial)
    wait_for(lambda: struck.is_alone(), ALONE_WITHIN, f"one agent is left: {stream.runs[:3]}")
    stream.goes_on(stream.read)
    record_property("recovery_seconds", round(time.monotonic() - struck_at, 1))
    ledger = stream.ledger
    assert (ledger["gaps"], ledger["overlaps"], ledger["balanced"]) == (0, 0, True), ledger


def is_settled(trial: Trial) -> None:
    """A person is offered what can be done, and does it."""
    offered = [each["choice"] for each in trial.shown["choices"] if each["allowed"]]
    assert {"rollback", "close"} <= set(offered)
    trial.roll_back()
    assert trial.ends()["stage"] in {"ROLLED_BACK", "ABORTED"}


def test_after_all_of_that_everything_is_there_once(struck: Struck, record_property: RecordProperty) -> None:
    produced, sink = struck.stream.finish()
    assert (sink.missing, sink.foreign) == (0, 0)
    possible_duplicates = struck.stream.ledger["duplicates_max"]
    assert (sink.duplicates, possible_duplicates) == (0, 0)
    struck.stream.balances(produced)
    for name, figure in (
        ("missing", sink.missing),
        ("duplicates", sink.duplicates),
        ("announced", possible_duplicates),
    ):
        record_property(name, figure)
