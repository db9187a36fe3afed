"""Python interceptors inside an executor's Python worker: initialised once per process, called in Arrow batches.

Rows are never lost: a filtered or failed event stays as a row that says so, and rows keep their order.
"""

from __future__ import annotations

import operator
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from workers.agent.base.at_work import inside
from workers.agent.base.findings import blocking_text
from workers.agent.base.traces import trace
from workers.agent.interceptors import search
from workers.agent.interceptors.api import Cancelled, Context, Event, InitializationError, Origin
from workers.agent.interceptors.search import NotFound

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
PROBLEM = pa.struct([("component", pa.string()), ("cause", pa.string())])
LONGEST_CAUSE = 500
_UNTOUCHED = ("headers", "topic", "partition", "offset")
_NEVER_OF_AN_EVENT = (InitializationError, ImportError, NameError, MemoryError)
SAME_FAILURES = 100
"""So many events in a row, the first that an instance sees, that fail for one cause: it is the instance that fails."""
_CLOSING = 2.0
_AGAIN = 1.0
"""Seconds between two interrupts of code that does not let itself be interrupted."""
_NOT_FOUND = "INTERCEPTOR_NOT_FOUND"
_MISSING = (
    "Put the module into a directory of HEADGATE_INTERCEPTOR_PATH, or install its package, on each host that runs the "
    "pipeline; restart the worker if you change the setting."
)
_SUGGESTION = "Fix the interceptor or its environment, then start the pipeline again."


@dataclass(frozen=True)
class Settings:
    """An interceptor as it travels to the executors. `run` tells runs apart; `path` is its place in the definition,
    `number` that among the interceptors of its source; `directories`: where the class may lie beside the installed
    packages."""

    run: str
    path: str
    number: int
    class_name: str
    config: dict[str, Any]
    on_error: str
    init_timeout: float
    batch_timeout: float
    control: str | None = None
    directories: Sequence[str] = ()


class TookTooLong(BaseException):
    """Interrupts code of an interceptor; no event's failure, and not meant to be caught there."""


class InterceptorFailed(RuntimeError):
    """Fails the batch and blocks the pipeline; its text carries the finding through Spark and Java."""


@dataclass
class Running:
    """An initialised instance; `path` is its place in the definition. `succeeded`: it has got an event through; else
    `failures` counts the last `cause`."""

    path: str
    instance: Any
    context: Context
    succeeded: bool = False
    cause: str = ""
    failures: int = 0


_running: dict[str, Running] = {}


def running(settings: Settings) -> Running:
    """The instance of this process. Raises InterceptorFailed where it does not initialise."""
    key = repr(settings)
    if key not in _running:
        _running[key] = initialised(settings)
    return _running[key]


def initialised(settings: Settings) -> Running:
    """A new instance. Raises InterceptorFailed, whatever its class does short of ending the process."""
    control = Path(settings.control) if settings.control else None
    context = Context(host=socket.gethostname(), config=settings.config, control=control)
    try:
        with _at_most(settings.init_timeout):
            instance = inside(settings.path, _made)(settings.class_name, settings.directories, context)
    except NotFound as error:
        raise _failed(settings, f"{error}", _MISSING) from error
    except BaseException as error:
        raise _failed(settings, f"The interceptor failed to initialize on {context.host}: {reported(error)}") from error
    return Running(settings.path, instance, context)


def _made(class_name: str, directories: Sequence[str], context: Context) -> Any:
    instance = search.load(class_name, directories)()
    if hasattr(instance, "initialize"):
        instance.initialize(context)
    return instance


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Interrupt Python code that takes longer, and again each second where it goes on; 0 is no limit.

    Only the main thread can be interrupted, and no call into C. Raises TookTooLong.
    """
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def reported(error: BaseException) -> str:
    """An exception in a line."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    if isinstance(error, TookTooLong):
        return str(error)
    return f"{type(error).__name__}: {error}"[:LONGEST_CAUSE]


def _failed(settings: Settings, message: str, suggestion: str = _SUGGESTION) -> InterceptorFailed:
    code = _NOT_FOUND if suggestion is _MISSING else "INTERCEPTOR_FAILED"
    text = f"The interceptor {settings.class_name}: {message}"
    return InterceptorFailed(blocking_text(settings.path, code, text, suggestion))


def close_all() -> None:
    """Close every instance of this process, within seconds; called when the process ends."""
    while _running:
        _, ending = _running.popitem()
        ending.context.cancel()
        if hasattr(ending.instance, "close"):
            try:
                with _at_most(_CLOSING):
                    inside(ending.path, ending.instance.close)()
            except BaseException as error:
                print(f"an interceptor did not close: {reported(error)}")


def mapper(settings: Settings) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark calls in each task."""

    def intercept(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        work = Task(settings, running(settings))
        for batch in batches:
            with _at_most(settings.batch_timeout):
                result = work.through(batch)
            yield result

    return intercept


@dataclass(frozen=True)
class Failed:
    """The result of an event for which the interceptor raised an exception."""

    error: BaseException


@dataclass
class Rows:
    """The rows of a result: from which row of the input each comes, and its event or what became of it."""

    sources: list[int] = field(default_factory=list)
    events: list[Event | None] = field(default_factory=list)
    filtered: list[bool] = field(default_factory=list)
    problems: list[dict[str, str] | None] = field(default_factory=list)
    split: bool = False

    def add(
        self, source: int, event: Event | None, *, filtered: bool = False, cause: dict[str, str] | None = None
    ) -> None:
        """One row; without an event, the row is as it was read."""
        self.sources.append(source)
        self.events.append(event)
        self.filtered.append(filtered)
        self.problems.append(cause)


class Task:
    """One task's pass over its batches."""

    def __init__(self, settings: Settings, own: Running) -> None:
        self._settings = settings
        self._own = own
        self._trace = trace(Path(settings.control)) if settings.control else None
        self._last: tuple[Any, Any, Any] | None = None
        self._next_copy = 0

    def through(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch after the interceptor."""
        columns = {name: batch.column(name) for name in batch.schema.names}
        look_up = cache(lambda name: columns[name].to_pylist())
        due = self._due(columns, batch.num_rows)
        events = _events(look_up, due)
        results = self._results(events)
        rows = _all_through(events, results, batch.num_rows) or self._rows(batch.num_rows, due, events, results)
        return self._written(columns, look_up, rows)

    def _due(self, columns: dict[str, Any], count: int) -> list[int]:
        """The rows that nothing has filtered or failed yet."""
        filtered = columns["filtered_by"].to_pylist() if "filtered_by" in columns else [None] * count
        problems = columns["problem"].to_pylist() if "problem" in columns else [None] * count
        return [row for row in range(count) if filtered[row] is None and problems[row] is None]

    def _results(self, events: list[Event]) -> list[Any]:
        return inside(self._settings.path, self._traced if self._trace else self._called)(events)

    def _traced(self, events: list[Event]) -> list[Any]:
        """One by one, each written down before it is handed over."""
        results: list[Any] = []
        for event in events:
            with self._trace.at(event.topic, event.partition, event.offset) if self._trace else nullcontext():
                results += self._called([event])
        return results

    def _called(self, events: list[Event]) -> list[Any]:
        instance = self._own.instance
        if hasattr(instance, "intercept_batch"):
            return self._of_batch(events)
        call, results = instance.intercept, []
        for event in events:
            try:
                results.append(call(event))
            except BaseException as error:
                results.append(self._classified(error))
            else:
                self._own.succeeded = True
        return results

    def _of_batch(self, events: list[Event]) -> list[Any]:
        """One result per event. Where the batch fails, each event is given alone, to find the one that breaks it."""
        try:
            results = self._own.instance.intercept_batch(list(events)) if events else []
        except BaseException as error:
            failure = self._classified(error)
            return [failure] if len(events) == 1 else [self._of_batch([event])[0] for event in events]
        if not isinstance(results, list) or len(results) != len(events):
            found = "None" if results is None else f"{len(results)} results" if isinstance(results, list) else "no list"
            raise _failed(self._settings, f"intercept_batch returned {found} for {len(events)} events.")
        self._own.succeeded = True
        return results

    def _classified(self, error: BaseException) -> Failed:
        """An event's failure follows `on_error`; anything else raises, and fails the batch."""
        own = self._own
        if isinstance(error, Cancelled | KeyboardInterrupt) or own.context.cancelled():
            own.context.cancel()
            raise RuntimeError("the run is being stopped; the batch is canceled") from error
        if isinstance(error, TookTooLong):
            raise RuntimeError(f"The interceptor {self._settings.class_name}: {error} over one batch") from error
        if _is_of_the_instance(error, own) or self._settings.on_error == "fail":
            raise _failed(self._settings, reported(error)) from error
        if not own.succeeded:
            own.failures = own.failures + 1 if reported(error) == own.cause else 1
            own.cause = reported(error)
            if own.failures >= SAME_FAILURES:
                raise _failed(
                    self._settings, f"Its first {own.failures} events failed with one cause: {own.cause}"
                ) from error
        return Failed(error)

    def _rows(self, count: int, due: list[int], events: list[Event], results: list[Any]) -> Rows:
        rows = Rows()
        result_of = dict(zip(due, results, strict=True)) if len(due) < count else None
        for row in range(count):
            if result_of is not None and row not in result_of:
                rows.add(row, None)
                continue
            self._add(rows, row, results[row] if result_of is None else result_of[row])
        return rows

    def _add(self, rows: Rows, row: int, result: Any) -> None:
        if isinstance(result, Event):
            made = [result]
        elif result is None:
            made = []
        elif isinstance(result, list):
            made = result
        else:
            made = [result]
        wrong = next((problem for event in made if (problem := _wrong(event))), None)
        if wrong is not None:
            self._add_failed(rows, row, wrong)
        elif not made:
            rows.add(row, None, filtered=True)
        else:
            rows.split |= len(made) > 1
            for event in made:
                rows.add(row, event)

    def _add_failed(self, rows: Rows, row: int, error: BaseException) -> None:
        if self._settings.on_error == "drop":
            rows.add(row, None, filtered=True)
        elif self._settings.on_error == "fail":
            raise _failed(self._settings, reported(error))
        else:
            rows.add(row, None, cause={"component": self._settings.path, "cause": reported(error)})

    def _written(self, columns: dict[str, Any], look_up: Callable[[str], list[Any]], rows: Rows) -> pa.RecordBatch:
        indices = pa.array(rows.sources, pa.int64()) if rows.split else None
        taken = {name: columns[name] if indices is None else columns[name].take(indices) for name in _UNTOUCHED}
        made = {
            "key": pa.array(_values(rows, look_up, "key"), pa.binary()),
            "body": pa.array(_values(rows, look_up, "body"), pa.binary()),
            "headers": _headers(taken["headers"], rows, look_up),
            "topic": taken["topic"],
            "partition": taken["partition"],
            "offset": taken["offset"],
            "copy": self._copies(columns, look_up, rows),
            "added_by": self._added_by(look_up("added_by") if "added_by" in columns else None, rows),
            "filtered_by": self._filtered_by(look_up("filtered_by") if "filtered_by" in columns else None, rows),
            "problem": pa.array(_problems(rows, look_up("problem") if "problem" in columns else None), PROBLEM),
        }
        return pa.RecordBatch.from_arrays(list(made.values()), names=list(made))

    def _copies(self, columns: dict[str, Any], look_up: Callable[[str], list[Any]], rows: Rows) -> Any:
        """The number of each event among those of its record: 0 stays 0, added ones get numbers of their own."""
        before = look_up("copy") if "copy" in columns else None
        if not rows.split and not (before and any(before)):
            self._last = None
            return pa.array([0] * len(rows.sources), pa.int32())
        numbers = []
        origins = list(zip(look_up("topic"), look_up("partition"), look_up("offset"), strict=True))
        for row in rows.sources:
            if origins[row] != self._last:
                self._last, self._next_copy = origins[row], 0
            number = max(self._next_copy, before[row] if before else 0)
            self._next_copy = number + 1
            numbers.append(number)
        return pa.array(numbers, pa.int32())

    def _added_by(self, before: list[int | None] | None, rows: Rows) -> Any:
        """The first of the events that one has become is as that was; the others are this interceptor's."""
        if before is None and not rows.split:
            return pa.nulls(len(rows.sources), pa.int32())
        earlier = before or [None] * len(rows.sources)
        first = map(operator.ne, rows.sources, [None, *rows.sources])
        pairs = zip(rows.sources, first, strict=True)
        return pa.array([earlier[row] if is_first else self._settings.number for row, is_first in pairs], pa.int32())

    def _filtered_by(self, before: list[int | None] | None, rows: Rows) -> Any:
        """What was filtered before was not shown to it."""
        if before is None and not any(rows.filtered):
            return pa.nulls(len(rows.sources), pa.int32())
        earlier = before or [None] * len(rows.sources)
        pairs = zip(rows.sources, rows.filtered, strict=True)
        return pa.array([self._settings.number if own else earlier[row] for row, own in pairs], pa.int32())


def _all_through(events: list[Event], results: list[Any], count: int) -> Rows | None:
    """The usual case, quickly: every row was an event, and every event came back itself and whole."""
    if len(results) < count or not all(map(operator.is_, results, events)) or any(map(_wrong, events)):
        return None
    return Rows(list(range(count)), list(events), [False] * count, [None] * count)


def _is_of_the_instance(error: BaseException, own: Running) -> bool:
    """Whether it says that the interceptor, not the event, is at fault. What reaches for files or the network and has
    never succeeded is an initialisation that comes late."""
    chain: BaseException | None = error
    while chain is not None:
        if not isinstance(chain, Exception) or isinstance(
            chain, InitializationError | ImportError | NameError | MemoryError
        ):
            return True
        if isinstance(chain, OSError) and not own.succeeded:
            return True
        chain = chain.__cause__
    return False


def _events(look_up: Callable[[str], list[Any]], due: list[int]) -> list[Event]:
    bodies, keys = look_up("body"), look_up("key")
    events = []
    for row in due:
        event = Event.__new__(Event)
        event.body = bodies[row]
        event.key = keys[row]
        event._headers = None
        event._origin = Origin(look_up, row)
        events.append(event)
    return events


def _wrong(event: Any) -> BaseException | None:
    """What is wrong with a result."""
    if isinstance(event, Failed):
        return event.error
    if not isinstance(event, Event):
        return TypeError(f"it returned {type(event).__name__}, not an event, None or a list of events")
    for name in ("body", "key"):
        value = getattr(event, name)
        if value is not None and not isinstance(value, bytes):
            return TypeError(f"the {name} of an event is bytes or None, not {type(value).__name__}")
    own = event._headers
    if own is not None and not all(isinstance(part, str) for pair in own.items() for part in pair):
        return TypeError("names and values of headers are text")
    return None


def _problems(rows: Rows, before: list[Any] | None) -> list[Any]:
    if before is None:
        return rows.problems
    return [before[row] or own for row, own in zip(rows.sources, rows.problems, strict=True)]


def _values(rows: Rows, look_up: Callable[[str], list[Any]], name: str) -> list[Any]:
    read = look_up(name)
    return [
        read[row] if event is None else getattr(event, name)
        for row, event in zip(rows.sources, rows.events, strict=True)
    ]


def _headers(taken: Any, rows: Rows, look_up: Callable[[str], list[Any]]) -> Any:
    """The headers that were read, unless an event's were looked at: then those that changed are written anew."""
    if all(event is None or event._headers is None for event in rows.events):
        return taken
    read = look_up("headers")
    return pa.array(
        [
            read[row] if event is None or event._headers is None else _pairs(event, read[row])
            for row, event in zip(rows.sources, rows.events, strict=True)
        ],
        HEADERS,
    )


def _pairs(event: Event, read: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """What did not change stays as it was, repeated names and odd bytes included."""
    own = event.headers
    before = event._origin.headers() if event._origin is not None else {}
    same = {name for name, value in own.items() if before.get(name) == value}
    pairs = [pair for pair in (read or []) if pair["key"] in same and event._origin is not None]
    changed = [(name, value) for name, value in own.items() if name not in same]
    return [*pairs, *({"key": name, "value": value.encode("utf-8", "surrogateescape")} for name, value in changed)]
