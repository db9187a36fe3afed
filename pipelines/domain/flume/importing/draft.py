"""One of our components in the making: only keys that its specification has, each with the property it comes from."""

from __future__ import annotations

import re
from typing import Any, Literal

from pipelines.domain.base.findings import PathParts
from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import Kind
from pipelines.domain.flume.importing.catalogue import FlumeType, Rule, snake_case
from pipelines.domain.flume.importing.numbers import note_unreadable
from pipelines.domain.imports.conversion import NotABoolean, NotANumber, OutOfRange, Unconvertible, convert
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_SECRET_KEY = re.compile(r"(?i)passw|secret|token(?!izer)|credential|api_?key|private_?key")
_SECRET_IN_URL = re.compile(r"://[^/@\s]*:[^/@\s]+@")
_STRUCTURE = frozenset({"type", "channel", "channels", "interceptors", "selector", "options"})


def is_secret(property_: Property) -> bool:
    """Whether a value must not be copied: the key says so, or it is an address with a password."""
    if REFERENCE.fullmatch(property_.value):
        return False
    last = property_.key.rpartition(".")[2]
    return bool(_SECRET_KEY.search(last) or _SECRET_IN_URL.search(property_.value))


def _same_name(name: str) -> Rule:
    snake = snake_case(name)
    return Rule(() if snake in _STRUCTURE else (snake, f"{snake}_ms"))


class Draft:
    """A component of a kind and type at a place; without a specification it takes no key but its type."""

    def __init__(self, kind: Kind, type_name: str, path: PathParts, report: Report) -> None:
        self.keys: dict[str, Any] = {"type": type_name}
        self.path = path
        self.report = report
        known = registry.types(kind)
        self.spec = known.get(type_name)
        self._schema = registry.json_schema(kind, type_name) if self.spec else {}

    def accepts(self, *names: str) -> str | None:
        """The first of these keys that the component has."""
        return next((name for name in names if self.spec and name in self.spec.model_fields), None)

    def schema(self, key: str) -> dict[str, Any]:
        """The JSON Schema of a key, its reference resolved."""
        own = self._schema["properties"][key]
        return self._resolved(own)

    def _resolved(self, own: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in own:
            own = self._schema["$defs"][own["$ref"].rpartition("/")[2]] | own
        for many in ("anyOf", "oneOf"):
            if many in own:
                own = own | {many: [self._resolved(alternative) for alternative in own[many]]}
        return own

    def put(self, key: str, value: Any, *sources: Property) -> None:
        """Set a key that the component has."""
        self.keys[key] = value
        for source in sources:
            self.report.mapped(source, (*self.path, key))

    def read_all(self, section: Section, flume_type: FlumeType) -> None:
        """Every property of the section that has a rule or a key of the same name; then the defaults of Flume."""
        for name, rule in flume_type.rules.items():
            if rule.keys and (property_ := section.take(name)) is not None:
                self.read(property_, name, rule, flume_type)
        for name in list(section.properties):
            if name not in flume_type.rules:
                self.read(section.properties.pop(name), name, _same_name(name), flume_type)
        for name, text in flume_type.defaults.items():
            self._default(name, text, flume_type, section.prefix)

    def read(self, property_: Property, name: str, rule: Rule, flume_type: FlumeType) -> None:
        """One property: our key, or a finding."""
        key = self.accepts(*rule.keys)
        if is_secret(property_):
            self.leave_secret(property_)
        elif key is None:
            self.no_equivalent(property_, flume_type.needless.get(name, ""))
        elif key in self.keys:
            message = f"{key} is set by another property already."
            self.report.note("superseded", message, "It was omitted; the newer name counts.", about=property_)
        else:
            self._convert(property_, key, rule)

    def _convert(self, property_: Property, key: str, rule: Rule) -> None:
        try:
            text = rule.words.get(property_.value.lower(), rule.words.get(property_.value, property_.value))
            value = convert(text, self.schema(key), unit=rule.unit, separator=rule.separator)
        except NotANumber:
            note_unreadable(property_.key.rpartition(".")[2], property_, self.report)
        except NotABoolean:
            self._put_false(property_, key)
        except OutOfRange as error:
            self.bad_value(property_, key, str(error), severity="warning")
        except Unconvertible as error:
            self.bad_value(property_, key, str(error))
        else:
            self.put(key, value, property_)

    def _put_false(self, property_: Property, key: str) -> None:
        self.put(key, False, property_)
        self.report.note(
            "bad_value",
            f"The value of {property_.key} is neither true nor false, and Flume takes it as false.",
            f"{key} became false.",
            about=property_,
            path=(*self.path, key),
            suggestion=f"Write {key}: true if that is meant.",
        )

    def _default(self, name: str, text: str, flume_type: FlumeType, prefix: str) -> None:
        rule = flume_type.rules.get(name, _same_name(name))
        key = self.accepts(*rule.keys)
        if key is None or key in self.keys:
            return
        schema = self.schema(key)
        try:
            value = convert(text, schema, unit=rule.unit, separator=rule.separator)
        except Unconvertible:
            return
        if schema.get("default") != value:
            self.keys[key] = value
            self.report.note(
                "default_written_out",
                f"{name} is not written; Flume takes {text}.",
                "It was written out.",
                about=f"{prefix}{name}",
                path=(*self.path, key),
            )

    def finished(self) -> dict[str, Any]:
        """The type, then the other keys in the order of the specification."""
        fields = self.spec.model_fields if self.spec else {}
        order = {field.alias or name: index for index, (name, field) in enumerate(fields.items())}
        order["type"] = -1
        return dict(sorted(self.keys.items(), key=lambda item: order.get(item[0], len(order))))

    def bad_value(
        self, property_: Property, key: str, why: str, severity: Literal["error", "warning"] = "error"
    ) -> None:
        """Leave a property out because of its value; an error where nobody can say what counts instead."""
        self.report.note(
            "bad_value",
            f"The value of {property_.key} cannot be imported: {why}.",
            f"It was omitted; the default of {key} counts, or you have to set it if it has none.",
            about=property_,
            path=(*self.path, key),
            suggestion=f"Write {key} in the definition as you mean it.",
            severity=severity,
        )

    def no_equivalent(self, property_: Property, reason: str = "") -> None:
        """Leave a property out because nothing here corresponds to it."""
        message = f"{property_.key} has no equivalent{': ' + reason if reason else ''}."
        self.report.note("no_equivalent", message, "It was omitted.", about=property_, path=self.path)

    def leave_secret(self, property_: Property) -> None:
        self.report.note(
            "secret_not_copied",
            f"{property_.key} holds a password or key.",
            "It was not copied.",
            about=property_,
            path=self.path,
            suggestion="Store it with headgate secrets set NAME, and refer to it where the page of the "
            "component says so.",
        )
