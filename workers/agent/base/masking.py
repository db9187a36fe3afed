"""What this agent must not say: set once, before the first component exists, and applied wherever text leaves it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from pipelines.domain.access.secrets import Mask
from pipelines.domain.runs.protocol import Document

D = TypeVar("D", bound=Document)
_mask = Mask()


def hide(texts: Iterable[str]) -> None:
    """From now on, these texts are masked."""
    global _mask
    _mask = Mask(texts)


def prose(document: Any) -> Any:
    """JSON-like data whose texts for people are masked."""
    return _mask.prose(document)


def masked(document: D) -> D:
    """The same of a document of the run directory."""
    return document if _mask.is_empty else document.model_validate(prose(document.model_dump(mode="json")))
