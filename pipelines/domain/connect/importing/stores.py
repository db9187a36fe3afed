"""Connectors that write to databases and search engines: JDBC and Elasticsearch."""

from __future__ import annotations

import re
from typing import Any

from pipelines.domain.connect.importing.notes import take_text
from pipelines.domain.connect.importing.parts import Part
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.section import Section

_POSTGRES = re.compile(r"jdbc:(postgresql://)([^\s?]+)(\?.*)?")


def jdbc_sink(section: Section, part: Part) -> dict[str, Any]:
    """A table of PostgreSQL; other databases have no sink."""
    made: dict[str, Any] = {"type": "postgres", "dsn": _dsn(section, part), "table": _table(section, part)}
    return made | _columns(section, part) | _mode(section, part)


def _dsn(section: Section, part: Part) -> str:
    url, user = section.take("connection.url"), section.take("connection.user")
    password = section.take("connection.password")
    for each in (url, user):
        if each is not None:
            part.report.mapped(each, (*part.path, "dsn"))
    found = _POSTGRES.fullmatch(url.value) if url else None
    if found is None:
        part.mislead("unsupported_database", "Only PostgreSQL has a sink.", "Write to Kafka, or POST it.", about=url)
    if password is None and found and not found[3]:
        login = f"{user.value}@" if user else ""
        return f"{found[1]}{login}{found[2]}"
    secret = f"{part.name}-dsn"
    part.note(
        "secret_not_copied",
        "The address of the database holds a password, or settings of Java.",
        f"It was not copied; ${{secret:{secret}}} replaces it.",
        about=password or url or "connection.url",
        suggestion=f"headgate secrets set {secret}, with postgresql://USER:PASSWORD@HOST:5432/DATABASE.",
    )
    return f"${{secret:{secret}}}"


def _table(section: Section, part: Part) -> str:
    written = take_text(section, "table.name.format", part.report, (*part.path, "table"), default="${topic}")
    if "${topic}" in written and part.topics.only is None:
        message = "The connector writes to a table for each topic; one sink has one table."
        part.mislead("table_per_topic", message, "Make a pipeline, or a channel with a selector, for each table.")
    return written.replace("${topic}", part.topics.only or "topic")


def _columns(section: Section, part: Part) -> dict[str, Any]:
    fields = section.take("fields.whitelist") or section.take("fields.include")
    if fields is None:
        message = "The connector makes a column of each field of a record; here columns name theirs."
        part.mislead("columns_needed", message, "Write columns: {id: body.id, country: body.country}.")
        return {}
    part.report.mapped(fields, (*part.path, "columns"))
    return {"columns": {name: f"body.{name}" for name in items(fields.value, ",")}}


def _mode(section: Section, part: Part) -> dict[str, Any]:
    mode, keys = section.take("insert.mode"), section.take("pk.fields")
    wanted = mode.value.lower() if mode else "insert"
    for key in ("auto.create", "auto.evolve"):
        if (asked := section.take(key)) and asked.value.lower() == "true":
            message = f"{key} has no equivalent: the table has to exist, with its columns."
            part.note("no_equivalent", message, "It was omitted.", about=asked, suggestion="Create the table first.")
    if (delete := section.take("delete.enabled")) and delete.value.lower() == "true":
        message = "A record without a value deletes its row in the connector; here it becomes a dead letter."
        part.mislead("deletes_not_expressible", message, "Delete rows elsewhere.", about=delete)
    if mode is not None:
        part.report.mapped(mode, (*part.path, "mode"))
    if wanted == "update":
        part.mislead("mode_not_expressible", "There is no mode that only updates rows.", "Use upsert.", about=mode)
    if wanted != "upsert":
        return {}
    if keys is not None:
        part.report.mapped(keys, (*part.path, "conflict_columns"))
    return {"mode": "upsert"} | ({"conflict_columns": items(keys.value, ",")} if keys else {})


def elasticsearch_sink(section: Section, part: Part) -> dict[str, Any]:
    """An index; the topic names it."""
    hosts = section.take("connection.url")
    made: dict[str, Any] = {"type": "opensearch", "hosts": items(hosts.value, ",") if hosts else []}
    if hosts is not None:
        part.report.mapped(hosts, (*part.path, "hosts"))
    if part.topics.only is None:
        message = "The connector writes to an index for each topic; one sink has one index, or takes it from a header."
        part.mislead("index_per_topic", message, "Add index_header: topic and allowed_indices.")
    made["index"] = (part.topics.only or "topic").lower()
    ignored = section.take("key.ignore")
    if ignored is not None:
        part.report.used(ignored)
    if ignored is None or ignored.value.lower() != "true":
        part.headers.add("key")
        made["id_header"] = "key"
    if take_text(section, "write.method", part.report, default="insert").lower() == "upsert":
        part.mislead("mode_not_expressible", "A document is replaced as a whole.", "Write whole documents.")
    return made
