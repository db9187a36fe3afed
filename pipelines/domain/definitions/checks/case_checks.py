"""Semantic findings about tests: their names, and the components that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pipelines.domain.base.findings import Finding, PathParts, did_you_mean, dotted, quote
from pipelines.domain.definitions.document.outline import Named, Outline, Part, error, targets
from pipelines.domain.definitions.document.references import REFERENCE, TESTS, texts


def tests_have_names_of_their_own(outline: Outline) -> Iterator[Finding]:
    """Two tests with one name could not be told apart."""
    seen: set[str] = set()
    for test in _tests(outline):
        name = test.text("name")
        if name is not None and name in seen:
            yield error((*test.path, "name"), "repeated", f"{quote(name)} names two tests.", "Rename one of them.")
        seen.add(name or "")


def tests_have_a_source(outline: Outline) -> Iterator[Finding]:
    """A test names its source where there are several, and one that exists."""
    known = [source.name for source in outline.sources]
    for test in _tests(outline):
        name = test.text("source")
        if name is None and len(known) > 1:
            yield error(
                test.path, "missing_key", 'The key "source" is missing.', f"Name one of: {', '.join(sorted(known))}."
            )
        if name is not None and name not in known:
            suggestion = did_you_mean(name, known)
            yield error((*test.path, "source"), "unknown_source", f"There is no source {quote(name)}.", suggestion)


def expectations_name_what_exists(outline: Outline) -> Iterator[Finding]:
    """Channels to which the source sends, and components of the source."""
    for test in _tests(outline):
        source = _source(outline, test)
        if source is None:
            continue
        channels, components = targets(outline, source), _components(source)
        for expected in _listed(test, "expect"):
            for mention in expected.names("channels"):
                if mention.name not in channels:
                    message = f"The source {quote(source.name)} sends to no channel {quote(mention.name)}."
                    yield error(mention.path, "unknown_channel", message, did_you_mean(mention.name, channels))
            for mention in _components_of(expected):
                if mention.name not in components:
                    message = f"The source {quote(source.name)} has no component {quote(mention.name)}."
                    yield error(mention.path, "unknown_component", message, did_you_mean(mention.name, components))


def tests_hold_no_references(outline: Outline) -> Iterator[Finding]:
    """Tests are shown to all who may see the definition, and their results do not depend on the host."""
    for path, text in texts(outline.data.get(TESTS), (TESTS,)):
        if REFERENCE.search(text):
            message = "A test cannot refer to secrets or to values of a host."
            yield error(path, "reference_in_test", message, "Write a value made up for the test.")


def _tests(outline: Outline) -> list[Part]:
    return _parts((TESTS,), outline.data.get(TESTS))


def _listed(part: Part, key: str) -> list[Part]:
    return _parts((*part.path, key), part.keys.get(key))


def _parts(path: PathParts, value: Any) -> list[Part]:
    entries = value if isinstance(value, list) else []
    return [Part((*path, number), "", each) for number, each in enumerate(entries) if isinstance(each, dict)]


def _source(outline: Outline, test: Part) -> Part | None:
    name = test.text("source")
    if name is None:
        return outline.sources[0] if len(outline.sources) == 1 else None
    return next((source for source in outline.sources if source.name == name), None)


def _components(source: Part) -> list[str]:
    """What can filter an event of the source, or make a dead letter of it."""
    interceptors = source.keys.get("interceptors")
    count = len(interceptors) if isinstance(interceptors, list) else 0
    return [dotted(source.path), *(dotted((*source.path, "interceptors", number)) for number in range(count))]


def _components_of(expected: Part) -> list[Named]:
    return [Named((*expected.path, key), name) for key in ("filtered_by", "dead") if (name := expected.text(key))]


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (
    tests_have_names_of_their_own,
    tests_have_a_source,
    expectations_name_what_exists,
    tests_hold_no_references,
)
