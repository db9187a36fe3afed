"""The books of an unattended demo: what was produced, what Headgate says became of it, what is really in the sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controlplane.devstack.client import Json
from controlplane.devstack.records import is_noise, number_of


@dataclass(frozen=True)
class Readback:
    """The sink's records against the numbers produced. `foreign`: records that should not be there."""

    records: int
    missing: int
    duplicates: int
    foreign: int


def read_back(bodies: Iterable[bytes], produced: int) -> Readback:
    """Compare the sink with the numbers 0 to `produced` - 1, of which the filter drops the noise."""
    seen: Counter[int] = Counter()
    foreign = 0
    for body in bodies:
        number = _number(body)
        if number is None or not 0 <= number < produced or is_noise(number):
            foreign += 1
        else:
            seen[number] += 1
    expected = sum(not is_noise(number) for number in range(produced))
    records = seen.total()
    return Readback(records + foreign, missing=expected - len(seen), duplicates=records - len(seen), foreign=foreign)


def _number(body: bytes) -> int | None:
    try:
        return number_of(body)
    except ValueError:
        return None


@dataclass(frozen=True)
class LedgerTotals:
    """`summary` is the API's ledger summary; `first_record` is None where the run never delivered."""

    produced: int
    summary: Json
    sink: Readback
    restarts: int
    pause_still: bool
    processes_left: int
    first_record: float | None

    @property
    def possible_duplicates(self) -> int:
        return int(self.summary["duplicates_max"])

    def problems(self) -> Iterator[str]:
        """What must not be, in words; nothing when all is well."""
        if self.summary["read"] != self.produced:
            yield f"{self.produced} records were produced and {self.summary['read']} read"
        if self.sink.missing:
            yield f"{self.sink.missing} records are missing in the sink"
        if self.sink.foreign:
            yield f"{self.sink.foreign} records of the sink should not be there"
        if self.sink.duplicates > self.possible_duplicates:
            yield f"{self.sink.duplicates} duplicates, and the ledger has at most {self.possible_duplicates}"
        if not self.summary["balanced"]:
            yield "the ledger is unbalanced"
        if not self.pause_still:
            yield "the position moved during the pause"
        if not self.restarts:
            yield "the killed agent was not started again"
        if self.processes_left:
            yield f"{self.processes_left} processes of the agent were left after the stop"
        if self.first_record is None:
            yield "the first record was never delivered"

    def table(self) -> str:
        rows: list[tuple[str, str]] = [
            ("produced", f"{self.produced:,}"),
            ("read", f"{self.summary['read']:,}"),
            ("delivered", f"{self.summary['delivered']:,}"),
            ("filtered", f"{self.summary['filtered']:,}"),
            ("in the sink topic", f"{self.sink.records:,}"),
            ("missing", f"{self.sink.missing:,}"),
            ("duplicates", f"{self.sink.duplicates:,}"),
            ("possible duplicates, at most", f"{self.possible_duplicates:,}"),
            ("balanced", _yes(self.summary["balanced"])),
            ("position unchanged in the pause", _yes(self.pause_still)),
            ("restarts", f"{self.restarts:,}"),
            ("processes left", f"{self.processes_left:,}"),
            ("start request to first record", "never" if self.first_record is None else f"{self.first_record:.1f} s"),
        ]
        label, value = (max(len(row[column]) for row in rows) for column in (0, 1))
        return "\n".join(f"{name:<{label}}  {figure:>{value}}" for name, figure in rows)


def _yes(value: bool) -> str:
    return "yes" if value else "NO"
