"""Structured logs, plain or JSON; values of secret keys never reach them."""

from __future__ import annotations

from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SECRET_WORDS = ("password", "secret", "token", "authorization", "cookie", "dsn", "jaas")
REDACTED = "[redacted]"
QUIETER = {
    "django.request": "CRITICAL",
    "django.server": "WARNING",
    "celery.worker.strategy": "WARNING",
    "celery.app.trace": "WARNING",
    "httpx2": "WARNING",
}
"""Loggers whose lines say nothing that is not said elsewhere, or come with every message."""


def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace the value of every key that names a secret."""
    for key in event:
        if any(word in key.lower() for word in SECRET_WORDS):
            event[key] = REDACTED
    return event


SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    redact,
]


def configure(log_format: str, level: str) -> dict[str, Any]:
    """Set up structlog; returns the description of the standard library's logging that belongs to it."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"default": _formatter(log_format)},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "default"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {name: {"level": quiet} for name, quiet in QUIETER.items()},
    }


def _formatter(log_format: str) -> dict[str, Any]:
    renderer: Processor = structlog.dev.ConsoleRenderer(colors=False)
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        "foreign_pre_chain": [*SHARED, structlog.processors.format_exc_info],
    }
