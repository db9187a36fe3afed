"""The whole of Headgate in one foreground process."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from controlplane.devstack.console import Console
from controlplane.devstack.up import Options, run
from controlplane.install.services.kafka import bootstrap_servers
from controlplane.install.tools.errors import SetupError
from pipelines.domain.access.teams import EVERYTHING
from pipelines.selectors.hosts.capacity import hosts

REDIS_PORT = 16379
KAFKA_PORT = 19092


class Command(BaseCommand):
    """`manage.py up`: Redis, Kafka, the worker with its beat and the web server, until Ctrl-C.

    Agents are processes of their own. Without --stop-agents they go on when the stack stops, as they would in
    production; a demo always stops its pipelines and ends its agents first.
    """

    help = "Run Redis, Kafka, the worker and the web server in the foreground, until Ctrl-C."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Every port also has a variable of its own."""
        parser.add_argument("--demo", action="store_true", help="with a pipeline and a paced producer")
        parser.add_argument(
            "--exit", action="store_true", help="with --demo: run unattended, print the ledger totals, exit"
        )
        parser.add_argument("--no-kafka", action="store_true", help="you have a broker: see --bootstrap-servers")
        parser.add_argument("--no-redis", action="store_true", help="you have a Redis: HEADGATE_REDIS_URL says where")
        parser.add_argument("--stop-agents", action="store_true", help="end agents too when the stack stops")
        parser.add_argument("--web-port", type=_port, default=settings.HEADGATE.web_port, help="HEADGATE_WEB_PORT")
        parser.add_argument("--redis-port", type=_port, default=_from_env("REDIS_PORT", REDIS_PORT))
        parser.add_argument("--kafka-port", type=_port, default=_from_env("KAFKA_PORT", KAFKA_PORT))
        parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092", help="the demo's broker with --no-kafka")
        parser.add_argument("--rate", type=float, default=1000.0, help="records a second of the demo's producer")
        parser.add_argument("--records", type=int, default=200_000, help="records of the unattended demo")

    def handle(self, *_: Any, **given: Any) -> None:
        """Exit with 0 when the stack was stopped by hand or the unattended demo found nothing wrong."""
        if given["exit"] and not given["demo"]:
            raise CommandError("--exit belongs to --demo.")
        started = timezone.now()
        try:
            code = run(_options(given), worker_is_ready=lambda: _host_seen_since(started), console=Console())
        except SetupError as error:
            raise CommandError(str(error)) from error
        raise SystemExit(code)


def _options(given: dict[str, Any]) -> Options:
    environment = settings.HEADGATE
    return Options(
        state=environment.state,
        host=environment.host,
        web_port=given["web_port"],
        redis_port=None if given["no_redis"] else given["redis_port"],
        redis_url=environment.redis_url.get_secret_value(),
        kafka_port=None if given["no_kafka"] else given["kafka_port"],
        servers=given["bootstrap_servers"] if given["no_kafka"] else bootstrap_servers(given["kafka_port"]),
        demo=given["demo"],
        unattended=given["exit"],
        stop_agents=given["stop_agents"] or given["demo"],
        rate=given["rate"],
        records=given["records"],
    )


def _host_seen_since(started: datetime) -> bool:
    return any(
        h.name == settings.HEADGATE.host and h.seen_at is not None and h.seen_at >= started for h in hosts(EVERYTHING)
    )


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise ArgumentTypeError(f"{text!r} is not a port: a number from 1 to 65535")
    return int(text)


def _from_env(name: str, default: int) -> str:
    """As text, so that the parser checks it like the flag."""
    return os.environ.get(f"HEADGATE_{name}") or str(default)
