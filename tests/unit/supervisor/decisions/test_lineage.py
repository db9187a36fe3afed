"""What a new run may continue, and what references may become."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.access.secret_bindings import SecretBinding, SecretUser
from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.components.channel.file import FileChannel
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.runs.lineage import Before, Lineage, continue_from
from workers.adapters.secrets import backends
from workers.ports import SecretValue, Unreadable
from workers.supervisor.launch.references import References, listener


def source(**changes: Any) -> dict[str, Any]:
    plain = {"type": "kafka", "bootstrap_servers": "a:9092", "topics": ["in"], "group_id": "g", "start_from": "latest"}
    return plain | changes


def definition(sources: dict[str, Any] | None = None, channel: str = "main", **changes: Any) -> Definition:
    data = {
        "api_version": "headgate/v1",
        "name": "orders",
        "sources": sources or {"shop": source()},
        "channels": {channel: {"type": "direct"}},
        "sinks": {"out": {"type": "logger", "channel": channel}},
        **changes,
    }
    validation = validate_data(data)
    assert validation.definition is not None, validation.findings
    return validation.definition


def before(**fields: Any) -> Before:
    known: dict[str, Any] = {"definition": definition(), "lineage": 3, "host": "alpha", "has_read": True}
    return Before(**(known | fields))


def codes(found: Lineage | list[Finding]) -> list[str]:
    assert isinstance(found, list)
    return [finding.code for finding in found]


def test_the_first_run_begins_a_lineage() -> None:
    assert continue_from(None, definition(), "alpha") == Lineage(None)


@pytest.mark.parametrize(
    "same",
    [
        definition(),
        definition(delivery={"trigger_interval_ms": 500}),
        definition({"shop": source(interceptors=[{"type": "timestamp"}])}),
    ],
)
def test_what_the_checkpoint_does_not_depend_on_continues_the_lineage(same: Definition) -> None:
    assert continue_from(before(), same, "alpha") == Lineage(3)


@pytest.mark.parametrize(
    "changed",
    [
        definition({"shop": source(topics=["in", "more"])}),
        definition({"renamed": source()}),
        definition(channel="renamed"),
    ],
)
def test_other_topics_or_queries_begin_a_new_lineage(changed: Definition) -> None:
    assert continue_from(before(), changed, "alpha") == Lineage(None)


def test_another_cluster_is_refused_once_something_was_read() -> None:
    elsewhere = definition({"shop": source(bootstrap_servers="b:9092")})
    assert codes(continue_from(before(), elsewhere, "alpha")) == ["CLUSTER_CHANGED"]
    assert continue_from(before(has_read=False), elsewhere, "alpha") == Lineage(None)


def test_another_host_begins_a_lineage_from_the_ledger() -> None:
    assert continue_from(before(), definition(), "beta") == Lineage(None)


def test_another_host_is_refused_where_data_was_left_behind() -> None:
    spooled = definition({"drop": {"type": "spooldir", "directory": "/data/in"}})
    assert codes(continue_from(before(definition=spooled), spooled, "beta")) == ["HOST_CHANGED"]
    buffered = definition()
    stored = buffered.model_copy(update={"channels": {"main": FileChannel(type="file")}})
    assert codes(continue_from(before(definition=stored), stored, "beta")) == ["HOST_CHANGED"]


def test_a_host_that_the_definition_does_not_want_is_refused() -> None:
    assert codes(continue_from(None, definition(placement={"host": "beta"}), "alpha")) == ["HOST_CHANGED"]


def test_another_host_waits_until_an_open_batch_is_finished() -> None:
    unfinished = before(open_batches=("7 of shop.main",))
    assert codes(continue_from(unfinished, definition(), "beta")) == ["OPEN_BATCH"]


def test_a_changed_graph_waits_until_an_open_batch_is_finished() -> None:
    unfinished = before(open_batches=("7 of shop.main",))
    assert continue_from(unfinished, definition(), "alpha") == Lineage(3)
    assert codes(continue_from(unfinished, definition(channel="renamed"), "alpha")) == ["OPEN_BATCH"]


ASKER = listener(SecretUser(name="orders"), "source/http")
BOUND = SecretBinding(pipelines=("orders",), destinations=("source/http",))


class FakeSecrets(dict[str, str]):
    """A store in memory."""

    def read(self, names: Collection[str]) -> dict[str, SecretValue | Unreadable]:
        gone = Unreadable("no such secret", "Store it.")
        return {name: SecretValue(self[name]) if name in self else gone for name in names}


@pytest.fixture
def references(tmp_path: Path) -> References:
    (tmp_path / "password").write_text("from a file\n")
    (tmp_path / "link").symlink_to("/etc/hostname")
    store = FakeSecrets({"known": "s3cret/value"})
    return References(
        backends({"BROKER": "a:9092"}, tmp_path, store), bindings=lambda names: {"known": BOUND} if names else {}
    )


def test_references_become_values(references: References) -> None:
    data = {"a": ["${env:BROKER}"], "b": {"c": "x${file:password}x${secret:known}"}, "d": 1}
    resolved = references.resolve(data, ASKER)
    assert resolved.findings == []
    whole = {"a": ["a:9092"], "b": {"c": "xfrom a filexs3cret/value"}, "d": 1}
    assert substituted(data, resolved.values) == whole
    assert data["a"] == ["${env:BROKER}"]


def test_secrets_are_masked_wherever_they_stand_and_other_references_where_a_password_stands(
    references: References,
) -> None:
    options = {"sasl.password": "${file:password}", "client.id": "${env:BROKER}", "ssl.key.password": "${secret:known}"}
    masked = references.resolve({"options": options}, ASKER).handover().masked
    assert set(masked) == {"from a file", "from%20a%20file", "s3cret/value", "s3cret%2Fvalue"}


def test_regular_expressions_are_not_references(references: References) -> None:
    data = {"regex": "${env:BROKER}", "description": "${env:BROKER}"}
    assert references.resolve(data, ASKER).values == {}
    assert substituted(data, {"${env:BROKER}": "x"}) == data


@pytest.mark.parametrize(
    "text", ["${secret:x}", "${env:HOME}", "${file:missing}", "${file:a/../../x}", "${file:link}", "${file:.}"]
)
def test_whatever_cannot_be_resolved_is_a_finding_with_its_path(references: References, text: str) -> None:
    if text == "${file:.}":
        text = "${file:a/..}"
    findings = references.resolve({"sources": {"shop": {"topics": [text]}}}, ASKER).findings
    assert [(f.path, f.code) for f in findings] == [("sources.shop.topics[0]", "UNRESOLVED_REFERENCE")]


def test_every_unresolved_reference_is_found_at_once(references: References) -> None:
    findings = references.resolve({"a": "${secret:x}", "b": "${env:NO}"}, ASKER).findings
    assert len(findings) == 2
    assert "there is no secret x" in findings[0].message
