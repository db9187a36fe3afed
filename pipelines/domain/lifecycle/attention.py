"""Which pipelines require action, and which of them first: the one rule of lists, pages and the command line."""

from __future__ import annotations

from pipelines.domain.base.states import ATTENTION_PHASES, DesiredState, Phase


def attention(phase: Phase, desired: DesiredState, *, supervised: bool) -> int | None:
    """The place of a pipeline among those that require action, 0 is the most urgent; None where it requires none.

    A pipeline at rest needs no supervisor; any other one without it comes after all that are in a bad phase.
    """
    if phase in ATTENTION_PHASES:
        return ATTENTION_PHASES.index(phase)
    at_rest = phase is Phase.STOPPED and desired is DesiredState.STOPPED
    return None if supervised or at_rest else len(ATTENTION_PHASES)
