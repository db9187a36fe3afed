"""Everything in one foreground process, with or without the demo."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.server.machine import setup
from controlplane.cli.server.running import manage, options


def port_of(what: str, default: int, variable: str) -> Any:
    """An option for a port."""
    return typer.Option(min=1, max=65_535, metavar="PORT", help=f"The port of {what}; default {default} or {variable}.")


WebPort = Annotated[int | None, port_of("the page", 8000, "HEADGATE_WEB_PORT")]
RedisPort = Annotated[int | None, port_of("the Redis that is started", 16379, "HEADGATE_REDIS_PORT")]
KafkaPort = Annotated[int | None, port_of("the Kafka that is started", 19092, "HEADGATE_KAFKA_PORT")]
NoRedis = Annotated[bool, typer.Option("--no-redis", help="Start no Redis; use the one at HEADGATE_REDIS_URL.")]


def demo(
    unattended: Annotated[
        bool,
        typer.Option(
            "--exit",
            help="Run unattended: pause, resume, kill the agent, stop. Print the ledger totals, and exit with 0 if no "
            "record is missing.",
        ),
    ] = False,
    records: Annotated[int, typer.Option(min=1, help="The records of the unattended demo.")] = 200_000,
    rate: Annotated[float, typer.Option(min=1, help="The records per second of the demo that stays.")] = 1000.0,
    web_port: WebPort = None,
    redis_port: RedisPort = None,
    kafka_port: KafkaPort = None,
    no_redis: NoRedis = False,
    bootstrap_servers: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Start no Kafka; run the demo on this one.")
    ] = None,
) -> None:
    """Set up this machine and run a demo: a pipeline from Kafka to Kafka with the whole of Headgate, until Ctrl-C.

    It prints the address of the page and how to log in. State is kept in HEADGATE_STATE, by default `./var`.
    """
    setup()
    ports = options(web_port=web_port, redis_port=redis_port, kafka_port=kafka_port, no_redis=no_redis)
    kafka = options(no_kafka=bootstrap_servers is not None, bootstrap_servers=bootstrap_servers)
    size = options(exit=unattended, records=records, rate=rate)
    manage("up", "--demo", *size, *ports, *kafka)


def up(
    stop_agents: Annotated[bool, typer.Option("--stop-agents", help="Stop all agents when this stops.")] = False,
    web_port: WebPort = None,
    redis_port: RedisPort = None,
    kafka_port: KafkaPort = None,
    no_redis: NoRedis = False,
    no_kafka: Annotated[bool, typer.Option("--no-kafka", help="Start no Kafka.")] = False,
) -> None:
    """Set up this machine and run Redis, Kafka, the worker and the web server, until Ctrl-C.

    Agents are processes of their own and continue without it. State is kept in HEADGATE_STATE, by default `./var`.
    """
    setup()
    ports = options(web_port=web_port, redis_port=redis_port, kafka_port=kafka_port)
    manage("up", *options(stop_agents=stop_agents, no_redis=no_redis, no_kafka=no_kafka), *ports)
