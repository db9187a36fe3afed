"""Signals of the supervisor and the keeper, and the watchdog that needs neither of them."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Callable
from pathlib import Path

from pipelines.domain.runs.protocol import DUMPS, STACKS, Dump, Dumps, boottime

_GRACE, _GRACE_SHARE = 2.0, 0.05
"""The watchdog leaves the kill to the keeper: it comes so many seconds later, at most this share of the whole time."""
_LEAST_LEFT = 2.0
"""Seconds that the keeper gets for a kill that is due at once."""


class Signals:
    """SIGTERM is noted, SIGUSR1 has all stacks written down, SIGINT means nothing to an agent."""

    def __init__(self, run_dir: Path, on_term: Callable[[], None]) -> None:
        self._dir = run_dir
        self._on_term = on_term
        self._terms = 0

    def handle(self) -> None:
        """Begin; to be called by the main thread."""
        stacks = self._dir / STACKS
        stacks.mkdir(exist_ok=True)
        self._stacks = (stacks / "python.txt").open("a")
        faulthandler.enable(self._stacks)
        faulthandler.register(signal.SIGUSR1, self._stacks, all_threads=True)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, *_: object) -> None:
        self._terms += 1
        self._on_term()

    def take_term(self) -> bool:
        """Whether SIGTERM came since this was asked last."""
        if not self._terms:  # and leave alone what a signal may set this moment
            return False
        self._terms = 0
        return True

    def arm_watchdog(self, kill_at: float | None, since: float) -> None:
        """The last stage without a supervisor or keeper: a C thread that needs neither lock nor interpreter."""
        faulthandler.cancel_dump_traceback_later()
        if kill_at is not None:
            grace = min(_GRACE, _GRACE_SHARE * max(0.0, kill_at - since))
            left = max(_LEAST_LEFT, kill_at + grace - boottime())
            faulthandler.dump_traceback_later(left, exit=True, file=self._stacks)

    def last_dump(self) -> Dump | None:
        """The stacks that the keeper took before its last interrupt."""
        dumps = Dumps.load(self._dir / DUMPS)
        return dumps.taken[-1] if dumps and dumps.taken else None
