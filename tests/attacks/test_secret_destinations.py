"""A secret goes where its owner has bound it: every component that takes one is sent to another server, and stripped
of its encryption."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.access.secret_bindings import SecretBinding, SecretUser, binding_findings, components
from pipelines.domain.access.secret_findings import NOT_BOUND, NOT_ENCRYPTED, secret_findings
from pipelines.domain.access.secret_uses import secret_uses
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import Definition
from tests.attacks.test_exposure import definition

SASL = {"security.protocol": "SASL_SSL", "sasl.password": "${secret:s}"}
READS = {"type": "kafka", "topics": ["t"], "group_id": "g", "start_from": "latest", "options": SASL}
COMPONENTS: dict[str, dict[str, Any]] = {
    "source/kafka": {"source": {**READS, "bootstrap_servers": "HOST:443"}},
    "channel/kafka": {"channel": {"type": "kafka", "topic": "t", "bootstrap_servers": "HOST:443", "options": SASL}},
    "sink/kafka": {"sink": {"type": "kafka", "topic": "t", "bootstrap_servers": "HOST:443", "options": SASL}},
    "dead_letter/kafka": {"letters": {"type": "kafka", "topic": "t", "bootstrap_servers": "HOST:443", "options": SASL}},
    "sink/http": {"sink": {"type": "http", "url": "https://HOST/x", "headers": {"X-Key": "${secret:s}"}}},
    "sink/opensearch": {
        "sink": {"type": "opensearch", "hosts": ["https://HOST"], "index": "i", "token": "${secret:s}"}
    },
    "sink/postgres": {
        "sink": {"type": "postgres", "dsn": "postgresql://u:${secret:s}@HOST:443/d?sslmode=verify-full", "table": "t"}
    },
}
ALONE: dict[str, dict[str, Any]] = {
    "source/http": {"source": {"type": "http", "port": 5140, "token": "${secret:s}"}},
    "interceptor/python": {
        "source": {
            "type": "sequence",
            "interceptors": [{"type": "python", "class": "a:B", "config": {"k": "${secret:s}"}}],
        }
    },
}
GOOD = SecretBinding(pipelines=("attack",), destinations=("good.example:443",))
USER = SecretUser(name="attack")


def written(parts: Any, **words: str) -> Any:
    if isinstance(parts, dict):
        return {key: written(value, **words) for key, value in parts.items()}
    if isinstance(parts, list):
        return [written(each, **words) for each in parts]
    for word, value in words.items():
        parts = parts.replace(word, value) if isinstance(parts, str) else parts
    return parts


def findings(
    parts: dict[str, Any],
    binding: SecretBinding = GOOD,
    *,
    user: SecretUser = USER,
    value: str = "swordfish",
    development: bool = False,
    at_launch: bool = True,
) -> list[str]:
    data = Definition.model_validate(definition(**parts)).plain()
    values = {"${secret:s}": value} if at_launch else {}
    uses = secret_uses(data, Definition.model_validate(substituted(data, values)))
    assert {use.name for use in uses} >= {"s"}
    found = secret_findings(uses, user, {"s": binding}, at_launch=at_launch, development=development)
    assert all(each.path and each.suggestion for each in found)
    return [each.code for each in found if each.is_error]


def test_every_component_that_takes_a_secret_is_attacked() -> None:
    assert {*COMPONENTS, *ALONE, "monitor/kafka"} == set(components())


@pytest.mark.parametrize("at_launch", [False, True])
@pytest.mark.parametrize("component", COMPONENTS)
def test_a_secret_goes_to_its_server_and_to_no_other(component: str, at_launch: bool) -> None:
    parts = COMPONENTS[component]
    assert findings(written(parts, HOST="good.example"), at_launch=at_launch) == []
    for host in ("evil.example", "good.example.evil.example", "agood.example", "203.0.113.9", "good.example."):
        if (host, component) not in {("good.example.", each) for each in COMPONENTS}:
            assert findings(written(parts, HOST=host), at_launch=at_launch) == [NOT_BOUND], host
    other_port = written(parts, HOST="good.example:444") if "http" in str(parts) else None
    if other_port:
        assert findings(other_port, at_launch=at_launch) == [NOT_BOUND]


@pytest.mark.parametrize("component", ["source/kafka", "channel/kafka", "sink/kafka", "dead_letter/kafka"])
def test_every_server_of_a_list_counts(component: str) -> None:
    parts = written(COMPONENTS[component], HOST="good.example:443,evil.example")
    assert findings(parts) == [NOT_BOUND]
    hosts = {"type": "opensearch", "hosts": ["https://good.example", "https://evil.example"], "index": "i"}
    assert findings({"sink": {**hosts, "token": "${secret:s}"}}) == [NOT_BOUND]


def test_dead_letters_without_an_address_go_to_that_of_the_first_source() -> None:
    letters = {"type": "kafka", "topic": "t", "options": SASL}
    source = {key: value for key, value in READS.items() if key != "options"}
    parts = {"source": {**source, "bootstrap_servers": "evil.example:443"}, "letters": letters}
    assert findings(parts) == [NOT_BOUND]
    assert findings(written(parts, **{"evil.example": "good.example"})) == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_nothing_unencrypted_carries_one(component: str) -> None:
    plain = written(
        COMPONENTS[component],
        **{"https://HOST": "http://HOST:443", "SASL_SSL": "SASL_PLAINTEXT", "verify-full": "prefer"},
    )
    assert findings(written(plain, HOST="good.example")) == [NOT_ENCRYPTED]
    assert findings(written(plain, HOST="good.example"), development=True) == [NOT_ENCRYPTED]
    local = SecretBinding(pipelines=("attack",), destinations=("127.0.0.1:443", "localhost:443"))
    for host in ("127.0.0.1", "localhost"):
        assert findings(written(plain, HOST=host), local) == [NOT_ENCRYPTED]
        assert findings(written(plain, HOST=host), local, development=True) == []
    earlier = GOOD.model_copy(update={"unencrypted": ("good.example:443",)})
    assert findings(written(plain, HOST="good.example"), earlier) == []


def test_kafka_is_not_encrypted_unless_it_says_so() -> None:
    plain = {**READS, "bootstrap_servers": "good.example:443", "options": {"sasl.password": "${secret:s}"}}
    assert findings({"source": plain}) == [NOT_ENCRYPTED]


@pytest.mark.parametrize("component", [*COMPONENTS, *ALONE])
def test_another_pipeline_gets_none(component: str) -> None:
    parts = written({**COMPONENTS, **ALONE}[component], HOST="good.example")
    bound = GOOD.model_copy(update={"destinations": ("good.example:443", component)})
    assert findings(parts, bound) == []
    assert findings(parts, bound, user=SecretUser(name="other")) == [NOT_BOUND]


@pytest.mark.parametrize("component", ALONE)
def test_what_connects_to_no_server_has_to_be_named(component: str) -> None:
    assert findings(ALONE[component]) == [NOT_BOUND]
    assert findings(ALONE[component], GOOD.model_copy(update={"destinations": (component,)})) == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_type_narrows_servers_and_replaces_none(component: str) -> None:
    parts = written(COMPONENTS[component], HOST="good.example")
    other = "sink/http" if component != "sink/http" else "sink/kafka"
    for destinations in (("good.example:443", other), (component,)):
        assert findings(parts, GOOD.model_copy(update={"destinations": destinations})) == [NOT_BOUND], destinations


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:${secret:s}@good.example:443/d#?host=evil.example",
        "postgresql://u:${secret:s}@good.example:443/d?sslmode=require&host=evil.example",
        "postgresql://u:${secret:s}@good.example:443/d?sslmode=require&hostaddr=203.0.113.9",
        "postgresql://u:${secret:s}@good.example:443/d?sslmode=require&%68ost=evil.example",
        "postgresql://u:${secret:s}@good.example:443,evil.example/d?sslmode=require",
        "postgresql://evil.example/?password=${secret:s}&sslmode=require",
        "postgresql://evil.example@good.example@evil.example/${secret:s}?sslmode=require",
        "postgresql://good.example:443\\@evil.example/${secret:s}?sslmode=require",
        "postgresql://u:${secret:s}@good.example/d?port=%2B6379&sslmode=require",
        "postgresql://u:${secret:s}@/d?sslmode=require",
    ],
)
def test_the_address_of_a_database_leads_nowhere_else(dsn: str) -> None:
    """Libpq reads `#` as part of the name of the database, and `host` after it as the server."""
    assert NOT_BOUND in findings({"sink": {"type": "postgres", "dsn": dsn, "table": "t"}})


def test_a_secret_that_is_a_whole_address_says_itself_where_it_goes() -> None:
    parts = {"sink": {"type": "postgres", "dsn": "${secret:s}", "table": "t"}}
    whole = GOOD.model_copy(update={"destinations": ("sink/postgres",)})
    value = "postgresql://u:p@db.example/d?sslmode=require"
    assert findings(parts, whole, value=value) == []
    assert findings(parts, whole, value=value.replace("require", "prefer")) == [NOT_ENCRYPTED]
    assert findings(parts, GOOD, value=value) == [NOT_BOUND]
    assert findings(parts, GOOD, value="postgresql://u:p@good.example:443/d?sslmode=require") == []
    assert findings(parts, GOOD, value="postgresql://u:p@good.example:443/d?sslmode=require&host=b") == [NOT_BOUND]


@pytest.mark.parametrize("at_launch", [False, True])
@pytest.mark.parametrize("place", ["good.example:${env:E}", "${env:E}:443", "good.example:443,${env:E}"])
def test_what_a_reference_in_the_address_of_a_database_hides_is_sent_nowhere(place: str, at_launch: bool) -> None:
    """The host's values are not among those of the test: at the launch every one is."""
    parts = {
        "sink": {"type": "postgres", "dsn": f"postgresql://u:${{secret:s}}@{place}/d?sslmode=require", "table": "t"}
    }
    assert findings(parts, at_launch=at_launch) == ([NOT_BOUND] if at_launch else [])


@pytest.mark.parametrize("pattern", ["attack", "att*", "a?tack", "label:team=payments"])
def test_names_patterns_and_labels_bind(pattern: str) -> None:
    user = SecretUser(name="attack", labels=frozenset({"team=payments"}))
    assert SecretBinding(pipelines=(pattern,)).allows(user)
    assert not SecretBinding(pipelines=(pattern,)).allows(SecretUser(name="clicks"))
    assert not SecretBinding(pipelines=(pattern,)).allows(SecretUser(name="consumer-groups/attack"))


def test_groups_are_bound_as_groups_alone() -> None:
    group = SecretUser(name="consumer-groups/headgate.orders")
    assert not SecretBinding(pipelines=("*", "headgate.orders")).allows(group)
    assert SecretBinding(pipelines=("consumer-groups/headgate.*",)).allows(group)


@pytest.mark.parametrize(
    ("pipelines", "destinations"),
    [
        ([], ["good.example:443"]),
        (["orders"], []),
        (["orders"], ["good.example"]),
        (["orders"], ["*:443"]),
        (["orders"], ["*:*"]),
        (["orders"], ["good.example:0"]),
        (["orders"], ["https://good.example:443"]),
        (["orders"], ["sink/nothing"]),
        (["orders"], ["sink/http"]),
        (["a/b"], ["good.example:443"]),
        (["label:x"], ["good.example:443"]),
        (["orders"] * 101, ["good.example:443"]),
    ],
)
def test_such_bindings_are_refused(pipelines: list[str], destinations: list[str]) -> None:
    found = binding_findings(pipelines, destinations)
    assert found
    assert all(each.path.partition("[")[0] in {"pipelines", "destinations"} and each.suggestion for each in found)


@pytest.mark.parametrize(
    "destination", ["h:1", "*.example.com:*", "10.0.0.0/8:9092", "[::1]:9092", "[fd00::/8]:1-5", "sink/postgres"]
)
def test_such_destinations_are_taken(destination: str) -> None:
    assert binding_findings(["orders"], [destination]) == []
