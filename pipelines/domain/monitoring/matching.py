"""Which alerts a receiver gets, and which ones a silence is about. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from pipelines.domain.base.findings import Finding, did_you_mean, quote
from pipelines.domain.monitoring.alert_rules import RULE_NAMES, Severity, has_label, severity_of

MOST_MATCHERS = 100
"""Of each kind."""
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}(:[^\x00]{0,256})?")
_PIPELINE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True)
class Subject:
    """What an event or an alert is about; no `rule`: it is no alert. `team`: the id of the one that owns that."""

    pipeline: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    rule: str = ""
    team: int | None = None

    @property
    def severity(self) -> Severity:
        """That of its rule."""
        return severity_of(self.rule)


@dataclass(frozen=True)
class Matchers:
    """What must be true of an alert; an empty list allows everything.

    One of `pipelines`, of `rules` and of `severities` must match. Of `labels` each name must match; several values of
    one name are alternatives.
    """

    pipelines: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Sequence[str]]) -> Matchers:
        """Those that were stored or sent."""
        return cls(**{name: tuple(given.get(name, ())) for name in cls.__dataclass_fields__})

    def stored(self) -> dict[str, Any]:
        """As JSON holds them."""
        return {name: list(getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def empty(self) -> bool:
        """Whether everything matches."""
        return not (self.pipelines or self.labels or self.rules or self.severities)

    def match(self, subject: Subject) -> bool:
        """Whether an event or alert is meant. `rules` and `severities` say nothing about other events than alerts."""
        if self.pipelines and subject.pipeline not in self.pipelines:
            return False
        if not all(self._alternatives(subject.labels)):
            return False
        if not subject.rule:
            return True
        rule = not self.rules or subject.rule in self.rules
        return rule and (not self.severities or subject.severity in self.severities)

    def _alternatives(self, labels: Mapping[str, str]) -> Iterator[bool]:
        for _, same in groupby(sorted(self.labels, key=_name), key=_name):
            yield any(has_label(labels, each) for each in same)


def _name(label: str) -> str:
    return label.partition(":")[0]


def findings(matchers: Matchers, *, path: str = "matchers") -> list[Finding]:
    """Everything that is wrong with matchers."""
    return [
        *_of_size(matchers, path),
        *misshapen(
            matchers.pipelines,
            _PIPELINE,
            f"{path}.pipelines",
            code="invalid_name",
            words="cannot be the name of a pipeline",
            suggestion="Write the name as the list of pipelines shows it.",
        ),
        *misshapen(
            matchers.labels,
            _LABEL,
            f"{path}.labels",
            code="invalid_label",
            words="is no label",
            suggestion='Write "NAME:VALUE", or "NAME" for any value.',
        ),
        *_of_names(matchers.rules, RULE_NAMES, f"{path}.rules", "unknown_rule", "is no rule"),
        *_of_names(matchers.severities, list(Severity), f"{path}.severities", "unknown_severity", "is no severity"),
    ]


def _of_size(matchers: Matchers, path: str) -> Iterator[Finding]:
    for name, given in matchers.stored().items():
        if len(given) > MOST_MATCHERS:
            message = f"It names {len(given)}; {MOST_MATCHERS} are possible."
            yield Finding(path=f"{path}.{name}", code="too_many", message=message, suggestion="Use labels instead.")


def misshapen(
    given: Iterable[str], shape: re.Pattern[str], path: str, *, code: str, words: str, suggestion: str
) -> Iterator[Finding]:
    """A finding for each of the list at `path` that does not have the shape."""
    for index, each in enumerate(given):
        if not shape.fullmatch(each):
            yield Finding(path=f"{path}[{index}]", code=code, message=f"{quote(each)} {words}.", suggestion=suggestion)


def _of_names(given: Iterable[str], known: Collection[str], path: str, code: str, words: str) -> Iterator[Finding]:
    for index, each in enumerate(given):
        if each not in known:
            suggestion = did_you_mean(each, known)
            yield Finding(path=f"{path}[{index}]", code=code, message=f"{quote(each)} {words}.", suggestion=suggestion)
