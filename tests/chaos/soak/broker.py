"""The broker of a soak: one process that sources and sinks reach through a relay each, so that either can be away."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

from controlplane.install.services.child import Child
from controlplane.install.services.interrupt import Interrupt
from controlplane.install.services.kafka import bootstrap_servers, kafka_service
from controlplane.install.services.ports import LOOPBACK, free_port
from tests.fakes.proxy import Network, Proxy

_LISTENERS = """\
listeners=PLAINTEXT://{{host}}:{direct},SOURCE://{{host}}:{source},SINK://{{host}}:{sink},CONTROLLER://{{host}}:{{controller_port}}
advertised.listeners=PLAINTEXT://{{host}}:{direct},SOURCE://{{host}}:{source_relay},SINK://{{host}}:{sink_relay}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SOURCE:PLAINTEXT,SINK:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
socket.request.max.bytes=104857600
"""
_CHECK_EVERY = 0.5


class Relay:
    """An address that refuses connections or answers none, as long as that is wanted."""

    def __init__(self) -> None:
        self.behind, self.port = free_port(), free_port()
        self.servers = bootstrap_servers(self.port)
        self._proxy = self._started()

    def _started(self) -> Proxy:
        proxy = Proxy(self.behind, self.port)
        proxy.start()
        return proxy

    def refuse(self) -> None:
        """End every connection and take no further one."""
        self._proxy.stop()

    def fall_silent(self) -> None:
        """Let nothing through, and end no connection."""
        self._proxy.network = Network.CUT

    def pass_again(self) -> None:
        """Be there again after `fall_silent`."""
        self._proxy.network = Network.PASSES

    def accept(self) -> None:
        """Be there again after `refuse`."""
        self._proxy = self._started()

    def close(self) -> None:
        """Listen no longer."""
        self._proxy.stop()


class Broker:
    """A real broker that is started again whenever it is killed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.source, self.sink = Relay(), Relay()
        self._port = free_port()
        self.servers = f"{LOOPBACK}:{self._port}"
        self._over = threading.Event()
        self._child = self._started()
        try:
            self._child.wait_ready(Interrupt())
        except BaseException:
            self._child.stop()
            raise
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def _started(self) -> Child:
        ports = {
            "direct": self._port,
            "source": self.source.behind,
            "sink": self.sink.behind,
            "source_relay": self.source.port,
            "sink_relay": self.sink.port,
        }
        service = kafka_service(data_dir=self._directory, port=self._port, extra=_LISTENERS.format(**ports))
        with (self._directory / "kafka.log").open("ab") as log:
            return Child(service, output=log)

    def signal(self, number: signal.Signals) -> None:
        """To the broker's process."""
        os.kill(self._child.process.pid, number)

    def _watch(self) -> None:
        while not self._over.wait(_CHECK_EVERY):
            if not self._child.alive:
                self._child.bury()
                self._child = self._started()

    def close(self) -> None:
        """End it, halted or not."""
        self._over.set()
        self._watcher.join()
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGCONT)
        self._child.stop()
        self.source.close()
        self.sink.close()
