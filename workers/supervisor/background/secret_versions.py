"""New versions of secrets that a backend keeps: noticed, so that runs with earlier ones are shown."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from pipelines.selectors.access.secrets import given_from
from pipelines.services.access.secrets import record_version
from workers.ports import Secrets, Unreadable
from workers.supervisor.background.loop import BackgroundLoop

INTERVAL = 60.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SecretVersions:
    """Compares what living runs of a host were given with what the backend has."""

    host: str
    kind: str
    backend: Secrets

    def turn(self) -> float:
        """One pass; returns the seconds until the next."""
        names = given_from(self.kind, self.host)
        found = self.backend.read({name.removeprefix(f"{self.kind}:") for name in names}) if names else {}
        for name, value in found.items():
            if isinstance(value, Unreadable):
                log.warning("secret_version_unknown", secret=f"{self.kind}:{name}", reason=value.reason)
            else:
                record_version(name=f"{self.kind}:{name}", version=value.version, changed_at=value.changed_at)
        return INTERVAL

    def loop(self) -> BackgroundLoop:
        """The loop of a worker."""
        return BackgroundLoop("secret-versions", self.turn, pause=INTERVAL, slowest=INTERVAL)
