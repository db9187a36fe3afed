"""The report of a migration, as somebody reads it who was not there: the JSON document and the page."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from pipelines.domain.migration import evidence, report

DAY = "2026-03-01T12:00:"
PLACE = {"source": "shop", "channel": "main", "topic": "in"}
EVIL = "<img src=//evil.example onerror=alert(1)>&\"'"


def at(second: float) -> str:
    return f"{DAY}{second:09.6f}+00:00"


def step(name: str, stage: str, started: float | None, ended: float | None, state: str = "done") -> dict[str, Any]:
    return {
        "name": name,
        "stage": stage,
        "state": state,
        "tried": 1,
        "message": "",
        "intent_at": None if started is None else at(started),
        "done_at": None if ended is None else at(ended),
    }


LOG = [
    step("prepare_standby", "PREFLIGHT", 1, 20),
    step("pause", "PAUSING", 20.5, 21),
    step("take_snapshot", "SNAPSHOT", 21, 21.2),
    step("translate_positions", "SNAPSHOT", 21.2, 22),
    step("end_old_run", "APPLYING", None, None, "skipped"),
]
LEDGER = {"read": 10, "added": 0, "delivered": 7, "filtered": 3}


def content(**more: Any) -> dict[str, Any]:
    position = {**PLACE, "partition": 0, "stopped_at": 1234, "snapshot": 1234, "started_at": 1234, "gap": 0}
    return {
        "pipeline": "orders",
        "kind": "revision",
        "stage": "COMMITTED",
        "id": "x",
        "reason": "why",
        "message": "Done.",
        "created_by": "ana",
        "created_at": at(0),
        "started_at": at(1),
        "ended_at": at(40),
        "plan_hash": "h" * 64,
        "plan": {
            "changes": [
                {
                    "change": {"path": "sinks.out.topic", "op": "changed", "old": "a", "new": 1000},
                    "consequence": "restart",
                    "reason": "The agent reads it when it starts.",
                }
            ],
            "consequence": "restart",
            "target": {"host": "beta", "revision": None},
            "warnings": [{"code": "LONG_PAUSE", "path": "delivery.mode", "message": "m", "suggestion": "s"}],
        },
        "approvals": [{"by": "ben", "at": at(0.5), "hash": "h" * 64}, {"by": "eva", "at": at(0.4), "hash": "old"}],
        "gates": [{"stage": "COMMITTED", "by": "rules", "at": at(40)}],
        "requests": [
            {"at": at(0), "by": "ana", "action": "create", "outcome": "accepted", "stage": None, "reason": "why"},
            {"at": at(0.2), "by": "ana", "action": "approve", "outcome": "refused", "stage": None, "reason": "author"},
        ],
        "before": {"revision": 1, "host": "alpha", "run": 1},
        "after": {"revision": 2, "host": "beta", "run": 2},
        "runs": [
            {
                "side": "before",
                "number": 1,
                "revision": 1,
                "host": "alpha",
                "role": "ACTIVE",
                "epoch": 1,
                "started_at": at(0),
                "promoted_at": None,
                "first_record_at": at(0.5),
            }
        ],
        "software": {"server": "0.1.0", "worker on beta": "0.2.0"},
        "snapshot": {"digest": "d" * 64},
        "positions": [
            {**position, "overlap": 0},
            {**position, "partition": 1, "started_at": None, "gap": None, "overlap": None},
        ],
        "expected": {"skip": 0, "replay": 0},
        "gap": 0,
        "overlap": 0,
        "not_compared": 1,
        "sink_ends": [],
        "totals": {
            "before": LEDGER,
            "after": {**LEDGER, "read": 20, "delivered": 17},
            "difference": {"before": 0, "after": 0},
        },
        "pause": {
            "expected": 4.0,
            "most": 62.0,
            "seen": 2.6,
            "last_delivered_at": at(20.4),
            "first_delivered_at": at(23),
        },
        "stages": evidence.stages(LOG, at(40)),
        "steps": evidence.durations(LOG),
        "proof": {"run": 1, "checks": [{"name": "in_flight", "holds": True, "words": "None.", "evidence": 0}]},
        "preflight": {"components": [{"name": "out", "kind": "sink", "type": "kafka", "state": "ready", "detail": ""}]},
        "observed": [{"name": "lag", "holds": False, "before": 10, "after": 90_000, "words": "The lag is small."}],
        "findings": [{"code": "OBSERVED_LAG", "path": "lag", "message": "too much", "suggestion": "wait for it"}],
        **more,
    }


def words(page: str) -> str:
    """The page as text, a cell apart from the next."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def page_of(**more: Any) -> str:
    return report.html(evidence.sealed(content(**more)))


def test_a_stage_lasts_until_the_next_one_and_one_that_was_not_begun_is_not_there() -> None:
    found = [(row["stage"], row["seconds"]) for row in evidence.stages(LOG, at(40))]
    assert found == [("PREFLIGHT", 19.5), ("PAUSING", 0.5), ("SNAPSHOT", 19.0)]
    assert evidence.stages(LOG, None)[-1]["seconds"] is None
    assert evidence.stages([], at(40)) == []


def test_ledger_totals_stand_in_the_order_of_the_flow() -> None:
    """However a database orders the keys."""
    mixed = {"delivered": 7, "added": 0, "gaps": 0, "dead_lettered": 1, "filtered": 2, "read": 10}
    rows = report.html(evidence.sealed(content(totals={"before": {}, "after": mixed})))
    names = re.findall(r"<td>(read|added|filtered|dead lettered|delivered|gaps)</td>", rows)
    assert names == ["read", "added", "filtered", "dead lettered", "delivered", "gaps"]


def test_books_that_do_not_balance_say_by_how_much() -> None:
    assert evidence.difference(LEDGER) == 0
    assert evidence.difference({**LEDGER, "delivered": 5}) == 2
    assert evidence.difference({}) is None


@pytest.mark.parametrize(
    "said",
    [
        "requested by ana",
        "approve – refused author",
        "ben 2026-03-01 12:00:00.500 this one",
        "an earlier one, old",
        "revision before, after 1, 2",
        "host before, after alpha, beta",
        "2.6 s, between the deliveries of 12:00:20.400 and 12:00:23",
        "4 s, at most 62 s",
        "1 of 2; of the others one agent has read nothing",
        "shop.main in/0 1,234 1,234 1,234 0 0",
        "in/1 1,234 1,234 – – –",
        "read 10 20 10",
        "records without a verdict 0 0",
        "PREFLIGHT 2026-03-01 12:00:01.000000"[:-3],
        "SNAPSHOT 2026-03-01 12:00:21.000 2026-03-01 12:00:40.000 19.0",
        "in flight yes None. 0",
        "out sink kafka ready",
        "lag NO 10 90,000",
        "OBSERVED_LAG lag too much wait for it",
        "LONG_PAUSE",
        "worker on beta 0.2.0",
        "sinks.out.topic changed a 1000 restart: The agent reads it",
        "before 1 1 alpha",
        "COMMITTED rules",
        "d" * 64,
        "h" * 64,
    ],
)
def test_the_page_says_who_when_what_and_how_it_went(said: str) -> None:
    assert said in words(page_of())


def test_the_page_of_one_that_was_taken_back_shows_both_cuts() -> None:
    row = content()["positions"][0] | {"stopped_at": 2000, "started_at": 2003, "gap": 3}
    back = {
        "positions": [row],
        "gap": 3,
        "overlap": 0,
        "not_compared": 0,
        "seen": 5.1,
        "duplicates_max": 7,
        "last_delivered_at": at(30),
        "first_delivered_at": at(35.1),
    }
    page = words(page_of(rollback=back))
    assert "delivery pause of the rollback (measured) 5.1 s, between the deliveries of 12:00:30" in page
    assert "rollback 3, 0 possible duplicates of in-flight batches, at most 7" in page
    assert "shop.main in/0 2,000 2,003 3 0" in page
    assert "of the rollback" not in words(page_of())


class Tags(HTMLParser):
    """Notes what could fetch or run anything."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def poisoned(value: Any) -> Any:
    """The same with markup in each text but those that are chosen by the program."""
    if isinstance(value, dict):
        kept = {"started_at", "ended_at", "sha256"}
        return {name: each if name in kept or name.endswith("_at") else poisoned(each) for name, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each) for each in value]
    return EVIL if isinstance(value, str) else value


def test_no_text_of_the_content_becomes_markup_and_nothing_is_fetched() -> None:
    page = report.html(evidence.sealed(poisoned(content())))
    seen = Tags()
    seen.feed(page)
    assert seen.names <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "code",
        "footer",
    }
    assert seen.attributes <= {"lang", "charset", "class", "scope", "name", "content"}
    assert "url(" not in page
    assert "@import" not in page


def test_warnings_of_the_preflight_stand_with_their_advice() -> None:
    warning = {"path": "sinks.out", "code": "REPLICATION_ONE", "message": "One copy.", "suggestion": "Make three."}
    component = {"name": "out", "kind": "sink", "type": "kafka", "state": "ready", "detail": "", "warnings": [warning]}
    page = report.html(evidence.sealed(content(preflight={"components": [component]})))
    section = page.partition("Warnings of the preflight")[2].partition("<h2")[0]
    assert [text for text in warning.values() if text not in section] == []
    assert "No warnings." in report.html(evidence.sealed(content())).partition("Warnings of the preflight")[2]


def test_the_page_of_one_that_never_began_says_so() -> None:
    page = words(
        page_of(
            stage="ABORTED",
            started_at=None,
            positions=[],
            not_compared=0,
            stages=[],
            steps=[],
            proof=None,
            preflight=None,
            observed=[],
            findings=[],
            runs=[],
            software=None,
            snapshot={},
            gates=[],
            pause={"expected": None, "seen": None},
            totals={"before": {}, "after": LEDGER, "difference": {"before": None, "after": 0}},
        )
    )
    for said in (
        "started –",
        "delivery pause (measured) –",
        "The migration ended before positions",
        "No pause was verified",
    ):
        assert said in page


def test_a_document_of_before_its_parts_were_written_down_still_has_a_page() -> None:
    old = content()
    for name in ("requests", "runs", "software", "stages", "not_compared", "gates", "preflight", "proof", "snapshot"):
        del old[name]
    old["pause"], old["totals"] = {"expected": 4.0, "seen": 2.6}, {"before": LEDGER, "after": LEDGER}
    assert "2.6 s" in report.html(evidence.sealed(old))


def test_times_are_written_as_rfc_3339() -> None:
    from datetime import UTC, datetime

    assert evidence.sealed({"at": datetime(2026, 3, 1, tzinfo=UTC)})["content"]["at"] == "2026-03-01T00:00:00+00:00"


@pytest.mark.parametrize("reason", ["Zürich", "bell \x07", "next \x85 line", "\x9b31m red", "delete \x7f"])
def test_the_file_verifies_whatever_the_reason_and_steers_no_terminal(reason: str) -> None:
    text = evidence.text(evidence.sealed(content(reason=reason)))
    assert evidence.verify(text).holds
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) is None
    assert json.loads(text)["content"]["reason"] == reason


def test_a_key_that_is_said_twice_does_not_verify() -> None:
    text = json.dumps(evidence.sealed(content()))
    twice = text.replace('"gap": 0, "overlap": 0, "not', '"gap": 9, "gap": 0, "overlap": 0, "not', 1)
    assert twice != text
    found = evidence.verify(twice)
    assert not found.holds
    assert "has the key gap twice" in found.reason


def test_half_a_character_is_no_crash() -> None:
    assert not evidence.verify('{"format": "headgate/migration-evidence/v1", "content": "\\ud800"}').holds
