"""Single message transforms as interceptors, in their order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.base.findings import PathParts
from pipelines.domain.connect.importing.notes import leave_all, mislead
from pipelines.domain.connect.importing.topics import Topics
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_PACKAGE = "org.apache.kafka.connect.transforms."
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_METADATA = {
    "topic.field": "topic",
    "partition.field": "partition",
    "offset.field": "offset",
    "timestamp.field": "timestamp",
}


@dataclass
class Transformed:
    """The interceptors, the headers of the source that they read, and the last field that became a key."""

    interceptors: list[dict[str, Any]] = field(default_factory=list)
    headers: set[str] = field(default_factory=set)
    key_of: Property | None = None


@dataclass
class _Step:
    """One transform with what it needs."""

    section: Section
    kind: Property
    of: str
    predicate: str
    path: PathParts
    topics: Topics
    report: Report
    made: Transformed

    def refuse(self, message: str, suggestion: str) -> None:
        """Put the class in the place of an interceptor, so that the definition is refused until it is replaced."""
        self.made.interceptors.append({"type": self.kind.value})
        self.report.mapped(self.kind, (*self.path, len(self.made.interceptors) - 1, "type"))
        mislead(self.report, self.kind, "unsupported_transform", message, suggestion, self.path)
        self.section.properties.clear()

    def add(self, interceptor: dict[str, Any], *sources: Property | None) -> None:
        """Add an interceptor that settings have become."""
        self.made.interceptors.append(interceptor)
        place = (*self.path, len(self.made.interceptors) - 1)
        for source in (self.kind, *sources):
            if source is not None:
                self.report.mapped(source, (*place, "type"))


def read_transforms(section: Section, source: PathParts, topics: Topics, report: Report) -> Transformed:
    """The interceptors of `transforms`; predicates become conditions of a Filter."""
    made = Transformed()
    named = section.take("transforms")
    predicates = _predicates(section, report)
    if named is not None:
        report.used(named)
    for name in items(named.value, ",") if named else []:
        own = section.below(f"transforms.{name}.")
        kind = own.take("type") or Property(f"transforms.{name}.type", "", 0)
        of = kind.value.removeprefix(_PACKAGE)
        predicate = own.take("predicate")
        negate = own.take("negate")
        for each in (predicate, negate):
            if each is not None:
                report.used(each)
        step = _Step(own, kind, of, "", (*source, "interceptors"), topics, report, made)
        if predicate is not None:
            step.predicate = _condition(predicates.get(predicate.value), made, report)
            if negate is not None and negate.value.lower() == "true":
                step.predicate = f"NOT ({step.predicate})" if step.predicate else ""
        _read(step, conditional=predicate is not None)
        leave_all(own, {}, report)
    if made.key_of is not None:
        mislead(
            report,
            made.key_of,
            "key_is_a_struct",
            "ValueToKey makes a structure of the key, which the converter writes; here the key is the value as text.",
            "Keep it if readers take the value alone; it is what ExtractField$Key makes of it.",
            source,
        )
    return made


def _read(step: _Step, *, conditional: bool) -> None:
    if conditional and step.of != "Filter":
        step.refuse(
            f"{step.of} with a predicate has no equivalent: an interceptor sees every event.",
            "Write a sql interceptor whose expressions have the condition: if(CONDITION, VALUE, json:FIELD).",
        )
        return
    reader = _READERS.get(step.of)
    if reader is None:
        step.refuse(
            f"There is no interceptor for {step.of or 'a transform without a type'}.", "Write a sql interceptor."
        )
        return
    reader(step)


def _insert_field(step: _Step) -> None:
    sets: dict[str, str] = {}
    used: list[Property] = []
    for key, header in _METADATA.items():
        if (property_ := step.section.take(key)) is not None:
            used.append(property_)
            step.made.headers.add(header)
            read = f"headers['{header}']"
            sets[f"body.{_plain(property_.value)}"] = read if header == "topic" else f"CAST({read} AS BIGINT)"
    name, value = step.section.take("static.field"), step.section.take("static.value")
    if name is not None:
        used += [name, *([value] if value else [])]
        sets[f"body.{_plain(name.value)}"] = _literal(value.value if value else "")
    if sets:
        step.add({"type": "sql", "set": sets}, *used)


def _plain(name: str) -> str:
    """The name of a field without the mark that says whether it is required."""
    return name.rstrip("!?")


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _replace_field(step: _Step) -> None:
    renames, kept = step.section.get("renames"), step.section.get("include") or step.section.get("whitelist")
    if renames or kept:
        step.refuse(
            "ReplaceField that renames fields or names those to keep has no equivalent that keeps their types.",
            "Write a sql interceptor with a schema: set body.NEW, and drop body.OLD.",
        )
        return
    dropped = step.section.take("exclude") or step.section.take("blacklist")
    names = items(dropped.value, ",") if dropped else []
    if names:
        step.add({"type": "sql", "drop": [f"body.{name}" for name in names]}, dropped)


def _regex_router(step: _Step) -> None:
    regex, replacement = step.section.take("regex"), step.section.take("replacement")
    for each in (step.kind, regex, replacement):
        if each is not None:
            step.report.used(each)
    try:
        step.topics.route(regex.value if regex else "", replacement.value if replacement else "")
        known = not step.topics.pattern
    except (re.error, IndexError):
        known = False
    if not known:
        mislead(
            step.report,
            regex or step.kind,
            "route_unknown",
            "The topics that RegexRouter renames are not known, or its pattern is none that can be followed here.",
            "List the topics, or set the header of the target in a sql interceptor.",
        )


def _filter(step: _Step) -> None:
    if not step.predicate:
        step.refuse("The condition of this Filter is not known; without one it drops every record.", "Write where.")
        return
    step.add({"type": "sql", "where": f"NOT ({step.predicate})"})


def _value_to_key(step: _Step) -> None:
    fields = step.section.take("fields")
    names = items(fields.value, ",") if fields else []
    if len(names) != 1 or not _FIELD.fullmatch(names[0]):
        step.refuse("A key of several fields has no equivalent.", "Write a sql interceptor that sets key.")
        return
    step.add({"type": "sql", "set": {"key": f"json:{names[0]}::STRING"}}, fields)
    step.made.key_of = step.kind


def _extract_key(step: _Step) -> None:
    name = step.section.take("field")
    last = step.made.interceptors[-1] if step.made.interceptors else {}
    if step.made.key_of is None or name is None or last.get("set") != {"key": f"json:{name.value}::STRING"}:
        step.refuse("ExtractField$Key is known only behind a ValueToKey of its field.", "Set key in a sql interceptor.")
        return
    step.report.used(step.kind)
    step.report.used(name)
    step.made.key_of = None


def _insert_header(step: _Step) -> None:
    header, value = step.section.take("header"), step.section.take("value.literal")
    key, text = header.value if header else "", value.value if value else ""
    step.add({"type": "static", "key": key, "value": text, "preserve_existing": False}, header, value)


def _drop_headers(step: _Step) -> None:
    headers = step.section.take("headers")
    step.add({"type": "remove_header", "from_list": items(headers.value, ",") if headers else []}, headers)


_READERS: dict[str, Callable[[_Step], None]] = {
    "InsertField$Value": _insert_field,
    "ReplaceField$Value": _replace_field,
    "RegexRouter": _regex_router,
    "Filter": _filter,
    "ValueToKey": _value_to_key,
    "ExtractField$Key": _extract_key,
    "InsertHeader": _insert_header,
    "DropHeaders": _drop_headers,
}


def _predicates(section: Section, report: Report) -> dict[str, Section]:
    named = section.take("predicates")
    if named is not None:
        report.used(named)
    return {name: section.below(f"predicates.{name}.") for name in (items(named.value, ",") if named else [])}


def _condition(predicate: Section | None, made: Transformed, report: Report) -> str:
    """A predicate in SQL; empty where it is not known."""
    if predicate is None:
        return ""
    for each in predicate.properties.values():
        report.used(each)
    kind = (predicate.get("type") or "").rpartition(".")[2]
    if kind == "HasHeaderKey":
        return f"headers[{_literal(predicate.get('name') or '')}] IS NOT NULL"
    if kind == "RecordIsTombstone":
        return "body IS NULL"
    if kind == "TopicNameMatches":
        made.headers.add("topic")
        pattern = f"^(?:{predicate.get('pattern') or ''})$"
        return f"headers['topic'] RLIKE {_literal(pattern)}"
    return ""
