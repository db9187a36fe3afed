"""What a secret is bound to: who may use it, and the servers and components that it may go to."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache

from pipelines.domain.access.reach import AllowedNetwork
from pipelines.domain.access.reach_rules import network_problem
from pipelines.domain.base.addresses import address_of
from pipelines.domain.base.findings import Finding, did_you_mean, listed, quote
from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.secret_fields import secret_keys
from pipelines.domain.definitions.parts import registry

GROUPS = "consumer-groups/"
"""Begins the name under which an external consumer group uses secrets."""
MONITOR = "monitor/kafka"
"""The component that an external consumer group is."""
ALONE = frozenset({"interceptor/python", "sink/postgres", "source/http"})
"""Components for which no server has to be named: they connect to none, or the secret itself can name it."""
LABEL = "label:"
MOST_PATTERNS = 100

_NAME = re.compile(rf"(?:{GROUPS})?[A-Za-z0-9*?][A-Za-z0-9._*?-]{{0,248}}")
_LABEL = re.compile(rf"{LABEL}[A-Za-z0-9][A-Za-z0-9._/-]{{0,62}}=.{{1,256}}")
_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?\]|[^:\s]+):([0-9*,-]{1,400})")


class Purpose(StrEnum):
    """Who uses a secret. Each has names of its own: a secret of another purpose does not exist for them."""

    PIPELINES = "pipelines"
    RECEIVERS = "receivers"
    CLUSTERS = "clusters"


class SecretUser(Frozen):
    """A pipeline or an external consumer group that uses secrets. `teams`: those that it is of, or may be of while it
    is only written; None for all. `labels`: `key=value`."""

    name: str
    teams: frozenset[int] | None = frozenset()
    labels: frozenset[str] = frozenset()


class SecretBinding(Frozen):
    """`version`: of the value. `pipelines`: names with `*` and `?`, `label:key=value`, or `consumer-groups/NAME`.
    `destinations`: `HOST:PORT`, `*.example.com:*`, `10.0.0.0/8:9092`, and types of components such as `sink/http`.
    `unencrypted`: servers that it went to without encryption when bindings came to be, and goes to until it is bound
    anew. `team`: whose it is; None for the installation."""

    version: int = 0
    team: int | None = None
    pipelines: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    unencrypted: tuple[str, ...] = ()

    def exists_for(self, user: SecretUser) -> bool:
        """Whether it is there at all for a pipeline: of its team, or of the installation."""
        return self.team is None or user.teams is None or self.team in user.teams

    def allows(self, user: SecretUser) -> bool:
        """Whether a pipeline may use it."""
        return any(_is_of(pattern, user) for pattern in self.pipelines)

    def allows_by_label_alone(self, user: SecretUser) -> bool:
        """Whether a pipeline that may use it could not without its labels."""
        return not any(_is_of(pattern, user) for pattern in self.pipelines if not pattern.startswith(LABEL))

    def takes(self, component: str) -> bool:
        """Whether a component of this type may have it, as far as types are named."""
        types = [each for each in self.destinations if ":" not in each]
        return not types or component in types

    def names(self, component: str) -> bool:
        """Whether this type of component is named."""
        return component in self.destinations

    def reaches(self, host: str, port: int) -> bool:
        """Whether it may go to a server."""
        return _is_server(self.destinations, host, port)

    @property
    def has_servers(self) -> bool:
        """Whether any server is named."""
        return any(":" in each for each in self.destinations)

    def stays_unencrypted(self, component: str, servers: Sequence[tuple[str, int]]) -> bool:
        """Whether it went to these servers without encryption before, and may until it is bound anew."""
        known = [_is_server(self.unencrypted, *each) for each in servers]
        return component in self.unencrypted or (bool(known) and all(known))


def _is_of(pattern: str, user: SecretUser) -> bool:
    if pattern.startswith(LABEL):
        return pattern.removeprefix(LABEL) in user.labels
    if pattern.startswith(GROUPS) != user.name.startswith(GROUPS):
        return False
    return fnmatchcase(user.name, pattern)


def _is_server(patterns: Iterable[str], host: str, port: int) -> bool:
    rules = [rule for each in patterns if (rule := _rule(each))]
    address = address_of(host)
    return any(
        rule.has_port(port) and (rule.has_address(address) if address else rule.has_name(host)) for rule in rules
    )


def _rule(pattern: str) -> AllowedNetwork | None:
    found = _SERVER.fullmatch(pattern)
    return AllowedNetwork(target=re.sub(r"[\[\]]", "", found[1]), ports=found[2]) if found else None


@cache
def components() -> tuple[str, ...]:
    """The types of components that take secrets."""
    known = [f"{spec.kind}/{spec.type_name()}" for spec in registry.all() if secret_keys(spec)]
    return tuple(sorted([*known, MONITOR]))


def binding_findings(pipelines: Sequence[str], destinations: Sequence[str]) -> list[Finding]:
    """Everything that is wrong with what a secret of pipelines shall be bound to."""
    return [
        *_of_list("pipelines", pipelines, _user_problem, "--pipeline orders, or --pipeline orders-*"),
        *_of_list("destinations", destinations, _destination_problem, "--destination broker.example.com:9093"),
        *_of_types(destinations),
    ]


def label_findings(pipelines: Sequence[str], kept: Collection[str]) -> list[Finding]:
    """The labels that a secret of the installation shall be bound by, except for those that it is bound by already:
    operators of every team label their pipelines."""
    return [
        Finding(
            path=f"pipelines[{index}]",
            code="secret_label_needs_team",
            message=f"{quote(pattern)} would let operators of every team label a pipeline to use the secret.",
            suggestion="Bind it by names, or let a team have it: --team TEAM.",
        )
        for index, pattern in enumerate(pipelines)
        if pattern.startswith(LABEL) and pattern not in kept
    ]


def _of_types(destinations: Sequence[str]) -> Iterator[Finding]:
    """A type of component that connects to servers leads nowhere without one."""
    types = {each for each in destinations if ":" not in each}
    if types and len(types) == len(set(destinations)) and not types & ALONE and types <= set(components()):
        message = f"{listed(types)} connects to servers, and none is named."
        suggestion = "Name them, too: --destination broker.example.com:9093."
        yield Finding(path="destinations", code="secret_unbound", message=message, suggestion=suggestion)


def _of_list(
    path: str, patterns: Sequence[str], problem: Callable[[str], tuple[str, str]], example: str
) -> Iterator[Finding]:
    if not patterns:
        message = f"The secret is bound to no {path}, so it could go nowhere."
        yield Finding(path=path, code="secret_unbound", message=message, suggestion=f"Name some: {example}.")
    if len(patterns) > MOST_PATTERNS:
        message = f"{len(patterns)} {path} are named; {MOST_PATTERNS} are allowed."
        yield Finding(path=path, code="secret_binding_invalid", message=message, suggestion="Name fewer.")
        return
    for index, pattern in enumerate(patterns):
        words, advice = problem(pattern)
        if words:
            yield Finding(
                path=f"{path}[{index}]", code="secret_binding_invalid", message=words, suggestion=advice or example
            )


def _user_problem(pattern: str) -> tuple[str, str]:
    if (_LABEL if pattern.startswith(LABEL) else _NAME).fullmatch(pattern):
        return "", ""
    return f"{quote(pattern)} names no pipelines.", f"Write a name, orders-*, label:key=value or {GROUPS}NAME."


def _destination_problem(pattern: str) -> tuple[str, str]:
    if pattern in components():
        return "", ""
    if ":" not in pattern:
        otherwise = f"Write HOST:PORT, HOST:*, or a type of component: {listed(components())}."
        return f"{quote(pattern)} is no destination.", did_you_mean(pattern, components(), otherwise=otherwise)
    rule = _rule(pattern)
    problem = network_problem(rule.target, rule.ports) if rule else f"{quote(pattern)} is no HOST:PORT."
    return problem, "Write HOST:PORT, *.example.com:9093, 10.0.0.0/8:9092 or [::1]:9093." if problem else ""
