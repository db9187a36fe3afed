"""Structural findings: pydantic's errors, told in the words of a definition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pipelines.domain.base.findings import Finding, PathParts, did_you_mean, dotted, listed, quote
from pipelines.domain.definitions.document.diff import HIDDEN, names_secret
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.definitions.parts.component import Kind
from pipelines.domain.definitions.parts.launchers import SparkLauncher

_TYPE_NAMES = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "a mapping",
    "model": "a mapping",
    "none": "nothing",
}
_KINDS_BY_FIELD: dict[str, Kind] = {
    "sources": "source",
    "channels": "channel",
    "sinks": "sink",
    "interceptors": "interceptor",
    "selector": "selector",
    "processor": "processor",
    "dead_letter": "dead_letter",
}


def structural_findings(error: ValidationError, root: type[BaseModel] = Definition) -> Iterator[Finding]:
    """One finding for each error about a `root`."""
    for details in error.errors(include_url=False):
        yield _finding(details, root)


def _finding(details: ErrorDetails, root: type[BaseModel]) -> Finding:
    location = details["loc"]
    path = tuple(part for part in location if not _is_tag(part) and part != "[key]")
    context = details.get("ctx", {})
    if "suggestion" in context:
        return Finding(
            path=dotted(path), code=details["type"], message=context["message"], suggestion=context["suggestion"]
        )
    describe = _DESCRIPTIONS.get(details["type"], _describe_by_name)
    code, message, suggestion, extra = describe(details, path)
    if code == "unknown_key" and root is not Definition:
        suggestion = did_you_mean(str(path[-1]), list(root.model_fields))
    return Finding(path=dotted((*path, *extra)), code=code, message=message, suggestion=suggestion)


Description = tuple[str, str, str, PathParts]


def _shown(value: Any, path: PathParts) -> str:
    """A piece of input, unless its key names a secret: findings are shown to everybody."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return HIDDEN if names_secret(key) else quote(value)


def _is_tag(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith(registry.TAG_MARK)


def _unknown_key(details: ErrorDetails, path: PathParts) -> Description:
    model = _model_at(details["loc"][:-1])
    if model is SparkLauncher and path[-1] in ClusterSpec.model_fields:
        message = f"{quote(path[-1])} belongs to a cluster, which an administrator defines."
        return "belongs_to_cluster", message, "Remove it, and name a cluster that has it: cluster: NAME.", ()
    known = list(model.model_fields) if model else []
    return "unknown_key", f"There is no key {quote(path[-1])} here.", did_you_mean(str(path[-1]), known), ()


def _missing(details: ErrorDetails, path: PathParts) -> Description:
    example = _example(details["loc"])
    return (
        "missing_key",
        f"The key {quote(path[-1])} is missing.",
        f"Add it, for example {example}." if example else "Add it.",
        (),
    )


def _unknown_type(details: ErrorDetails, path: PathParts) -> Description:
    kind, _, name = details["ctx"]["tag"].removeprefix(registry.TAG_MARK).partition(":")
    known = list(registry.types(kind))
    suggestion = did_you_mean(name, known, otherwise=f"Use one of: {listed(known)}.")
    return "unknown_type", f"There is no {kind} of type {quote(name)}.", suggestion, ("type",)


def _missing_type(details: ErrorDetails, path: PathParts) -> Description:
    if not isinstance(details["input"], dict):
        return _wrong_type("model", details, path)
    kind = next(_KINDS_BY_FIELD[part] for part in reversed(path) if part in _KINDS_BY_FIELD)
    suggestion = f"Use one of: {listed(registry.types(kind))}."
    if "type" in details["input"]:
        return "wrong_type", f"The type of a {kind} is text.", suggestion, ("type",)
    return "missing_key", 'The key "type" is missing.', suggestion, ("type",)


def _unknown_value(details: ErrorDetails, path: PathParts) -> Description:
    known = re.findall(r"'([^']*)'", details["ctx"]["expected"])
    value = details["input"]
    otherwise = f"Use {quote(known[0])}." if len(known) == 1 else f"Use one of: {listed(known)}."
    suggestion = (
        did_you_mean(value, known, otherwise=otherwise) if isinstance(value, str) and len(known) > 1 else otherwise
    )
    return "unknown_value", f"{quote(value)} is not possible here.", suggestion, ()


def _out_of_range(details: ErrorDetails, path: PathParts) -> Description:
    (limit,) = details["ctx"].values()
    side = "at least" if details["type"].startswith("greater") else "at most"
    return "out_of_range", f"{quote(details['input'])} is out of range.", f"Use {side} {limit}.", ()


def _too_short(details: ErrorDetails, path: PathParts) -> Description:
    return "empty", "This must not be empty.", "Add at least one entry.", ()


def _too_long(details: ErrorDetails, path: PathParts) -> Description:
    return "too_long", "This is too long.", f"Use at most {details['ctx']['max_length']}.", ()


def _bad_start_from(details: ErrorDetails, path: PathParts) -> Description:
    message = "start_from has an invalid form."
    return (
        "bad_start_from",
        message,
        "Use earliest, latest, {timestamp: …} or {offsets: {topic: {partition: offset}}}.",
        (),
    )


def _bad_launcher(details: ErrorDetails, path: PathParts) -> Description:
    if not isinstance(details["input"], dict):
        return _wrong_type("model", details, path)
    kind = details["input"].get("type")
    return "unknown_type", f"There is no launcher of type {quote(kind)}.", "Use local or spark.", ("type",)


def _describe_by_name(details: ErrorDetails, path: PathParts) -> Description:
    name, _, rest = details["type"].partition("_")
    if rest in {"type", "parsing", "attributes_type", "from_float", "unicode", "required"}:
        return _wrong_type(name, details, path)
    return "invalid_value", details["msg"], "", ()


def _wrong_type(name: str, details: ErrorDetails, path: PathParts) -> Description:
    wanted = _TYPE_NAMES.get(name, name)
    suggestion = (
        "Put it into quotes." if name == "string" and isinstance(details["input"], int | float) else f"Write {wanted}."
    )
    return "wrong_type", f"This must be {wanted}, not {_shown(details['input'], path)}.", suggestion, ()


_DESCRIPTIONS: dict[str, Callable[[ErrorDetails, PathParts], Description]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "union_tag_invalid": _unknown_type,
    "union_tag_not_found": _missing_type,
    "literal_error": _unknown_value,
    "greater_than_equal": _out_of_range,
    "less_than_equal": _out_of_range,
    "too_short": _too_short,
    "too_long": _too_long,
    "string_too_long": _too_long,
    "bad_start_from": _bad_start_from,
    "bad_launcher": _bad_launcher,
}


def _example(location: PathParts) -> str:
    model = _model_at(location[:-1])
    if model is None or location[-1] not in model.model_fields:
        return ""
    examples = model.model_fields[str(location[-1])].examples or [None]
    return quote(examples[0])


def _model_at(location: PathParts) -> type[BaseModel] | None:
    """The model whose keys are at an error's location: down the fields, and across a tag to the component it names."""
    here: Any = Definition
    for part in location:
        if _is_tag(part):
            here = _tagged(str(part), here)
        elif isinstance(here, type) and issubclass(here, BaseModel):
            info = here.model_fields.get(str(part))
            here = _present(info.annotation) if info else None
        else:
            here = _innermost(here)
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _present(annotation: Any) -> Any:
    """The type of a value that may be left out, where it is there."""
    arguments = get_args(annotation)
    others = [each for each in arguments if each is not NoneType]
    return others[0] if NoneType in arguments and len(others) == 1 else annotation


def _tagged(tag: str, union: Any) -> Any:
    if ":" in tag:
        return registry.tagged_spec(tag)
    name = tag.removeprefix(registry.TAG_MARK)
    return next((model for model in _models_in(union) if name in _names(model)), None)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _names(model: type[BaseModel]) -> list[str]:
    """What the tag of a union can call a model: one of its keys, or its `type`."""
    kind = model.model_fields.get("type")
    return [*model.model_fields, *(get_args(kind.annotation) if kind else ())]


def _innermost(annotation: Any) -> Any:
    """What a container holds: the value type of a mapping, the item type of a list."""
    arguments = get_args(annotation)
    return arguments[-1] if arguments else None
