"""What a command prints: the process that runs it, and its ingest buffer."""

from __future__ import annotations

import shutil

from workers.agent.base.findings import refuse
from workers.agent.push import command_state
from workers.agent.push.source import PushSource


class Builder(PushSource):
    """Probes the program, and knows why the command is down."""

    def probe(self) -> None:
        """The program is there and may be executed; it is not run."""
        program = self.spec.argv()[0]
        if shutil.which(program) is None:
            message = f"The program {program} does not exist, or must not be executed."
            raise refuse(f"{self.place.path}.command", "PROGRAM_NOT_FOUND", message, "Give its absolute path.")

    def _down(self) -> str:
        return command_state.read(self.directory)

    def _forget(self) -> None:
        command_state.forget(self.directory)
