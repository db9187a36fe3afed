"""Write the labels and meanings of states for the dashboard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from controlplane.management.rendered import RenderCommand
from pipelines.domain.governance.read_only import EMERGENCY
from pipelines.domain.lifecycle.conditions import CONDITION_LABELS
from pipelines.domain.lifecycle.vocabulary import (
    CONSEQUENCES,
    DESIRED_STATES,
    GATES,
    MIGRATION_KINDS,
    PHASES,
    STAGES,
    WIZARD_STEPS,
    Term,
)
from pipelines.domain.monitoring.event_kinds import CATEGORY_LABELS, KINDS


class Command(RenderCommand):
    """`manage.py render_vocabulary`: writes frontend/src/domain/vocabulary.json."""

    help = "Write frontend/src/domain/vocabulary.json from the vocabulary of states and the kinds of events."
    path = "frontend/src/domain/vocabulary.json"

    def render(self) -> str:
        """Terms by state, as JSON."""
        terms: dict[str, object] = {
            "phases": _terms(PHASES),
            "desiredStates": DESIRED_STATES,
            "conditions": CONDITION_LABELS,
            "stages": _terms(STAGES),
            "kinds": _terms(MIGRATION_KINDS),
            "wizardSteps": _terms(WIZARD_STEPS),
            "gates": GATES,
            "consequences": _terms(CONSEQUENCES),
            "whileReadOnly": sorted(EMERGENCY),
            "eventCategories": {each: {"label": CATEGORY_LABELS[each], "kinds": KINDS[each]} for each in KINDS},
        }
        return json.dumps(terms, indent=2) + "\n"


def _terms(terms: Mapping[Any, Term]) -> dict[str, dict[str, str]]:
    return {state: term._asdict() for state, term in terms.items()}
