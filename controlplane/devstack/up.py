"""`headgate up`: the order in which the local stack comes up, works and goes down."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from controlplane.devstack import access, agents, demo
from controlplane.devstack.client import Api, Refused
from controlplane.devstack.console import Console
from controlplane.devstack.demo import PRODUCER, Demo
from controlplane.devstack.guide.runner import Guide
from controlplane.devstack.guide.site import Site
from controlplane.devstack.lock import only_stack
from controlplane.devstack.services import web_service, web_url, worker_service
from controlplane.devstack.stack import Stack
from controlplane.devstack.unattended import Failed, Unattended
from controlplane.devstack.welcome import welcome
from controlplane.install.services.interrupt import Interrupt, Interrupted
from controlplane.install.services.kafka import kafka_service
from controlplane.install.services.ports import require_free
from controlplane.install.services.redis import redis_service, redis_url, require_redis
from controlplane.install.tools.errors import SetupError
from pipelines.foundation.keyring import add_key

DEMO_NAME = "demo"
GUIDE_PAUSE = 0.5  # seconds between two steps of the guided demo
UNATTENDED_NAME = "demo-exit"
UNATTENDED_RATE = 8000.0  # records a second: slow enough for a pause and a kill in mid-stream
UNATTENDED_BATCH = 5000


@dataclass(frozen=True)
class Options:
    """What was asked for. A port of None: the user's own Redis, at `redis_url`, or Kafka, at `servers`."""

    state: Path
    host: str
    web_port: int
    redis_port: int | None
    redis_url: str
    kafka_port: int | None
    servers: str
    demo: bool
    unattended: bool
    stop_agents: bool
    rate: float
    records: int


def run(options: Options, *, worker_is_ready: Callable[[], bool], console: Console) -> int:
    """Run the stack until Ctrl-C, or the unattended demo to its end. Returns the exit code; raises SetupError."""
    interrupt = Interrupt()
    interrupt.listen()
    with only_stack(options.state):
        stack = Stack(console, interrupt, options.state / "up")
        stack.clear_leftovers()
        _require_ports(options)
        if options.redis_port is None:
            require_redis(options.redis_url)
        with _stopping(options, stack, console):
            try:
                _start(options, stack, worker_is_ready, console)
                return _work(options, stack, console, interrupt)
            except Interrupted:
                return 130 if options.unattended else 0


def _require_ports(options: Options) -> None:
    require_free(options.web_port, what="the page", flag="--web-port", variable="HEADGATE_WEB_PORT")
    if options.redis_port is not None:
        require_free(options.redis_port, what="Redis", flag="--redis-port", variable="HEADGATE_REDIS_PORT")
    if options.kafka_port is not None:
        require_free(options.kafka_port, what="Kafka", flag="--kafka-port", variable="HEADGATE_KAFKA_PORT")


def _start(options: Options, stack: Stack, worker_is_ready: Callable[[], bool], console: Console) -> None:
    directory = options.state / "redis"
    redis = options.redis_url if options.redis_port is None else redis_url(directory, options.redis_port)
    env = environment(options, redis)
    if options.redis_port is not None:
        stack.start(redis_service(data_dir=directory, port=options.redis_port))
    _ensure_secret_key(console)
    console.say("Migrating the database.")
    call_command("migrate", interactive=False, verbosity=0)
    services = [
        worker_service(host=options.host, env=env, is_ready=worker_is_ready),
        web_service(port=options.web_port, env=env),
    ]
    if options.kafka_port is not None:
        services.insert(0, kafka_service(data_dir=options.state / "kafka", port=options.kafka_port))
    console.say(f"Starting {', '.join(service.name for service in services)}.")
    stack.start(*services)


def environment(options: Options, redis: str) -> dict[str, str]:
    """What the worker and the web server are told. Both know the port of the page, which no pipeline reaches."""
    return {
        "HEADGATE_REDIS_URL": redis,
        "HEADGATE_STATE": str(options.state),
        "HEADGATE_WEB_PORT": str(options.web_port),
        "HEADGATE_DEMO_PIPELINE": DEMO_NAME if options.demo and not options.unattended else "",
        "PYTHONUNBUFFERED": "1",
    } | _reach(options.state)


def _reach(state: Path) -> dict[str, str]:
    """What pipelines of a machine for trying out may reach: a directory of their own, and this machine's servers."""
    defaults = {
        "HEADGATE_ALLOWED_ROOTS": f"{state}-data,/tmp/headgate-*",
        "HEADGATE_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
    }
    return {name: os.environ.get(name, value) for name, value in defaults.items()}


def _ensure_secret_key(console: Console) -> None:
    """A new installation can store secrets at once; keys that are configured elsewhere are left alone."""
    environment = settings.HEADGATE
    if environment.secret_keys is None and environment.secret_key_file is None and not environment.key_file.exists():
        add_key(environment.key_file)
        console.say(f"Created the secret store's key, {environment.key_file}: keep a copy of it in a safe place.")


def _work(options: Options, stack: Stack, console: Console, interrupt: Interrupt) -> int:
    password = access.ensure_admin()
    if options.unattended:
        if password:
            console.say(f"Created the user {access.ADMIN} with the password {password}")
        return _unattended(options, console, interrupt)
    pipeline = _start_demo(options, stack, interrupt) if options.demo else None
    kafka = None if options.kafka_port is None else options.servers
    shown = {"password": password, "kafka": kafka, "pipeline": pipeline}
    console.say(welcome(web_url(options.web_port), state=options.state, **shown))
    return _stay(options, stack, console, interrupt)


def _stay(options: Options, stack: Stack, console: Console, interrupt: Interrupt) -> int:
    """Until Ctrl-C, which raises Interrupted; in a demo, carry out what the guided demo is asked for."""
    if not options.demo:
        while True:
            interrupt.wait(lambda: False, 3600.0)
    shown = Demo(DEMO_NAME, options.servers)
    broker = None if options.kafka_port is None else options.state / "up" / "kafka.json"

    def arrive(interrupted: Interrupt) -> Site:
        api = Api(web_url(options.web_port), access.fresh_token(), interrupted)
        return Site(api, shown, broker, feed, partial(stack.stop_one, PRODUCER), interrupted)

    def feed(first: int) -> None:
        if not stack.runs(PRODUCER):
            stack.start(shown.producer(rate=options.rate, first=first))

    guide = Guide(DEMO_NAME, arrive, console.say, interrupt)
    try:
        while True:
            guide.turn()
            interrupt.wait(lambda: False, GUIDE_PAUSE)
    finally:
        guide.close()


def _start_demo(options: Options, stack: Stack, interrupt: Interrupt) -> str:
    shown = Demo(DEMO_NAME, options.servers)
    try:
        demo.start(Api(web_url(options.web_port), access.fresh_token(), interrupt), shown)
    except (Refused, RuntimeError, TimeoutError) as error:
        raise SetupError(f"The demo could not be started: {error}", "See the worker's log above.") from error
    stack.start(shown.producer(rate=options.rate))
    return shown.name


def _unattended(options: Options, console: Console, interrupt: Interrupt) -> int:
    api = Api(web_url(options.web_port), access.fresh_token(), interrupt)
    shown = Demo(UNATTENDED_NAME, options.servers, batch=UNATTENDED_BATCH)
    try:
        totals = Unattended(api, shown, console, interrupt, count=options.records, rate=UNATTENDED_RATE).run()
    except (Failed, Refused, RuntimeError, TimeoutError, SetupError) as error:
        console.say(f"FAILED: {error}")
        return 1
    problems = list(totals.problems())
    console.say("\n" + totals.table())
    console.say(
        "FAILED: " + "; ".join(problems) + "." if problems else "No record is missing, and the ledger is balanced."
    )
    return 1 if problems else 0


@contextmanager
def _stopping(options: Options, stack: Stack, console: Console) -> Iterator[None]:
    """Whatever happens in the block: agents first (if that was asked for), while there is an API; then the rest."""
    try:
        yield
    finally:
        try:
            if options.stop_agents and agents.running_pipelines(options.state):
                # A stop that was asked for is under way already: only the second request hurries these waits.
                api = Api(web_url(options.web_port), access.fresh_token(), Interrupt())
                agents.stop_pipelines(api, options.state, console)
        finally:
            stack.stop()
            _account_for_agents(options, console)


def _account_for_agents(options: Options, console: Console) -> None:
    if options.stop_agents:
        agents.end_agents(options.state, console)
    left = sorted(agents.running_pipelines(options.state))
    if left:
        console.say(
            f"The agents of {', '.join(left)} continue without the control plane. The next `headgate up` supervises\n"
            "them again; `headgate up --stop-agents` also ends them when it stops."
        )
    else:
        console.say("Everything has stopped.")
