"""The terms that no public text has, with what stands there instead, and the few places where such a word is right.

One concept has one term, in the dashboard, the command line, the API, logs and pages: docs/concepts/glossary.md.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Term(NamedTuple):
    """`pattern`: a regular expression over a text in lower case; `instead`: what to write; `example`: for the test."""

    pattern: str
    instead: str
    example: str


TERMS = (
    Term(r"\bin hand\b", "in-flight batch", "It drops the batch in hand."),
    Term(r"\bbooks\b", "ledger totals; balanced, unbalanced", "The books balance."),
    Term(r"\bcursors?\b", "position (next offset to read)", "The cursor did not move."),
    Term(
        r"(?<!dead )(?<!dead-)(?<!case )(?<!other )\bletters?\b(?!,? (?:and |or )?(?:digits?|hyphens?)\b)"
        r"|\bletter office\b|\bstoreroom\b",
        "dead letter, dead-letter queue",
        "The letters were sent.",
    ),
    Term(
        r"\breplay(?:s|ed|ing)? (?:of |the |these |all |new )*dead letters?\b"
        r"|\bdead letters?\b(?: \w+){0,3} replayed\b",
        "retry (a replay reads a range again)",
        "Two dead letters were replayed.",
    ),
    Term(r"\bintakes?\b", "ingest buffer, journal ingestion, push source", "The intake is full."),
    Term(r"\bladders?\b|\brungs?\b|\bclimb(?:s|ed|ing)?\b", "stop escalation, stage", "A stop climbs a ladder."),
    Term(
        r"\bjudge[sd]?\b|\b(?:a|one|two|last|first|each|every|next|between) looks?\b(?!-)|\b(?:can|could|not) look\b"
        r"|\blooked at\b|\blooks? after\b",
        "probe, inspect, snapshot, measure",
        "It did not move between two looks.",
    ),
    Term(r"\btell(?:s|ing)?\b|\btold\b", "record, notify, report", "The agent was not told."),
    Term(r"\b(?:take|takes|taken|took|taking)\b(?: \w+){0,3} back\b", "roll back", "The migration was taken back."),
    Term(r"\bways? back\b", "rollback, revert", "Plan the way back."),
    Term(r"\bg(?:ive|ives|ave|iven|iving)(?: \w+)? up\b", "cancel, abort, time out", "The pause was given up."),
    Term(r"\b(?:is|are|was|were) over\b(?! \d)", "has ended", "This operation is over."),
    Term(
        r"\bbegun\b|\bbegan\b|\bgo(?:es|ing|ne)? on\b|\bwent on\b|\bkeeps? (?:it )?going\b",
        "start, continue, resume",
        "The batch was begun, and it goes on.",
    ),
    Term(r"\bprices?\b|\bcosts? nothing\b", "expected impact", "The price of a move."),
    Term(
        r"\bannounce[sd]?\b[^.]{0,40}\bduplicates?\b|\bduplicates?\b[^.]{0,40}\bannounce[sd]?\b",
        "possible duplicates (at most N)",
        "Duplicates are announced.",
    ),
    Term(r"\bpersons?\b|\bpeople\b", "user, operator, administrator, you; action required", "It waits for a person."),
    Term(
        r"\b(?:some|no|any|every)(?:body|one)(?: else)?\b|\bwhoever\b|\bwhom\b",
        "user, operator, administrator, you",
        "Whoever asks may approve.",
    ),
    Term(
        r"\bgroups of others\b|\bwatch(?:ed|es)? groups?\b|\bgroups? (?:is|are|was) (?:not )?watched\b",
        "external consumer groups; monitor",
        "There is no watched group of this name.",
    ),
    Term(r"\bdeaf\b|\bhears?\b|\bheard\b", "broker connection healthy, unresponsive", "The worker is deaf."),
    Term(r"\bbelie(?:ve|ves|ved|ving)\b", "source of truth", "Believe the host."),
    Term(r"\bbeing emptied\b|\bto empty\b", "evacuate, drain", "The host is being emptied."),
    Term(r"\b(?:new|old) side\b", "new agent, old agent, standby", "The new side has no run."),
    Term(r"\bbeats?\b", "heartbeat, background loop", "Its next beat ends that."),
    Term(r"\bhand(?:ed)?[- ]?overs?\b", "pass on, take over", "The hand-over of positions."),
    Term(r"\bshow the call\b", "API call, CLI command", "Show the call"),
)

PATTERNS = tuple(re.compile(term.pattern) for term in TERMS)


class Allowed(NamedTuple):
    """`path`: the beginning of a path; `text`: what stands around the word, in lower case; empty: any."""

    path: str
    text: str
    reason: str


ALLOWED = (
    Allowed("pipelines/models/", "", "help texts of tables, which no user reads; a change would need a migration"),
    Allowed("pipelines/api/http/paging.py", "cursor", "the cursor of a list's next page, as in the parameter"),
    Allowed("docs/guides/dead-letters.md", "by cursor", "the cursor of a list's next page, as in the parameter"),
    Allowed("pipelines/domain/definitions/", "with the letters of java's", "letters of the alphabet"),
    Allowed("docs/reference/", "with the letters of java's", "letters of the alphabet"),
    Allowed("docs/reference/benchmarks/", "the price of the ledger", "what the ledger costs, as a measured figure"),
    Allowed("docs/reference/benchmarks/", "price of the ledger, %", "what the ledger costs, as a measured figure"),
)
