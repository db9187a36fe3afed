"""Previews without a process: what a previewer answers, as a test says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pipelines.domain.preview.protocol import PreviewAnswer, PreviewRequest
from pipelines.domain.runs.protocol import AgentUser


@dataclass
class FakePreviews:
    """`workers.ports.Previews`."""

    answer: Callable[[PreviewRequest], PreviewAnswer]
    requests: list[PreviewRequest] = field(default_factory=list)

    def make(self, owner: str, user: AgentUser | None, request: PreviewRequest) -> PreviewAnswer:
        self.requests.append(request)
        return self.answer(request)

    def tidy(self) -> None:
        """Nothing ends."""

    def close(self) -> None:
        """Nothing is open."""
