"""What an agent's source does with its events: interceptors and channel selector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.base.findings import PathParts
from pipelines.domain.flume.importing import catalogue, header_lists
from pipelines.domain.flume.importing.draft import Draft, is_secret
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_MILLIS = "RegexExtractorInterceptorMillisSerializer"
_PASSES = "RegexExtractorInterceptorPassThroughSerializer"


def interceptors(section: Section, path: PathParts, report: Report) -> list[dict[str, Any]]:
    """The interceptors in their order. A class of somebody's own becomes a python interceptor to be written."""
    listing = section.take("interceptors")
    names = items(listing.value) if listing else []
    family = section.below("interceptors.")
    if listing:
        report.mapped(listing, (*path, "interceptors"))
    made: list[dict[str, Any]] = []
    for name in names:
        own = family.below(f"{name}.")
        draft = _interceptor(name, own, (*path, "interceptors", len(made)), report)
        if draft:
            made.append(draft.finished())
    for property_ in family.properties.values():
        message = "The interceptor is not listed in interceptors."
        report.note("not_listed", message, "Flume ignores it; it was omitted.", about=property_)
    return made


def _interceptor(name: str, section: Section, path: PathParts, report: Report) -> Draft | None:
    written = section.take("type")
    if written is None:
        message = f"The interceptor {name} has no type, so Flume does not start its source."
        report.note("missing_type", message, "It was omitted.", about=f"{section.prefix}type", path=path[:2])
        _leave_all(section, report, path[:2])
        return None
    flume_type = catalogue.find("interceptor", written.value)
    if flume_type is None or flume_type.ours is None:
        return _python(written, section, path, report, flume_type.advice if flume_type else "")
    draft = Draft("interceptor", flume_type.ours, path, report)
    report.mapped(written, (*path, "type"))
    if flume_type.ours == "regex_extractor":
        _serializers(section, draft)
    if flume_type.ours == "remove_header":
        header_lists.read_list(section, draft)
    draft.read_all(section, flume_type)
    return draft


def _leave_all(section: Section, report: Report, path: PathParts) -> None:
    for property_ in section.properties.values():
        report.note(
            "no_equivalent",
            "It belongs to a component that was omitted.",
            "It was omitted.",
            about=property_,
            path=path,
        )


def _python(written: Property, section: Section, path: PathParts, report: Report, advice: str) -> Draft:
    """A stand-in that keeps place, name and configuration; nothing starts until somebody has written the class."""
    draft = Draft("interceptor", "python", path, report)
    module, _, class_name = written.value.removesuffix("$Builder").rpartition(".")
    target = f"{module or 'interceptors'}:{class_name.replace('$', '_')}"
    report.mapped(written, (*path, "type"))
    key = draft.accepts("class", "class_", "class_name")
    if key is None:
        draft.keys["type"] = written.value
    else:
        alias = draft.spec.model_fields[key].alias if draft.spec else None
        draft.keys[alias or key] = target
    report.note(
        "custom_class",
        f"{written.value} is a class of its own, and Headgate runs no classes of Flume.",
        f"A python interceptor {target} replaces it; the pipeline does not start before it exists."
        if key
        else "The definition has its name, and is invalid until you replace it.",
        about=written,
        path=path,
        suggestion=advice or f"Write it in Python and register it on the hosts as {target}.",
    )
    _config(section, draft)
    return draft


def _config(section: Section, draft: Draft) -> None:
    if draft.accepts("config") is None:
        _leave_all(section, draft.report, draft.path)
        return
    config: dict[str, str] = {}
    for name, property_ in section.properties.items():
        if is_secret(property_):
            draft.leave_secret(property_)
        else:
            config[name] = property_.value
            draft.report.mapped(property_, (*draft.path, "config", name))
    if config:
        draft.keys["config"] = config


def _serializers(section: Section, draft: Draft) -> None:
    """`serializers = s1 s2` with name, type and pattern each, in the order of the regular expression's groups."""
    listing = section.take("serializers")
    family = section.below("serializers.")
    key = draft.accepts("serializers", "groups", "headers")
    if listing is None or key is None:
        for property_ in (*([listing] if listing else []), *family.properties.values()):
            draft.no_equivalent(property_)
        return
    made = [_serializer(family.below(f"{name}."), draft, key, index) for index, name in enumerate(items(listing.value))]
    draft.put(key, made, listing)
    for property_ in family.properties.values():
        draft.no_equivalent(property_, "the serializer is not listed")


def _serializer(section: Section, draft: Draft, key: str, index: int) -> dict[str, str]:
    made: dict[str, str] = {}
    for name, property_ in section.properties.items():
        if name in ("name", "pattern"):
            made[name] = property_.value
        elif name == "type" and property_.value.endswith(_MILLIS):
            made["type"] = "millis"
        elif name != "type" or not (property_.value == "default" or property_.value.endswith(_PASSES)):
            draft.no_equivalent(property_)
            continue
        draft.report.mapped(property_, (*draft.path, key, index))
    return made


def selector(section: Section, channels: Mapping[str, str], path: PathParts, report: Report) -> dict[str, Any]:
    """The channel selector over a source's channels, given by their old names with their new ones."""
    family = section.below("selector.")
    written = family.take("type")
    name = written.value if written else "replicating"
    flume_type = catalogue.find("selector", name)
    ours = flume_type.ours if flume_type and flume_type.ours else name
    draft = Draft("selector", ours, (*path, "selector"), report)
    if written:
        report.mapped(written, (*draft.path, "type"))
    if flume_type is None:
        report.note(
            "custom_class",
            f"{name} is a channel selector of its own, and Headgate runs no classes of Flume.",
            "The definition has its name, and is invalid until you replace it.",
            about=written or "",
            path=draft.path,
            suggestion="Use multiplexing, with a python interceptor that sets the header.",
        )
    if ours == "multiplexing":
        _multiplexing(family, channels, draft)
    elif draft.accepts("channels"):
        draft.keys["channels"] = list(channels.values())
    if ours == "replicating":
        _read_channels(family.take("optional"), "optional", channels, draft)
    draft.read_all(family, flume_type or catalogue.FlumeType("selector", (name,), None))
    return draft.finished()


def _multiplexing(section: Section, channels: Mapping[str, str], draft: Draft) -> None:
    header = section.take("header")
    if draft.accepts("header"):
        draft.put("header", header.value if header else "flume.selector.header", *([header] if header else []))
    elif header:
        draft.no_equivalent(header)
    _read_channels(section.take("default"), "default", channels, draft)
    for key in ("mapping", "optional"):
        _read_routes(section.below(f"{key}."), key, channels, draft)
    if not draft.keys.get("default"):
        draft.report.note(
            "no_default_route",
            "There is no default: Flume drops an event that no mapping takes, and reports success.",
            "None was added; such an event is counted as unrouted and becomes a dead letter.",
            about=f"{section.prefix}default",
            path=draft.path,
            suggestion="Name default channels if it should arrive.",
        )


def _read_routes(section: Section, key: str, channels: Mapping[str, str], draft: Draft) -> None:
    routes: dict[str, list[str]] = {}
    for value, property_ in section.properties.items():
        if draft.accepts(key) is None:
            draft.no_equivalent(property_)
            continue
        routes[value] = _known(property_, channels, draft)
        draft.report.mapped(property_, (*draft.path, key, value))
    if routes:
        draft.keys[key] = routes


def _read_channels(property_: Property | None, key: str, channels: Mapping[str, str], draft: Draft) -> None:
    if property_ is None:
        return
    if draft.accepts(key) is None:
        draft.no_equivalent(property_)
        return
    draft.put(key, _known(property_, channels, draft), property_)


def _known(property_: Property, channels: Mapping[str, str], draft: Draft) -> list[str]:
    """The new names of listed channels, each once; one that the source has not is left out with a finding."""
    names = dict.fromkeys(items(property_.value))
    for name in names:
        if name not in channels:
            draft.report.note(
                "unknown_channel",
                f"The source has no channel {name}, so Flume does not start it.",
                "The channel was removed from the selector.",
                about=property_,
                path=draft.path,
            )
    return [channels[name] for name in names if name in channels]
