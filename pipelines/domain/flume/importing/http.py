"""Flume's HTTP sink: addresses with a user name and password in them, and the statuses after which it gives events up,
`rollback.CODE = false`."""

from __future__ import annotations

import re

from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.section import Section

_FIRST_ERROR = 400
_WITH_LOGIN = re.compile(r"(\w+://)([^/@\s:]*):([^/@\s]*)@(.*)")


def read_address(section: Section, draft: Draft, secret_prefix: str) -> None:
    """`endpoint = https://user:password@host/` as an address, a user name and a reference to a password."""
    property_ = section.properties.get("endpoint")
    parts = _WITH_LOGIN.fullmatch(property_.value) if property_ else None
    if property_ is None or parts is None or not draft.accepts("password"):
        return
    section.take("endpoint")
    scheme, username, password, rest = parts.groups()
    reference = password if REFERENCE.fullmatch(password) else f"${{secret:{secret_prefix}-password}}"
    draft.put("url", f"{scheme}{rest}", property_)
    draft.keys |= {"username": username, "password": reference}
    draft.report.note(
        "secret_not_copied",
        f"{property_.key} has a password in the address.",
        f"It was not copied; {reference} replaces it.",
        about=property_,
        path=(*draft.path, "password"),
        suggestion=f"headgate secrets set {secret_prefix}-password",
    )


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
