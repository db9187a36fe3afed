"""What a previewer is asked and what it answers: one JSON object each."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from pydantic import Field

from pipelines.domain.base.positions import Frozen, Offset
from pipelines.domain.preview.comparing import DifferenceKind, Totals, Volatile
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.preview.selection import PreviewSelection

MOST_DIFFERENCES = 500
"""Events that differ of which more than their number is kept."""
MOST_ANSWER = 48 * 1024 * 1024
"""Bytes of an answer."""


class Side(Frozen):
    """A revision: its definition with the references as they are written, and their values."""

    definition: dict[str, Any]
    values: dict[str, str] = Field(default={}, repr=False)


class HostAnswer(Frozen):
    """What could be found out, or the findings that block it."""

    findings: list[dict[str, Any]] = []


AnswerT = TypeVar("AnswerT", bound=HostAnswer)


class HostRequest(Frozen, Generic[AnswerT]):
    """What the host has for agents. `state`: the directory of the pipeline's runs, which is read and never written;
    `masked`: texts that no answer may show; `seconds`: in which the previewer ends, with an answer or without one;
    `noun`: what texts and codes call it; `advice`: what may help where it has none."""

    spark: dict[str, Any]
    state: str = ""
    interceptors: list[str] = []
    interceptor_path: list[str] = []
    reach: dict[str, Any] = {}
    masked: list[str] = Field(default=[], repr=False)
    seconds: float = Field(gt=0)
    noun: ClassVar[str]
    advice: ClassVar[str]
    answer: ClassVar[type[HostAnswer]]

    def answer_of(self, line: bytes) -> AnswerT:
        """Raises ValueError for a line that is no answer to it."""
        return cast("AnswerT", self.answer.model_validate_json(line))

    def refused(self, findings: list[dict[str, Any]]) -> AnswerT:
        """The answer where these block it."""
        return cast("AnswerT", self.answer(findings=findings))


class RangeRead(Frozen):
    """[start, end) of a partition, as it was read."""

    topic: str
    partition: Offset
    start: Offset
    end: Offset


class CountRow(Frozen):
    """Events with one outcome, under the old and the new revision."""

    result: EventResult
    component: str
    before: int
    after: int


class NotCompared(Frozen):
    """What differs each time that a revision is run."""

    headers: list[str] = []
    key: bool = False
    body: bool = False

    @classmethod
    def of(cls, ignored: Volatile) -> NotCompared:
        """The same as it is shown."""
        return cls(headers=sorted(ignored.headers), key=ignored.key, body=ignored.body)


class ShownSide(Frozen):
    """What one revision makes of an event. `event` and `cause` are for those who may see records; a filtered event is
    shown as it was read."""

    result: EventResult
    channels: list[str]
    component: str = ""
    cause: str = ""
    event: dict[str, Any] | None = None


class ChangedValue(Frozen):
    """A header by its name or a place in a JSON body by its pointer; None on the side that does not have it."""

    name: str
    before: str | None = None
    after: str | None = None


class DifferenceRow(Frozen):
    """An event that differs. `record`: what it was made of, as the source reads it; `components`: the changed
    components that are the reason; `body`: structural, empty where the bodies are no JSON or are the same JSON written
    differently."""

    topic: str
    partition: Offset
    offset: Offset
    copy_number: int = 0
    kinds: list[DifferenceKind]
    components: list[str] = []
    record: dict[str, Any] | None = None
    before: ShownSide | None = None
    after: ShownSide | None = None
    headers: list[ChangedValue] = []
    body: list[ChangedValue] = []


def without_events(row: DifferenceRow) -> DifferenceRow:
    """A difference without what its events hold."""
    sides = {
        name: side.model_copy(update={"event": None, "cause": ""}) if (side := getattr(row, name)) else None
        for name in ("before", "after")
    }
    return row.model_copy(update={**sides, "record": None, "headers": [], "body": []})


class PreviewResult(Frozen):
    """The whole answer. `records`: what was read; `before`, `after`: what becomes of them under each revision;
    `differing`: all events that differ, of which `differences` has the first; `components`: how many of those each
    changed component is a reason for."""

    source: str
    records: int
    size: int
    ranges: list[RangeRead]
    notes: list[str] = []
    counts: list[CountRow] = []
    before: Totals | None = None
    after: Totals | None = None
    kinds: dict[DifferenceKind, int] = {}
    components: dict[str, int] = {}
    differing: int = 0
    not_compared: NotCompared = NotCompared()
    differences: list[DifferenceRow] = []


class PreviewAnswer(HostAnswer):
    """A result, or the findings that stand in its way."""

    result: PreviewResult | None = None


class PreviewRequest(HostRequest[PreviewAnswer]):
    """Two revisions, and the records that both are given."""

    noun: ClassVar = "preview"
    advice: ClassVar = "Check that the brokers respond, select fewer records, or correct what never ends."
    answer: ClassVar = PreviewAnswer
    kind: Literal["preview"] = "preview"
    base: Side
    candidate: Side
    source: str = ""
    selection: PreviewSelection


class CaseFailure(Frozen):
    """A place of a test that is not as expected: what was expected and what is there, None where there is nothing.
    `component`: path of what decided it, empty where none did."""

    path: str
    message: str
    expected: str | None = None
    got: str | None = None
    component: str = ""


class CaseResult(Frozen):
    """How a test ended; passed without failures."""

    name: str
    failures: list[CaseFailure] = []


class CasesResult(Frozen):
    """Every test of a definition, in its order."""

    tests: list[CaseResult]

    @property
    def passed(self) -> bool:
        """Whether all did."""
        return not any(test.failures for test in self.tests)


class CasesAnswer(HostAnswer):
    """How the tests ended, or the findings that stand in their way."""

    result: CasesResult | None = None


class CasesRequest(HostRequest[CasesAnswer]):
    """A revision, whose tests give the events. Its references stay as they are written."""

    noun: ClassVar = "test"
    advice: ClassVar = "Correct the interceptor that never ends, or what the tests give it."
    answer: ClassVar = CasesAnswer
    kind: Literal["tests"] = "tests"
    candidate: Side
