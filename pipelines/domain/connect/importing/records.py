"""What holds for the records of every connector: converters, errors and dead letters."""

from __future__ import annotations

from typing import Any

from pipelines.domain.connect.importing.notes import OMITTED, mislead
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_AS_THEY_ARE = ("StringConverter", "ByteArrayConverter", "SimpleHeaderConverter")


def read_converters(section: Section, report: Report) -> None:
    """A body is bytes here and no structure: what a converter takes apart on the way stays as it is."""
    for side in ("value", "key", "header"):
        own = section.below(f"{side}.converter.")
        property_ = section.take(f"{side}.converter")
        if property_ is not None:
            _read_converter(side, property_, own, report)
        for each in own.properties.values():
            report.note("no_equivalent", f"{each.key} has no equivalent: there are no converters.", OMITTED, about=each)
        if property_ is None and side == "value":
            report.note(
                "worker_setting",
                "value.converter is not written, so that of the Connect worker counts, which is not known here.",
                "Bodies are moved as they are.",
                about="value.converter",
                suggestion="Look into the worker's configuration: a schema registry, or schemas.enable, changes what "
                "the records hold.",
            )


def _read_converter(side: str, property_: Property, own: Section, report: Report) -> None:
    kind = property_.value.rpartition(".")[2]
    enveloped = own.take("schemas.enable")
    if enveloped is not None:
        report.used(enveloped)
    if kind in _AS_THEY_ARE:
        report.used(property_)
    elif kind == "JsonConverter":
        report.used(property_)
        if side == "value" and (enveloped is None or enveloped.value.lower() != "false"):
            mislead(
                report,
                enveloped or property_,
                "schema_envelope",
                "With schemas.enable, which is the default, a record is {schema, payload}; here the whole is the body.",
                "Add a sql interceptor that sets body: to_json(json:payload), or have plain JSON written.",
                ("sources",),
            )
    else:
        mislead(
            report,
            property_,
            "unsupported_converter",
            f"{kind} reads a {side} with a schema that is kept elsewhere; here it is bytes that nothing takes apart.",
            "Have JSON written to the topic, or move the bytes as they are to another topic.",
            ("sources",),
        )


def read_errors(section: Section, report: Report) -> dict[str, Any]:
    """`errors.tolerance` and the dead-letter queue."""
    tolerance, topic = section.take("errors.tolerance"), section.take("errors.deadletterqueue.topic.name")
    for each in (tolerance, topic):
        if each is not None:
            report.used(each)
    all_tolerated = tolerance is not None and tolerance.value.lower() == "all"
    if not all_tolerated:
        message = "The connector fails at the first record that cannot be processed (errors.tolerance is none)."
        done = "Such a record becomes a dead letter, and the pipeline continues; errors.max_rate bounds it."
        report.note("differs", message, done, about=tolerance or "errors.tolerance", path=("errors",))
    elif topic is None:
        message = "The connector drops records that cannot be processed."
        report.note("differs", message, "They are kept as dead letters.", about=tolerance or "", path=("errors",))
    if topic is None or not topic.value:
        return {}
    report.mapped(topic, ("errors", "dead_letter", "topic"))
    return {"errors": {"dead_letter": {"type": "kafka", "topic": topic.value}}}
