"""The read-only mode of an installation, and what it does not hold up. Pure.

It is for upgrades, incidents and holidays: nothing is started, changed or published by users. What ends or holds back
work stays possible, since a mode that prevents an emergency would make one worse; supervision continues as ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.lifecycle.actions import ENDING

EMERGENCY = frozenset({ChangeKind.CANCEL, *(ChangeKind(action) for action in ENDING)})
"""Governed changes that are requested, approved and made all the same."""


class ReadOnlySource(StrEnum):
    """What makes an installation read-only: the environment of its web servers, or an administrator while they run."""

    SETTING = "setting"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True)
class ReadOnly:
    """Why an installation is read-only. `since`: unknown where a setting says so, since each web server reads its own
    when it starts."""

    source: ReadOnlySource
    reason: str
    set_by: str
    since: datetime | None

    @property
    def words(self) -> str:
        """Who, since when and why, in a sentence."""
        since = f" since {self.since:%Y-%m-%d %H:%M} UTC" if self.since else ""
        return f"The installation is read-only{since}, set by {self.set_by}: {self.reason}"

    @property
    def short(self) -> str:
        """The same without the time, for readers with a clock of their own."""
        return f"The installation is read-only, set by {self.set_by}: {self.reason}"

    @property
    def advice(self) -> str:
        """How it ends."""
        if self.source is ReadOnlySource.SETTING:
            return f"It ends when {self.set_by} is removed and the web servers are restarted."
        return "Wait until it ends, or ask an administrator of all teams to turn it off. Stops and pauses are possible."
