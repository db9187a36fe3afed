"""Events that are posted: the process that listens, and its ingest buffer."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import refuse
from workers.agent.push.source import PushSource


class Builder(PushSource):
    """Probes the port."""

    def probe(self) -> None:
        """The address is one of this host's, the port is free, and the certificate can be read."""
        for key in ("tls_certificate", "tls_key"):
            self._check_file(key, getattr(self.spec, key))
        family = socket.AF_INET6 if ":" in self.spec.bind else socket.AF_INET
        try:
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((self.spec.bind, self.spec.port))
        except OSError as error:
            if self.place.standby and error.errno == errno.EADDRINUSE:
                self.warnings = [
                    AgentFinding(
                        path=f"{self.place.path}.port",
                        code="PORT_IN_USE",
                        message="The port is in use, possibly by the run that this one replaces.",
                        suggestion="Check that no other process listens on it: it must be free when that run ends.",
                    )
                ]
                return
            message = f"{self.spec.bind}:{self.spec.port} cannot be listened on: {error.strerror or error}."
            suggestion = "Choose a free port and an address of this host."
            raise refuse(f"{self.place.path}.port", "PORT_NOT_FREE", message, suggestion, retryable=True) from error

    def _check_file(self, key: str, path: str | None) -> None:
        try:
            if path is not None:
                Path(path).read_bytes()
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}."
            raise refuse(f"{self.place.path}.{key}", "FILE_NOT_READABLE", message, "Put it there.") from error
