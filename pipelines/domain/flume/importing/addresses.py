"""Addresses with a user name and password in them."""

from __future__ import annotations

import re

from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.flume.reading.agent import Section

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
