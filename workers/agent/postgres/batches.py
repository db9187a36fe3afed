"""The transaction that moves a batch from its staging table, and the keys of the batches that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from pipelines.domain.ledger.ledger import Counts
from workers.agent.postgres.rows import TableColumn, staging_types
from workers.agent.postgres.table import Table
from workers.agent.spark.executor_writer import MOST_REFUSED, TooManyRefused

_KEYS_KEPT = 2
"""The last batch may come again; the one before it was done before the last was planned."""
_BATCHES = """
CREATE TABLE IF NOT EXISTS {} (
    pipeline text, lineage bigint, source text, channel text, sink text, batch bigint, ranges jsonb NOT NULL,
    counts jsonb NOT NULL, refused jsonb NOT NULL, committed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pipeline, lineage, source, channel, sink, batch)
)
"""
_FIND = """
SELECT ranges, counts, refused FROM {}
WHERE pipeline = %s AND lineage = %s AND source = %s AND channel = %s AND sink = %s AND batch = %s
"""
_FORGET = """
DELETE FROM {}
WHERE pipeline = %s AND lineage = %s AND source = %s AND channel = %s AND sink = %s AND batch <= %s
"""


class KeyMismatch(Exception):
    """A batch of this number is committed, and it covers other ranges."""


class StagedWrong(Exception):
    """The staging table does not hold every event of the batch once."""


@dataclass(frozen=True)
class BatchKey:
    """What a batch is known by."""

    pipeline: str
    lineage: int
    source: str
    channel: str
    sink: str
    batch: int
    ranges: list[dict[str, Any]]

    @property
    def scope(self) -> list[Any]:
        """All but batch and ranges."""
        return [self.pipeline, self.lineage, self.source, self.channel, self.sink]


@dataclass(frozen=True)
class Refused:
    """The origin of a row that the database refused, and why."""

    topic: str
    partition: int
    offset: int
    cause: str


@dataclass(frozen=True)
class Committed:
    """A batch that is there: its counts, and what was refused of it."""

    counts: Counts
    refused: list[Refused]


class Batches:
    """Statements for one target table."""

    def __init__(self, table: Table, columns: Sequence[TableColumn], *, upsert: bool) -> None:
        self._table, self._columns, self._upsert = table, list(columns), upsert
        self._keys = sql.Identifier(table.schema, "headgate_batches")

    def create(self, connection: psycopg.Connection[Any]) -> None:
        """Make the table of keys where it is not there; two that make it at once both succeed."""
        try:
            connection.execute(sql.SQL(_BATCHES).format(self._keys))
        except psycopg.errors.UniqueViolation:
            connection.rollback()
            connection.execute(sql.SQL(_BATCHES).format(self._keys))
        connection.commit()

    def find(self, connection: psycopg.Connection[Any], key: BatchKey) -> Committed | None:
        """The batch, where it is committed. Raises KeyMismatch where its ranges are others."""
        statement = sql.SQL(_FIND).format(self._keys)
        found = connection.execute(statement, [*key.scope, key.batch]).fetchone()
        connection.commit()
        if found is None:
            return None
        ranges, counts, refused = found
        if ranges != key.ranges:
            raise KeyMismatch(f"batch {key.batch} of lineage {key.lineage} exists with {ranges}, not {key.ranges}")
        return Committed(Counts(**counts), [Refused(**item) for item in refused])

    def sweep(self, connection: psycopg.Connection[Any], prefix: str) -> None:
        """Drop the staging tables that begin so."""
        rows = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = %s AND c.relkind = 'r' AND starts_with(c.relname, %s)",
            [self._table.schema, prefix],
        ).fetchall()
        for (name,) in rows:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._stage(name)))
        connection.commit()

    def _stage(self, name: str) -> sql.Identifier:
        return sql.Identifier(self._table.schema, name)

    def make_stage(self, connection: psycopg.Connection[Any], name: str) -> None:
        """Make a staging table; it needs no write-ahead log, since a crash makes the batch come again."""
        staged = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(type_name))
            for column, type_name in staging_types(self._columns).items()
        )
        statement = sql.SQL("CREATE UNLOGGED TABLE {} (n bigint GENERATED ALWAYS AS IDENTITY, {})")
        connection.execute(statement.format(self._stage(name), staged))
        connection.commit()

    def copy_statement(self, name: str) -> str:
        """What an executor runs."""
        columns = sql.SQL(", ").join(map(sql.Identifier, staging_types(self._columns)))
        return sql.SQL("COPY {} ({}) FROM STDIN (ENCODING 'UTF8')").format(self._stage(name), columns).as_string()

    def commit(self, connection: psycopg.Connection[Any], key: BatchKey, stage: str, counts: Counts) -> Committed:
        """Move the rows and write the key, in one transaction. Raises StagedWrong, TooManyRefused, psycopg.Error.

        Rows that the table refuses (a check, a unique index, a value that its type does not take) are left out and
        returned, with their causes.
        """
        with connection.transaction():
            row = connection.execute(
                sql.SQL("SELECT count(*), coalesce(min(n), 0), coalesce(max(n), 0) FROM {}").format(self._stage(stage))
            ).fetchone()
            staged, first, last = row or (0, 0, 0)
            if staged != counts.delivered:
                raise StagedWrong(f"{staged} rows were staged of {counts.delivered} events")
            refused = self._move(connection, stage, first, last) if staged else []
            final = counts.refused(f"sinks.{key.sink}", len(refused))
            self._write_key(connection, key, final, refused)
            connection.execute(sql.SQL("DROP TABLE {}").format(self._stage(stage)))
        return Committed(final, refused)

    def _write_key(
        self, connection: psycopg.Connection[Any], key: BatchKey, counts: Counts, refused: list[Refused]
    ) -> None:
        """The primary key keeps a second writer of the same batch from committing, too."""
        statement = sql.SQL("INSERT INTO {} VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)").format(self._keys)
        details = [Jsonb(key.ranges), Jsonb(counts.model_dump()), Jsonb([vars(item) for item in refused])]
        connection.execute(statement, [*key.scope, key.batch, *details])
        connection.execute(sql.SQL(_FORGET).format(self._keys), [*key.scope, key.batch - _KEYS_KEPT])

    def _move(self, connection: psycopg.Connection[Any], stage: str, first: int, last: int) -> list[Refused]:
        """Insert the rows [first, last]; where that fails for the data's sake, halve until the bad row stands alone."""
        refused: list[Refused] = []
        todo = [(first, last)]
        indexed = False
        while todo:
            start, end = todo.pop()
            try:
                with connection.transaction():
                    connection.execute(self._insert(stage), [start, end])
            except (psycopg.DataError, psycopg.IntegrityError) as error:
                if not indexed:  # only what is halved is looked up by number
                    connection.execute(sql.SQL("CREATE INDEX ON {} (n)").format(self._stage(stage)))
                    indexed = True
                if start < end:
                    middle = (start + end) // 2
                    todo += [(middle + 1, end), (start, middle)]
                    continue
                refused += self._refused(connection, stage, start, error)
                if len(refused) > MOST_REFUSED:
                    raise TooManyRefused(
                        f"the database rejected {len(refused)} rows, the last with: {error}"
                    ) from error
        return refused

    def _refused(
        self, connection: psycopg.Connection[Any], stage: str, number: int, error: psycopg.Error
    ) -> list[Refused]:
        statement = sql.SQL("SELECT topic, partition_number, record_offset FROM {} WHERE n = %s")
        rows = connection.execute(statement.format(self._stage(stage)), [number]).fetchall()
        cause = f"The database rejected the event: {error.diag.message_primary or error}"
        return [Refused(topic, partition, offset, cause) for topic, partition, offset in rows]

    def _insert(self, stage: str) -> sql.Composed:
        names = sql.SQL(", ").join(sql.Identifier(column.name) for column in self._columns)
        values = sql.SQL(", ").join(
            sql.SQL("{}::{}").format(sql.Identifier(f"c{number}"), sql.SQL(column.cast))
            for number, column in enumerate(self._columns)
        )
        rows = sql.SQL("SELECT {} {} FROM {} WHERE n BETWEEN %s AND %s {}").format(
            self._distinct(), values, self._stage(stage), self._order()
        )
        target = sql.Identifier(self._table.schema, self._table.name)
        return sql.SQL("INSERT INTO {} ({}) {} {}").format(target, names, rows, self._on_conflict())

    def _conflict_values(self) -> sql.Composed:
        places = {column.name: number for number, column in enumerate(self._columns)}
        return sql.SQL(", ").join(
            sql.SQL("{}::{}").format(sql.Identifier(f"c{places[name]}"), sql.SQL(self._columns[places[name]].cast))
            for name in self._table.conflict
        )

    def _distinct(self) -> sql.Composable:
        return sql.SQL("DISTINCT ON ({})").format(self._conflict_values()) if self._upsert else sql.SQL("")

    def _order(self) -> sql.Composable:
        if self._upsert:
            return sql.SQL("ORDER BY {}, n DESC").format(self._conflict_values())
        return sql.SQL("ORDER BY n")

    def _on_conflict(self) -> sql.Composable:
        if not self._upsert:
            return sql.SQL("")
        keys = sql.SQL(", ").join(map(sql.Identifier, self._table.conflict))
        changes = [
            sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(column.name))
            for column in self._columns
            if column.name not in self._table.conflict
        ]
        action = sql.SQL("UPDATE SET ") + sql.SQL(", ").join(changes) if changes else sql.SQL("NOTHING")
        return sql.SQL("ON CONFLICT ({}) DO {}").format(keys, action)
