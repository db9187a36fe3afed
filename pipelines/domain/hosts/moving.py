"""What ties a pipeline to its host: data that only that host has, and files that it writes there."""

from __future__ import annotations

from pipelines.domain.definitions.document.spec import ANY_HOST, Definition


def stores(definition: Definition) -> list[str]:
    """Paths of sources and channels with data on the host's disk that is nowhere else."""
    sources = [f"sources.{name}" for name, spec in sorted(definition.sources.items()) if spec.on_host]
    return [*sources, *(f"channels.{name}" for name, spec in sorted(definition.channels.items()) if spec.on_host)]


def ties(definition: Definition) -> list[str]:
    """Why it is not moved to another host by itself, in words; empty where it can be."""
    if definition.placement.host != ANY_HOST:
        return [f"placement.host is {definition.placement.host}"]
    files = [f"sinks.{name}" for name, spec in sorted(definition.sinks.items()) if spec.type == "file"]
    return [
        *(f"{path} keeps data on the host's disk" for path in stores(definition)),
        *(f"{path} writes files on the host" for path in files),
    ]
