"""Headgate's own processes in the local stack: the worker with its beat, and the web server."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

import httpx2

from controlplane.install.services.child import Service
from controlplane.install.services.ports import LOOPBACK
from controlplane.install.tools.paths import PROJECT

ROOT_WARNING = "ignore:You're running the worker with superuser"
"""Celery warns of unpickling as root; this worker takes JSON only."""


def web_url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}"


LARGEST_HEAD = 64 * 1024
CONNECTIONS = 2000


def worker_argv(host: str) -> list[str]:
    """The Celery worker of this host, which starts and supervises agents, with the beat inside."""
    return [
        *(sys.executable, "-W", ROOT_WARNING, "-m", "controlplane.worker", "--quiet"),
        *("worker", "-Q", f"control,host.{host}"),
        *("-n", f"headgate@{host}", "--pool", "threads", "--concurrency", "2", "-B"),
        *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
    ]


def web_argv(*, address: str, port: int) -> list[str]:
    """The ASGI server, which imports what this process does, whatever the current directory has."""
    return [
        *(sys.executable, "-m", "uvicorn", "controlplane.asgi:application", "--host", address, "--port", str(port)),
        *("--app-dir", str(PROJECT), "--lifespan", "off", "--timeout-graceful-shutdown", "3"),
        # Who asks is decided by HEADGATE_TRUSTED_PROXIES alone, and what a request may be by the limits.
        *(
            "--no-proxy-headers",
            "--no-server-header",
            "--ws",
            "none",
            "--http",
            "controlplane.protocol:BoundedProtocol",
        ),
        *("--h11-max-incomplete-event-size", str(LARGEST_HEAD), "--limit-concurrency", str(CONNECTIONS)),
    ]


def worker_service(*, host: str, env: Mapping[str, str], is_ready: Callable[[], bool]) -> Service:
    """The worker as a child of the stack."""
    return Service("worker", worker_argv(host), is_ready, env, stop_timeout=20)


def web_service(*, port: int, env: Mapping[str, str]) -> Service:
    """The web server. A page asks several times a second: only what failed is worth a line of a shared console."""
    argv = [*web_argv(address=LOOPBACK, port=port), "--no-access-log", "--log-level", "warning"]
    env = {"HEADGATE_LOG_LEVEL": os.environ.get("HEADGATE_LOG_LEVEL", "WARNING"), **env}
    return Service("web", argv, lambda: _healthy(f"{web_url(port)}/healthz"), env, stop_timeout=10)


def _healthy(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False
