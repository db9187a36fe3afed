"""Headgate's own processes in the local stack: the worker with its beat, and the web server."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

import httpx2

from controlplane.install.services.child import Service
from controlplane.install.services.ports import LOOPBACK

ROOT_WARNING = "ignore:You're running the worker with superuser"
"""Celery warns of unpickling as root; this worker takes JSON only."""


def web_url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}"


def worker_service(*, host: str, env: Mapping[str, str], is_ready: Callable[[], bool]) -> Service:
    """The Celery worker of this host, which starts and supervises agents, with the beat inside."""
    argv = [
        *(sys.executable, "-W", ROOT_WARNING, "-m", "celery", "--quiet", "-A", "controlplane.celery"),
        *("worker", "-Q", f"control,host.{host}"),
        *("-n", f"headgate@{host}", "--pool", "threads", "--concurrency", "2", "-B"),
        *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
    ]
    return Service("worker", argv, is_ready, env, stop_timeout=20)


def web_service(*, port: int, env: Mapping[str, str]) -> Service:
    """The ASGI server. A page asks several times a second: only what failed is worth a line of a shared console."""
    argv = [
        *(sys.executable, "-m", "uvicorn", "controlplane.asgi:application", "--host", LOOPBACK, "--port", str(port)),
        *("--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "3", "--lifespan", "off"),
    ]
    env = {"HEADGATE_LOG_LEVEL": os.environ.get("HEADGATE_LOG_LEVEL", "WARNING"), **env}
    return Service("web", argv, lambda: _healthy(f"{web_url(port)}/healthz"), env, stop_timeout=10)


def _healthy(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False
