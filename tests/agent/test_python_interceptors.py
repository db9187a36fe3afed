"""Python interceptors in a local session: every row keeps a verdict, and what fails says so."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.agent.expressions import PATH, In, Out, made, sent, sent_to
from workers.agent.base.findings import Refused, blocked_by
from workers.agent.graph.component import Place


def python(name: str, **keys: Any) -> dict[str, Any]:
    return {"type": "python", "class": f"tests.agent.interceptors:{name}", **keys}


def events(*words: str) -> list[In]:
    return [In(body=word.encode(), offset=n, headers=[("a", b"1"), ("b", b"\xff")]) for n, word in enumerate(words)]


def bodies(outs: list[Out]) -> list[str]:
    return [(out.body or b"").decode() for out in outs]


def build(name: str, *, run: Path | None = None, **keys: Any) -> Any:
    place = Place("p", 1, PATH, run=run, classes=frozenset({f"tests.agent.interceptors:{name}"}))
    return made(place=place, **python(name, **keys))


WORDS = ("a", "drop", "split", "none", "header", "raise", "wrong", "z")


def test_every_row_keeps_its_place_and_gets_a_verdict(session: SparkSession) -> None:
    given = [In(body=word.encode(), offset=n, headers=[("a", b"1")]) for n, word in enumerate(WORDS)]
    outs = sent(session, given, python("Various"))
    assert [out.offset for out in outs] == [0, 1, 2, 2, 2, 3, 4, 5, 6, 7]
    assert [out.copy for out in outs] == [0, 0, 0, 1, 2, 0, 0, 0, 0, 0]
    assert [out.kept for out in outs] == [True, False, True, True, True, False, True, True, True, True]
    assert bodies(outs)[2:5] == ["split0", "split1", "split2"]
    assert outs[3].headers == {"a": "1", "part": "1"}
    assert outs[6].headers == {"new": "t/0/4"}
    assert outs[7].problem == (PATH, "ValueError: what it says")
    assert bodies(outs)[7] == "raise"
    assert outs[8].problem is not None
    assert "it returned str" in outs[8].problem[1]


def test_a_second_interceptor_sees_what_the_first_made_and_numbers_stay_distinct(session: SparkSession) -> None:
    again = {"type": "search_replace", "search_pattern": "split[01]", "replace_string": "split"}
    outs = sent(session, events("split", "drop", "x"), python("Various"), again, python("Various"), {"type": "uuid"})
    assert bodies(outs) == ["split0", "split1", "split2"] * 2 + ["split2", "drop", "x"]
    assert [out.copy for out in outs] == [0, 1, 2, 3, 4, 5, 6, 0, 0]
    assert [out.kept for out in outs] == [True] * 7 + [False, True]
    assert len({out.headers["id"] for out in outs}) == len(outs)


def test_what_was_filtered_or_failed_before_is_not_shown_to_it(session: SparkSession) -> None:
    outs = sent(
        session,
        events("raise", "{}", "a"),
        {"type": "morph_json", "drop": ["x"]},
        {"type": "regex_filter", "regex": "a|raise"},
        python("Various"),
    )
    no_json = "The body is not a JSON object."
    assert [out.problem and out.problem[1] for out in outs] == [no_json, None, no_json]
    assert [out.kept for out in outs] == [True, False, True]


def test_on_error_decides_about_events(session: SparkSession) -> None:
    dropped = sent(session, events("a", "raise", "wrong"), python("Various", on_error="drop"))
    assert [(out.kept, out.problem) for out in dropped] == [(True, None), (False, None), (False, None)]
    with pytest.raises(Exception, match="INTERCEPTOR_FAILED") as failure:
        sent(session, events("a", "raise"), python("Various", on_error="fail"))
    blocked = blocked_by(str(failure.value))
    assert blocked is not None
    assert blocked.finding.path == PATH
    assert "what it says" in blocked.finding.message


def test_the_event_that_breaks_a_batch_is_found(session: SparkSession) -> None:
    outs = sent(session, events("a", "bad", "drop", "z"), python("Batched"))
    assert [out.problem is None for out in outs] == [True, False, True, True]
    assert [out.kept for out in outs] == [True, True, False, True]


@pytest.mark.parametrize(("name", "words"), [("ReturnsNothing", "returned None"), ("Loses", "1 results for 2 events")])
def test_a_batch_that_loses_events_is_an_error(session: SparkSession, name: str, words: str) -> None:
    with pytest.raises(Exception, match=words):
        sent(session, events("a", "b"), python(name))


def test_a_loop_without_end_fails_the_batch_and_no_event(session: SparkSession) -> None:
    with pytest.raises(Exception, match="Endless: it took longer than") as failure:
        sent(session, events("a"), python("Endless", batch_timeout=0.5, on_error="drop"))
    assert blocked_by(str(failure.value)) is None


@pytest.mark.parametrize("does", ["raise", "connect", "exit"])
def test_an_initialisation_that_comes_late_fails_the_batch_whatever_on_error_says(
    session: SparkSession, does: str
) -> None:
    with pytest.raises(Exception, match="INTERCEPTOR_FAILED") as failure:
        sent(session, events("a"), python("Misbehaves", config={"lazily": does}, on_error="drop"))
    assert blocked_by(str(failure.value)) is not None


def test_an_instance_that_never_gets_an_event_through_is_at_fault_itself(session: SparkSession) -> None:
    with pytest.raises(Exception, match="100 events failed with one cause"):
        sent(session, events(*["raise"] * 200), python("Various"))
    outs = sent(session, events("a", *["raise"] * 200), python("Various", config={"another": "instance"}))
    assert sum(out.problem is not None for out in outs) == 200


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("raise", "not on the list"),
        ("exit", r"sys.exit\(3\)"),
        ("kill", "ended the process with 4"),
        ("hang", "longer than 1 s"),
        ("system_exit", "failed to initialize"),
    ],
)
def test_a_bad_initialize_on_the_driver_is_a_finding_and_nothing_worse(does: str, words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        build("Misbehaves", config={"does": does}, init_timeout=1 if does == "hang" else 60).probe()
    assert refused.value.findings[0].path == PATH


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("raise", "not on the list"),
        ("exit", r"sys.exit\(3\)"),
        ("kill", "crash"),
        ("hang", "longer than 5 s|not initialize within 5 s"),
        ("system_exit", "failed to initialize"),
    ],
)
def test_one_that_fails_on_executors_only_is_found_before_the_first_record(
    session: SparkSession, does: str, words: str, tmp_path: Path
) -> None:
    config = {"does": does, "where": "executor"}
    interceptor = build("Misbehaves", config=config, init_timeout=5 if does == "hang" else 60, run=tmp_path)
    interceptor.probe()
    with pytest.raises(Refused, match=words) as refused:
        interceptor.initialise(session)
    assert refused.value.findings[0].path == PATH


def test_only_classes_of_the_registry_run() -> None:
    place = Place("p", 1, PATH, classes=frozenset({"acme.orders:Enrich"}))
    with pytest.raises(Refused, match="not an interceptor that this host allows") as refused:
        made(place=place, **python("Enrich")).probe()
    assert refused.value.findings[0].code == "INTERCEPTOR_NOT_ALLOWED"


def test_it_is_initialised_once_per_process_and_in_all_of_them_at_once(session: SparkSession, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    interceptor = build("Notes", config={"file": str(notes)}, run=tmp_path)
    for _ in range(3):
        outs = sent_to(session, events("a", "b"), [interceptor])
    assert len(outs) == 2
    lines = notes.read_text().split("\n")[:-1]
    assert len(lines) == len(set(lines)) == session.sparkContext.defaultParallelism


def test_a_polite_interceptor_gives_the_batch_up_when_the_run_is_stopped(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "control.json").write_text('{"command": "stop"}')
    interceptor = build("Waits", run=tmp_path, on_error="drop")
    started = time.monotonic()
    with pytest.raises(Exception, match="being stopped"):
        sent_to(session, events("a"), [interceptor])
    assert time.monotonic() - started < 600
