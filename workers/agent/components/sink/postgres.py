"""Rows of a PostgreSQL table, exactly once per batch.

Executors copy a batch to a staging table of its own. One transaction of the driver then moves the rows, writes the
batch's key (pipeline, lineage, source, channel, batch, ranges) and drops the staging table. A batch whose key is there
is never written again. The transaction first counts what was staged: a task that ran twice fails the attempt.
"""

from __future__ import annotations

import hashlib
import re
import threading
import uuid
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
from pyspark.sql import Column

from pipelines.domain.access.reach import ALLOW_NETWORK
from pipelines.domain.base.causes import explained, sentences
from pipelines.domain.definitions.parts.columns import value_source
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import AgentFinding
from workers import crash_points
from workers.agent.base import event_values
from workers.agent.base.arrow import joined
from workers.agent.base.findings import Blocked, refuse
from workers.agent.base.reach import OutOfReach
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import REACH_TIMEOUT, Place, Resolution, SinkBuilder
from workers.agent.postgres.batches import Batches, BatchKey, Committed, KeyMismatch
from workers.agent.postgres.connection import AddressRefused, Database
from workers.agent.postgres.rows import TableColumn, line, problems
from workers.agent.postgres.table import Table, inspect
from workers.agent.spark.executor_writer import Deadline, Writer, deliver
from workers.agent.spark.refused_rows import events_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULT_COLUMNS = {
    "key": "key",
    "headers": "headers",
    "body": "body",
    "topic": "origin.topic",
    "partition": "origin.partition",
    "offset": "origin.offset",
}
_LASTING = re.compile("authentication failed|no password supplied|does not exist|no pg_hba.conf entry|not permitted")
"""What a server that is up says of a login or a database; psycopg has no SQLSTATE of a connection that failed."""
_FULL = re.compile("too many clients|remaining connection slots|too many connections")
_KEY_REUSED = (
    "Another pipeline of this name wrote to this database, or one of them was restored from a backup. Compare the "
    "table with the ledger, then choose positions again, which starts a new lineage with new keys."
)


class Builder(SinkBuilder):
    """Writes one channel to one table."""

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._database = Database(spec.dsn, spec.ca, spec.connect_timeout, spec.statement_timeout, place.reach)
        self._table: Table | None = None
        self._swept: set[str] = set()
        self._lock = threading.Lock()

    def probe(self) -> None:
        """Reachable, permitted, and the table has the columns. Raises Refused with every finding."""
        try:
            with self._database.connected() as connection, self._database.bounded(connection):
                self._table = inspect(connection, self.spec, self.place.path)
        except AddressRefused as error:
            advice = "Write user, host, port and database; time limits have keys of their own."
            raise refuse(f"{self.place.path}.dsn", "BAD_ADDRESS", f"{error}.", advice) from error
        except OutOfReach as error:
            raise refuse(f"{self.place.path}.dsn", "ADDRESS_NOT_ALLOWED", str(error), ALLOW_NETWORK) from error
        except psycopg.OperationalError as error:
            message = sentences(f"The database cannot be used: {explained(error)[0]}")
            advice = "Check the address, the password and that the server runs."
            retryable = not _LASTING.search(str(error))
            raise refuse(self.place.path, "DATABASE_UNREACHABLE", message, advice, retryable=retryable) from error

    def reach(self) -> None:
        """The server opens a session, or says that it has none left."""
        try:
            with replace(self._database, connect_timeout=REACH_TIMEOUT).connected():
                pass
        except psycopg.OperationalError as error:
            if not _FULL.search(str(error)):
                raise

    def initialise(self, spark: SparkSession) -> None:
        """Make the table of finished batches."""
        with self._database.connected() as connection, self._database.bounded(connection):
            self._batches().create(connection)

    def refuses(self) -> Column | None:
        """Bodies and values that the table can never have, as far as that shows before the database has seen them."""
        return problems(self._columns())

    def _known(self) -> Table:
        if self._table is None:
            raise RuntimeError("the table has not been inspected")
        return self._table

    def _columns(self) -> list[TableColumn]:
        written = self.spec.columns or {
            name: value for name, value in _DEFAULT_COLUMNS.items() if name in self._known().types
        }
        types = self._known().types
        return [TableColumn(name, *types[name], value_source(value)) for name, value in written.items()]

    def _batches(self) -> Batches:
        return Batches(self._known(), self._columns(), upsert=self.spec.mode == "upsert")

    def write(self, attempt: Attempt) -> Counts:
        """Stage on the executors, commit on the driver. A batch that is there already is not written again."""
        key = self._key(attempt.planned)
        batches = self._batches()
        with self._database.connected() as connection:
            with self._database.bounded(connection):
                known = self._find(connection, batches, key)
                stage = None if known else self._stage(connection, batches, attempt.planned)
            if stage is not None:
                self._copy(attempt, batches, stage)
                crash_points.reach("agent.staged")
                with self._database.bounded(connection):
                    known = batches.commit(connection, key, stage, attempt.counts)
                crash_points.reach("agent.committed")
        if known is None:
            raise RuntimeError("the batch was neither found nor committed")
        attempt.refuse(events_at(attempt.events, known.refused))
        attempt.already(known.counts)
        return attempt.counts

    def _find(self, connection: psycopg.Connection[Any], batches: Batches, key: BatchKey) -> Committed | None:
        """The batch, where it is committed. Raises Blocked where its key stands for other ranges: no attempt helps."""
        try:
            return batches.find(connection, key)
        except KeyMismatch as error:
            message = f"The table headgate_batches has this batch with other ranges: {error}."
            finding = AgentFinding(
                path=self.place.path, code="BATCH_KEY_REUSED", message=message, suggestion=_KEY_REUSED
            )
            raise Blocked(finding) from error

    def _stage(self, connection: psycopg.Connection[Any], batches: Batches, planned: Planned) -> str:
        """A new staging table. What a crash left behind is dropped once per run and query."""
        scope = f"{self.place.pipeline}/{self.place.path}/{planned.source}/{planned.channel}"
        prefix = f"headgate_stage_{hashlib.sha256(scope.encode()).hexdigest()[:12]}_"
        with self._lock:
            fresh = prefix not in self._swept
            self._swept.add(prefix)
        if fresh:
            batches.sweep(connection, prefix)
        name = prefix + uuid.uuid4().hex[:12]
        batches.make_stage(connection, name)
        return name

    def _copy(self, attempt: Attempt, batches: Batches, stage: str) -> None:
        writer = CopyWriter(self._database, batches.copy_statement(stage))
        parsed = attempt.events.withColumn("parsed", event_values.body_variant())
        deliver(parsed.select(line(self._columns()).alias("line")), writer, self.spec.write_deadline)

    def _key(self, planned: Planned) -> BatchKey:
        ranges = [item.model_dump() for item in planned.ranges]
        return BatchKey(
            self.place.pipeline,
            self.place.lineage,
            planned.source,
            planned.channel,
            self.place.name,
            planned.batch,
            ranges,
        )

    def resolve(self, planned: Planned) -> Resolution:
        """Committed as a whole, or not at all."""
        with self._database.connected() as connection, self._database.bounded(connection):
            known = self._batches().find(connection, self._key(planned))
        if known is None:
            return Resolution(delivered_before=0)
        return Resolution(delivered_before=known.counts.delivered, committed=True)


class CopyWriter(Writer):
    """One task: one COPY of lines that are ready for it, one transaction."""

    def __init__(self, database: Database, statement: str) -> None:
        self._database, self._statement = database, statement

    def open(self, deadline: Deadline) -> None:
        """Connect and begin to copy."""
        self._stack = ExitStack()
        self._connection = self._stack.enter_context(self._database.connected())
        seconds = deadline.left("the copy", self._database.statement_timeout)
        self._stack.enter_context(self._database.bounded(self._connection, seconds))
        self._copying = self._connection.cursor().copy(self._statement)
        self._copy = self._copying.__enter__()

    def write(self, events: pa.RecordBatch) -> list[tuple[int, str]]:
        """Copy the rows; the database does not look at them before the driver moves them."""
        self._copy.write(joined(events.column("line")))
        return []

    def finish(self) -> None:
        """End the copy and commit."""
        self._copying.__exit__(None, None, None)
        self._connection.commit()

    def close(self) -> None:
        """Close the connection; what was not committed is gone."""
        self._stack.close()
