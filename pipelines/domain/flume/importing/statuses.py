"""The statuses after which Flume's HTTP sink gives events up: `rollback.CODE = false`."""

from __future__ import annotations

from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.flume.reading.agent import Section
from pipelines.domain.flume.reading.properties import Property

_FIRST_ERROR = 400


def read_statuses(section: Section, draft: Draft) -> None:
    """Events that Flume drops become dead letters: their status is refused, and not sent again."""
    abandoned = {
        status: section.properties.pop(key) for key in list(section.properties) if (status := _status(section, key))
    }
    refuse, retry = draft.accepts("refuse_statuses"), draft.accepts("retry_statuses")
    if not abandoned or refuse is None or retry is None:
        return
    retried = draft.schema(retry)["default"]
    draft.put(refuse, sorted({*draft.schema(refuse)["default"], *abandoned}), *abandoned.values())
    if abandoned.keys() & set(retried):
        draft.put(retry, [status for status in retried if status not in abandoned])
    for status, property_ in abandoned.items():
        _note(status, property_, draft)


def _status(section: Section, key: str) -> int:
    """The status of a property that gives up on one, or 0."""
    word, _, code = key.partition(".")
    gives_up = word == "rollback" and (section.get(key) or "").lower() == "false"
    return int(code) if gives_up and code.isdecimal() and int(code) >= _FIRST_ERROR else 0


def _note(status: int, property_: Property, draft: Draft) -> None:
    draft.report.note(
        "refused_status",
        f"Flume drops the events that the server answers with {status}.",
        f"They become dead letters: {status} is in refuse_statuses.",
        about=property_,
        path=(*draft.path, "refuse_statuses"),
    )
