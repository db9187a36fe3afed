"""The settings of signing in: how long a session lasts. A part of the environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel

from pipelines.domain.base.values import seconds


def _is_a_duration(value: str) -> str:
    if not seconds(value):
        raise ValueError("is no time at all; write for example 8h")
    return value


DurationText = Annotated[str, AfterValidator(_is_a_duration)]


class SignInSettings(BaseModel):
    """`session_idle`: how long a session lasts without a user at it; `session_lifetime`: how long at most."""

    session_idle: DurationText = "8h"
    session_lifetime: DurationText = "7d"

    @property
    def session_idle_seconds(self) -> float:
        """`session_idle` in seconds."""
        return seconds(self.session_idle)

    @property
    def session_lifetime_seconds(self) -> float:
        """`session_lifetime` in seconds."""
        return seconds(self.session_lifetime)
