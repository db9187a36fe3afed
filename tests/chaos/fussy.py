"""An interceptor that works on one host alone, as one does that needs a file which is nowhere else."""

from __future__ import annotations

from pathlib import Path

from workers.agent.interceptors.api import Context, Event, InitializationError

NAME = "tests.chaos.fussy:AtHome"
"""As a definition names it; the shared installation allows it."""


class AtHome:
    """Initialises only in a run directory below `home`."""

    def initialize(self, context: Context) -> None:
        if not Path.cwd().is_relative_to(context.config["home"]):
            raise InitializationError(f"There is no {context.config['home']} here.")

    def intercept(self, event: Event) -> Event:
        return event
