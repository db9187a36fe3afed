"""What an administrator allows of Python interceptors."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.domain.base.findings import Finding, quote
from pipelines.domain.definitions.components.interceptor.python import PythonInterceptor
from pipelines.domain.definitions.document.spec import Definition

NOT_ALLOWED = "INTERCEPTOR_NOT_ALLOWED"
ADVICE = "An administrator adds it to HEADGATE_INTERCEPTORS of this host and restarts its worker."


def interceptors_not_allowed(definition: Definition, allowed: frozenset[str]) -> list[Finding]:
    """A finding for each Python class that a host does not allow."""
    return [
        Finding(path=f"{path}.class", code=NOT_ALLOWED, message=not_allowed(name), suggestion=ADVICE)
        for path, name in _classes(definition)
        if name not in allowed
    ]


def not_allowed(class_name: str) -> str:
    """What to say of a class that is not in the registry."""
    return f"The class {quote(class_name)} is not an interceptor that this host allows."


def _classes(definition: Definition) -> Iterator[tuple[str, str]]:
    for name, source in definition.sources.items():
        for number, spec in enumerate(source.interceptors):
            if isinstance(spec, PythonInterceptor):
                yield f"sources.{name}.interceptors[{number}]", spec.class_name
