"""Looking at every executor before the first record: its Python, and what that can import."""

from __future__ import annotations

import importlib
import re
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from pipelines.domain.base.causes import explain
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.arrow import map_in_arrow
from workers.agent.base.findings import Refused
from workers.agent.spark.parcel import ARCHIVE

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

PATH = "placement.launcher.python"
_LOST = re.compile(r"\(([\w.:\[\]-]+) executor (\w+)\)")
_CAUSES = (
    r"PYTHON_VERSION_MISMATCH\][^\n]*",
    r"Cannot run program[^\n]*",
    r"(?:ModuleNotFound|Import)Error: [^\n]*",
    r"\w+(?:Error|Exception): [^\n]*",
)


class ExecutorInfo(Protocol):
    """What Spark's status tracker says of an executor."""

    def numRunningTasks(self) -> int:  # noqa: N802 - Spark's name
        """Tasks in hand."""


def check(spark: SparkSession, slots: int, modules: Sequence[str]) -> None:
    """Let a Python worker in every slot, all at once, import what the pipeline needs. Raises Refused with a finding for
    every host where that fails."""
    try:
        rows = _check(spark, slots, modules, barrier=True)
    except Exception as error:
        raise Refused(_unusable(_described_with_host(spark, slots, modules, str(error)))) from error
    problems = sorted({(row["host"], row["problem"]) for row in rows if row["problem"]})
    if problems:
        raise Refused(*(_finding(host, problem) for host, problem in problems))


def _check(spark: SparkSession, slots: int, modules: Sequence[str], *, barrier: bool) -> list[Row]:
    slot_each = spark.range(slots, numPartitions=slots)
    return map_in_arrow(slot_each, _importer(modules), "host string, problem string", barrier=barrier).collect()


def _described_with_host(spark: SparkSession, slots: int, modules: Sequence[str], text: str) -> str:
    """Spark does not say where a barrier failed; of a task of its own it does."""
    try:
        _check(spark, slots, modules, barrier=False)
    except Exception as error:
        return str(error)
    return text


def _importer(modules: Sequence[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"host": [socket.gethostname()], "problem": [problem_of(modules)]})

    return run


def problem_of(modules: Sequence[str]) -> str | None:
    """What keeps this interpreter from importing modules out of the archive, if anything does."""
    if ARCHIVE not in __file__:
        return f"{sys.executable} finds Headgate in {__file__} instead of the archive that was sent"
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:
            return f"{sys.executable} cannot import {module}: {explain(error)}"
    return None


def _unusable(text: str) -> AgentFinding:
    """A worker that could not even be started, out of what Spark says of the lost task."""
    where = _LOST.search(text)
    cause = next((found[0] for pattern in _CAUSES if (found := re.search(pattern, text))), text.strip().splitlines()[0])
    return _finding(where[1] if where else "an executor", cause[:500])


def _finding(host: str, problem: str) -> AgentFinding:
    return AgentFinding(
        path=PATH,
        code="EXECUTOR_PYTHON",
        message=f"Python on {host} cannot run this pipeline: {problem}",
        suggestion="Install the interpreter and Headgate's dependencies at this path on every worker, or set "
        f"{PATH} to where they are.",
    )
