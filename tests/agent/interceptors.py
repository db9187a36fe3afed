"""Interceptors for tests, good and bad."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from workers.agent.interceptors.api import Context, Event, InitializationError


class Enrich:
    """Parses JSON, adds a field, writes it again."""

    def initialize(self, context: Context) -> None:
        self.country = context.config.get("country", "CZ")

    def intercept(self, event: Event) -> Event:
        document = json.loads(event.body or b"")
        document["country"] = self.country
        event.body = json.dumps(document).encode()
        return event


class Various:
    """Does with an event what its body says."""

    def intercept(self, event: Event) -> Any:
        word = (event.body or b"").decode()
        if word == "drop":
            return None
        if word == "none":
            return []
        if word == "split":
            return [Event(f"{word}{n}".encode(), {**event.headers, "part": str(n)}) for n in range(3)]
        if word == "header":
            event.headers["new"] = f"{event.topic}/{event.partition}/{event.offset}"
            del event.headers["a"]
        if word == "wrong":
            return "text"
        if word == "raise":
            raise ValueError("what it says")
        return event


class Batched:
    """Takes whole batches."""

    def intercept_batch(self, events: list[Event]) -> list[Any]:
        if any(event.body == b"bad" for event in events):
            raise ValueError("bad")
        return [None if event.body == b"drop" else event for event in events]


class ReturnsNothing:
    """Loses its events."""

    def intercept_batch(self, events: list[Event]) -> None:
        return None


class Loses:
    """Loses one event of each batch."""

    def intercept_batch(self, events: list[Event]) -> list[Event]:
        return events[1:]


class Misbehaves:
    """Does in `initialize`, or lazily, what its configuration says; `where`: driver, executor or both."""

    def initialize(self, context: Context) -> None:
        self.config = context.config
        in_worker = "workers.agent.spark.python_daemon" in sys.modules or sys.argv[0].endswith("python_daemon.py")
        where = self.config.get("where", "both")
        if where == "both" or (where == "executor") == in_worker:
            self.act(self.config.get("does", ""))

    def act(self, does: str) -> None:
        if does == "raise":
            raise RuntimeError("this host is not on the list")
        if does == "hang":
            time.sleep(3600)
        if does == "exit":
            sys.exit(3)
        if does == "kill":
            os._exit(4)
        if does == "system_exit":
            from pyspark import SparkContext

            SparkContext._active_spark_context._jvm.System.exit(5)  # type: ignore[union-attr]

    def intercept(self, event: Event) -> Event:
        lazily = self.config.get("lazily")
        if lazily == "raise":
            raise InitializationError("the client did not connect")
        if lazily == "connect":
            raise ConnectionError("the client did not connect")
        if lazily == "exit":
            sys.exit(3)
        if lazily == "kill":
            os._exit(4)
        return event


class Endless:
    """Goes on for ever, whatever exception is raised in it."""

    def intercept(self, event: Event) -> Event:
        while True:
            with suppress(Exception):
                time.sleep(0.01)


class Slow:
    """Takes so many `seconds` for an event."""

    def initialize(self, context: Context) -> None:
        self.seconds = float(context.config["seconds"])

    def intercept(self, event: Event) -> Event:
        time.sleep(self.seconds)
        return event


class Notes:
    """Writes down its life."""

    def initialize(self, context: Context) -> None:
        self.file = Path(context.config["file"])
        self._note("initialize")

    def intercept(self, event: Event) -> Event:
        return event

    def close(self) -> None:
        self._note("close")

    def _note(self, what: str) -> None:
        with self.file.open("a") as file:
            file.write(f"{what} {os.getpid()}\n")


class Waits:
    """Waits politely."""

    def initialize(self, context: Context) -> None:
        self.context = context

    def intercept(self, event: Event) -> Event:
        self.context.wait(3600)
        return event
