"""One state has one label: in the tables of the domain, the dashboard, the API's description, and the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from controlplane.cli.migration import waiting
from pipelines.domain.base.states import (
    FINAL_STAGES,
    WAITING_STAGES,
    DesiredState,
    MigrationKind,
    MigrationStage,
    Phase,
)
from pipelines.domain.definitions.document.consequences import Consequence
from pipelines.domain.lifecycle.conditions import CONDITION_LABELS, ConditionStatus, ConditionType
from pipelines.domain.lifecycle.vocabulary import CONSEQUENCES, DESIRED_STATES, GATES, MIGRATION_KINDS, PHASES, STAGES
from pipelines.domain.migration import steps

FRONTEND = Path(__file__).resolve().parents[4] / "frontend"
DASHBOARD: dict[str, Any] = json.loads((FRONTEND / "src/domain/vocabulary.json").read_text())
SCHEMAS: dict[str, Any] = json.loads((FRONTEND / "openapi.json").read_text())["components"]["schemas"]
TERMS = [
    (Phase, PHASES, "phases"),
    (MigrationStage, STAGES, "stages"),
    (MigrationKind, MIGRATION_KINDS, "kinds"),
    (Consequence, CONSEQUENCES, "consequences"),
]
each_enumeration = pytest.mark.parametrize(("values", "terms", "name"), TERMS, ids=[name for _, _, name in TERMS])


@each_enumeration
def test_every_value_has_one_label_of_its_own(values: type[StrEnum], terms: Mapping[Any, Any], name: str) -> None:
    assert list(terms) == list(values)
    assert len({term.label for term in terms.values()}) == len(values)


@each_enumeration
def test_the_dashboard_has_the_same_labels(values: type[StrEnum], terms: Mapping[Any, Any], name: str) -> None:
    assert {value: term["label"] for value, term in DASHBOARD[name].items()} == {
        value: term.label for value, term in terms.items()
    }


@each_enumeration
def test_the_description_of_the_api_has_the_same_labels(
    values: type[StrEnum], terms: Mapping[Any, Any], name: str
) -> None:
    schema = SCHEMAS[values.__name__]
    assert schema["enum"] == list(values)
    listed = [line for line in schema["description"].splitlines() if line.startswith("- `")]
    assert listed == [f"- `{value}`: {term.label}. {term.meaning}" for value, term in terms.items()]


def test_conditions_and_desired_states_have_the_same_labels_everywhere() -> None:
    assert set(DESIRED_STATES) == set(DesiredState)
    assert DASHBOARD["desiredStates"] == DESIRED_STATES
    assert set(CONDITION_LABELS) == set(ConditionType)
    assert all(set(labels) == set(ConditionStatus) for labels in CONDITION_LABELS.values())
    assert DASHBOARD["conditions"] == CONDITION_LABELS


def test_the_command_line_knows_the_stages_and_gates_of_the_domain() -> None:
    assert set(FINAL_STAGES) == waiting.FINAL
    assert set(waiting._NOT_STARTED) == set(WAITING_STAGES)
    assert DASHBOARD["gates"] == GATES
    assert set(GATES) == set(steps.GATES)
