"""Previews without a process: what a previewer answers, as a test says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.preview.protocol import AnswerT, HostRequest
from pipelines.domain.runs.protocol import AgentUser
from workers.ports import PreviewInterrupted


@dataclass
class FakePreviews:
    """`workers.ports.Previews`."""

    answer: Callable[[Any], Any]
    requests: list[Any] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)

    def make(
        self,
        owner: str,
        user: AgentUser | None,
        request: HostRequest[AnswerT],
        wanted: Callable[[], bool] = lambda: True,
    ) -> AnswerT:
        self.requests.append(request)
        self.owners.append(owner)
        answered: AnswerT = self.answer(request)
        if not wanted():
            raise PreviewInterrupted
        return answered

    def tidy(self) -> None:
        """Nothing ends."""

    def close(self) -> None:
        """Nothing is open."""
