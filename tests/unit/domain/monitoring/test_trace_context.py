"""The header `traceparent`, and ids that are always the same."""

from __future__ import annotations

from uuid import UUID

import pytest

from pipelines.domain.base.trace_context import TraceContext, context_of, handed_on, parse, span_id

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SUBJECT = UUID("0190a1b2-c3d4-4e5f-8a9b-0c1d2e3f4a5b")


@pytest.mark.parametrize(
    ("header", "sampled"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f"00-{TRACE}-{SPAN}-03", True),
        (f" 00-{TRACE}-{SPAN}-01\t", True),
        (f"cc-{TRACE}-{SPAN}-01", True),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", True),
    ],
)
def test_a_valid_header_names_trace_span_and_whether_it_is_sampled(header: str, sampled: bool) -> None:
    assert parse(header) == TraceContext(TRACE, SPAN, sampled)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01-",
        f"cc-{TRACE}-{SPAN}-01.more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0g",
        f"00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{'٤' * 32}-{SPAN}-01",
    ],
)
def test_anything_else_counts_as_no_header(header: str) -> None:
    assert parse(header) is None
    assert context_of(SUBJECT, header) == TraceContext(SUBJECT.hex)


def test_what_is_handed_on_has_the_subjects_own_span_as_parent() -> None:
    own = span_id(SUBJECT)
    assert handed_on(SUBJECT, "") == f"00-{SUBJECT.hex}-{own}-01"
    assert handed_on(SUBJECT, f"00-{TRACE}-{SPAN}-00") == f"00-{TRACE}-{own}-00"


def test_ids_of_spans_are_always_the_same_and_differ_from_each_other() -> None:
    ids = [span_id(SUBJECT), span_id(SUBJECT, "stage", 0), span_id(SUBJECT, "stage", 1), span_id(UUID(int=1))]
    assert ids == [span_id(SUBJECT), span_id(SUBJECT, "stage", 0), span_id(SUBJECT, "stage", 1), span_id(UUID(int=1))]
    assert len(set(ids)) == 4
    assert {len(each) for each in ids} == {16}
