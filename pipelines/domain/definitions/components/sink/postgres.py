"""Events as rows of a PostgreSQL table."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import Duration, Syntax
from pipelines.domain.definitions.parts.columns import ColumnName, Columns
from pipelines.domain.definitions.parts.component import SinkSpec, field

_NAME = r"[A-Za-z_][A-Za-z0-9_$]{0,62}"
TableName = Annotated[
    str,
    Syntax("invalid_table", rf"(?:{_NAME}\.)?{_NAME}", "Write table, or schema.table; letters, digits, _ and $."),
]
Dsn = Annotated[
    str,
    Syntax(
        "invalid_dsn",
        r"postgres(?:ql)?://[^\s\x00-\x1f]{1,4096}|\$\{(?:secret|vault|env|file):[A-Za-z0-9][^\s{}]{0,127}\}",
        'Write "postgresql://user@host:5432/database", or a reference to a secret that holds such an address.',
    ),
]


class PostgresSink(SinkSpec):
    """Copies each batch into a table, exactly once: its key is committed in the same transaction as its rows.

    Executors copy to a table of their own beside it, and one transaction moves the rows. Keys of
    finished batches are kept in `headgate_batches` in the same schema; both tables are made by the sink. An event that
    the table could never take (no JSON, wrong type, null where none is allowed) becomes a dead letter.
    """

    title: ClassVar[str] = "PostgreSQL"
    once: ClassVar[bool] = True
    condition: ClassVar[str] = "The rows and the table headgate_batches are restored together."
    type: Literal["postgres"] = field("Chooses this sink.", example="postgres")
    dsn: Dsn = field(
        "The database's address. One with a password is a reference.",
        example="${secret:audit-dsn}",
        reach="dsn",
        secret=True,
    )
    ca: str | None = field(
        "PEM text of the authority to trust, by reference; the server's certificate and name are checked then.",
        default=None,
        example="${file:database-ca.pem}",
    )
    table: TableName = field("The table, which must exist.", example="public.audit_events")
    columns: Columns | None = field(
        "What goes into which column. Without it: key, headers, body, topic, partition and offset, as far as the table "
        "has columns of these names.",
        default=None,
        example={"id": "body.id", "country": "header.country", "raw": "body"},
    )
    mode: Literal["append", "upsert"] = field(
        "`append` inserts; `upsert` replaces the row with the same `conflict_columns`, the last event of a batch wins.",
        default="append",
        example="upsert",
    )
    conflict_columns: Annotated[list[ColumnName], Field(max_length=32)] = field(
        "The columns of the unique index that upsert goes by; without them, the primary key.",
        default=[],
        example=["id"],
    )
    connect_timeout: Duration = field(
        "How long a connection may take to be made.", default=10.0, example="5s", unit="seconds", ge=1, le=600
    )
    statement_timeout: Duration = field(
        "How long one statement, or one executor's copy, may take.",
        default=120.0,
        example="2m",
        unit="seconds",
        ge=1,
        le=86_400,
    )
