"""Files of Flume are read as Flume reads them: agents, groups, batches and what stands in for values, fact by fact."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.access.secret_bindings import SecretUser
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.flume.importing.importer import Imported, import_flume
from pipelines.domain.flume.reading.agent import choose
from pipelines.domain.flume.reading.placeholders import translate
from pipelines.domain.imports.properties import parse
from pipelines.domain.imports.report import Report
from tests.unit.definitions import changed
from tests.unit.flume.agents import WHOLE, below, imported, written
from tests.vectors import Vector, drives
from workers.adapters.secrets import backends
from workers.supervisor.launch.references import References, of_pipeline

CODES = {
    "AGENT_NAME_MISSING": {"agent_name_missing"},
    "PROPERTY_NAME_NULL": {"property_name_missing"},
    "PROPERTY_VALUE_NULL": {"empty_value", "no_channel", "unknown_channel"},
    "AGENT_CONFIGURATION_INVALID": {"nothing_left"},
    "PROPERTY_PART_OF_ANOTHER_GROUP": {"sink_in_two_groups"},
    "INVALID_PROPERTY": {"unknown_sink"},
    "CONFIG_ERROR": {"group_without_sinks"},
}
"""The findings that stand for each of Flume's configuration errors."""
WHOLES = ("sources", "channels", "sinks")
LISTS = {"sources": "sources", "channels": "channels", "sinks": "sinks", "sinkgroups": "sink_groups"}


@drives("CF-002")
def test_every_component_of_an_agent_is_found(vector: Vector) -> None:
    made = import_flume(written(vector.config), "agent")
    for flume, ours in LISTS.items():
        assert list(made.definition[ours]) == vector.expected[flume]
    reported = [finding.key.split(".")[2] for finding in made.findings if finding.code == "config_filter"]
    assert reported == vector.expected["configfilters"]


def state(made: Imported) -> str:
    """What is left of an agent."""
    return "valid" if made.valid else "invalid" if any(made.definition[kind] for kind in WHOLES) else "removed"


@drives("CF-003")
def test_an_agent_without_channels_is_refused_as_a_whole(vector: Vector) -> None:
    made = import_flume(written(vector.config), "agent")
    assert state(made) == vector.expected["agent"]
    assert {True: ">0", False: "0"}[any(finding.is_error for finding in made.findings)] == vector.expected["errors"]


@drives("CF-011", "CF-012")
def test_properties_without_an_agent_or_a_name_are_told(vector: Vector) -> None:
    whole = {key.replace("a.", "agent.", 1): value for key, value in WHOLE.items()}
    made = import_flume(written(whole | vector.config), "agent")
    for key, code in vector.expected["errors"]:
        assert CODES[code] & {finding.code for finding in made.findings if finding.key == key}


HOSTS = {
    "source and sink, no channels at all": {"channels": None, "channels.c.type": None},
    "seq source, memory channel, null sink": {},
}


def host(words: str, name: str) -> str:
    """The agent that is described in words."""
    whole = {key.removeprefix("a."): value for key, value in WHOLE.items()}
    return written(below(name, whole | HOSTS[words]))


@drives("CF-016", "CF-020")
def test_one_agent_of_a_file_does_not_touch_another(vector: Vector) -> None:
    ((name, words),) = vector.config.items()
    other = host("source and sink, no channels at all", "other")
    made = import_flume(host(words, name) + other, name)
    assert state(made) == vector.expected["agent"]
    codes = {finding.code for finding in made.findings}
    if vector.expected["errors"] == 0:
        assert not any(finding.is_error for finding in made.findings)
    else:
        assert all(CODES[error] & codes for error in vector.expected["errors"])


@drives("CF-022", "CF-023")
def test_groups_have_sinks_of_their_own(vector: Vector) -> None:
    groups = {key.removeprefix("sinkgroups."): value.removesuffix(" (unknown)") for key, value in vector.config.items()}
    listing = groups.pop("sinkgroups", "g1")
    sinks = {f"a.sinks.k{n}.{key}": value for n in (1, 2, 3) for key, value in (("type", "null"), ("channel", "c"))}
    made = imported(sinks | {"a.sinks": "k1 k2 k3", "a.sinkgroups": listing} | below("a.sinkgroups", groups))
    codes = {finding.code for finding in made.findings}
    assert all(CODES[error] & codes for error in vector.expected["errors"])
    members = Counter(name for group in made.definition.get("sink_groups", {}).values() for name in group["sinks"])
    if "peer" in vector.expected:
        assert members["k2"] == {"k2 stays in one group only": 1}[vector.expected["peer"]]
    else:
        assert ("g1" not in made.definition["sink_groups"]) is (vector.expected["group"] == "removed")


@drives("CF-024")
def test_names_and_values_are_trimmed(vector: Vector) -> None:
    rest = {key.replace("a.", "agent.", 1): value for key, value in WHOLE.items() if key != "a.channels"}
    text = written(vector.config | {"agent.channels.c1.type": "memory"} | rest)
    channels = choose(parse(text), "agent", Report()).lists["channels"]
    assert (channels.key, channels.value) == (vector.expected["name"], vector.expected["value"])


WRONG: dict[str, dict[str, Any]] = {
    "channel": {"channels/lake": {"type": "memory", "capacity": 0}},
    "source and sink": {"sources/shop/topics": [], "sinks/lake/topic": ""},
}


@drives("PV-006", "PV-008")
def test_nothing_starts_where_a_component_cannot_be_configured(vector: Vector) -> None:
    ((what, _),) = vector.config.items()
    definition = validate_data(changed(WRONG[what])).definition
    started = {kind: 0 if definition is None else len(definition.plain()[kind]) for kind in WHOLES}
    assert started == vector.expected


@drives("PV-009")
def test_batches_that_fit_a_transaction_are_fine(vector: Vector) -> None:
    components = {"source": "sources.s", "sink": "sinks.k", "transactionCapacity": "channels.c.transactionCapacity"}
    own = {"a.channels.c.capacity": 1000}
    for name, value in vector.config.items():
        component, dot, key = name.partition(".")
        own[f"a.{components[component]}{dot}{key.replace('batch-size', 'batchSize')}"] = value
    made = imported(own)
    assert {kind: len(made.definition[kind]) for kind in WHOLES} == vector.expected
    assert "batch_exceeds_transaction" not in {finding.code for finding in made.findings}


@drives("LU-003")
def test_a_variable_of_the_environment_is_resolved_on_the_host(vector: Vector, tmp_path: Path) -> None:
    config = dict(vector.config)
    variables = config.pop("env")
    ((name, value),) = config.items()
    source = {"type": "http", "port": translate(value, {}).text}
    references = References(backends(variables, tmp_path, pytest.fail), bindings=lambda _: {})  # type: ignore[arg-type]
    resolved = substituted(
        {"sources": {"r1": source}},
        references.resolve({"sources": {"r1": source}}, of_pipeline(SecretUser(name="a"))).values,
    )
    key = name.rpartition(".")[2]
    assert resolved["sources"]["r1"][key] == vector.expected[key]


@drives("LU-006")
def test_look_ups_that_run_code_are_left_as_text(vector: Vector) -> None:
    left = translate(vector.config["const"], {})
    assert {True: "left as text"}[left.text == vector.config["const"]] == vector.expected["const"]
    assert left.unknown == (vector.config["const"],)


@drives("FI-004")
def test_a_filter_with_unbalanced_quotes_is_left_as_text(vector: Vector) -> None:
    (event,) = vector.input_events
    assert "filter" in vector.config
    assert translate(event["text"], {"f1": "external"}).text == vector.expected["text"]
