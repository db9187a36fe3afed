"""The topics of a definition whose records can be peeked at. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.definitions.components.channel.kafka import KafkaChannel
from pipelines.domain.definitions.components.dead_letter.kafka import KafkaDeadLetters
from pipelines.domain.definitions.components.sink.kafka import KafkaSink
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.component import ComponentSpec
from pipelines.domain.peek.question import DEAD_LETTERS, PeekQuestion

_SAMPLED = re.compile(r"(?P<source>sources\.[^.]+)\.(?:interceptors\[(?P<number>\d+)\]|selector)")


class NoSubject(ValueError):
    """It cannot be peeked at; the text says why."""


@dataclass(frozen=True)
class Subject:
    """What reads or writes topics: those with these names, all that match the whole `pattern`, and all that begin with
    the `prefix`. `committed`: open and aborted transactions are left out, as the pipeline leaves them out."""

    path: str
    servers: str
    options: Mapping[str, Any]
    topics: tuple[str, ...]
    pattern: str = ""
    prefix: str = ""
    committed: bool = True

    @property
    def is_open(self) -> bool:
        """Whether only the cluster knows which topics there are."""
        return bool(self.pattern or self.prefix)

    def has(self, topic: str) -> bool:
        """Whether it may read or write this topic."""
        by_pattern = bool(self.pattern) and re.fullmatch(self.pattern, topic) is not None
        return topic in self.topics or by_pattern or (bool(self.prefix) and topic.startswith(self.prefix))

    def topic(self, wanted: str, known: Iterable[str] = ()) -> str:
        """The topic that is meant, out of its own and those that are `known`. Raises NoSubject."""
        own = sorted({*self.topics, *(each for each in known if self.has(each))})
        if wanted:
            if not self.has(wanted):
                raise NoSubject(f"{self.path} does not use the topic {wanted}.")
            return wanted
        if len(own) != 1:
            raise NoSubject(f"Name one of the topics of {self.path}: {', '.join(own) or 'none exists yet'}.")
        return own[0]


def subject(definition: Definition, of: str) -> Subject:
    """The component at a path that reads or writes topics. Raises NoSubject."""
    spec = _spec(definition, of)
    if isinstance(spec, KafkaSource):
        level = spec.options.get("isolation.level", "read_committed")
        pattern = spec.topics_pattern or ""
        committed = level == "read_committed"
        return Subject(of, spec.bootstrap_servers, spec.options, tuple(spec.topics), pattern, "", committed)
    if isinstance(spec, KafkaSink):
        prefix = spec.allowed_topic_prefix or ""
        topics = tuple(dict.fromkeys([spec.topic, *spec.allowed_topics]))
        return Subject(of, spec.bootstrap_servers, spec.options, topics, "", prefix)
    if isinstance(spec, KafkaChannel | KafkaDeadLetters):
        return Subject(of, spec.bootstrap_servers or "", spec.options, (spec.topic,))
    raise NoSubject(f"{of} is of the type {getattr(spec, 'type', '?')}; only records of Kafka topics can be peeked at.")


def _spec(definition: Definition, of: str) -> ComponentSpec:
    if of == DEAD_LETTERS:
        return definition.dead_letter()
    kind, _, name = of.partition(".")
    found: Mapping[str, ComponentSpec] = getattr(definition, kind)
    if name not in found:
        raise NoSubject(f"The definition has no {of}.")
    return found[name]


def sampled(definition: Definition, of: str) -> str:
    """The source of an interceptor or a selector. Raises NoSubject."""
    found = _SAMPLED.fullmatch(of)
    source = found["source"].removeprefix("sources.") if found else ""
    if found is None or source not in definition.sources:
        raise NoSubject(f"The definition has no {of}.")
    if found["number"] and int(found["number"]) >= len(definition.sources[source].interceptors):
        raise NoSubject(f"The definition has no {of}.")
    return source


def require(definition: Definition, question: PeekQuestion) -> None:
    """Raises NoSubject for what cannot be asked of this definition, as far as it says."""
    if question.is_sample:
        sampled(definition, question.of)
        return
    found = subject(definition, question.of)
    if question.topic or not found.is_open:
        found.topic(question.topic)
