"""The supervisor inside a Celery worker: background loops of the worker itself, which need no broker."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import structlog
from celery import bootsteps
from celery.worker import state as worker_state
from django.conf import settings

from controlplane.install.tools.errors import SetupError
from controlplane.provision.spark import spark_settings as provisioned
from pipelines.domain.access.audit.settings import parse_syslog
from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.hosts.isolation import Isolation
from pipelines.domain.runs.protocol import AgentUser, SparkSettings
from pipelines.foundation import dispatch
from pipelines.foundation.collector import spare_what_stays
from pipelines.foundation.interceptors import allowed_interceptors
from pipelines.services.access.audit import checking, sealing
from pipelines.services.hosts import broker_connection
from pipelines.services.runs.observations import HostFacts
from workers.adapters.broker_server import broker_warnings
from workers.adapters.brokers import KafkaBrokers
from workers.adapters.clock import SystemClock
from workers.adapters.clusters import KafkaClusters
from workers.adapters.filelock import FileLock
from workers.adapters.host_storage import LocalHostStorage
from workers.adapters.isolation.accounts import Accounts, set_up
from workers.adapters.previewers import ChildPreviews
from workers.adapters.process_watch import PidfdWatch
from workers.adapters.processes import HostProcesses
from workers.adapters.push_sources import HttpPushSources
from workers.adapters.receivers.audit import OtlpReceiver, SyslogReceiver
from workers.adapters.receivers.mails import SmtpMails
from workers.adapters.receivers.posts import HttpPosts
from workers.adapters.rundirs import LocalRunDirs
from workers.adapters.secrets import StoredSecrets, backends
from workers.adapters.surveys import ChildSparkClusters, ChildSurveys
from workers.adapters.vault import VaultSecrets
from workers.ports import AuditReceiver, Now, Secrets, SpanExport
from workers.supervisor.background.broker_connection import EXIT_BROKER_UNRESPONSIVE, BrokerConnection, Canary
from workers.supervisor.background.connections import ConnectionTester
from workers.supervisor.background.janitor import Janitor
from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.background.pruning import Limits
from workers.supervisor.background.retry import Replayer, Way
from workers.supervisor.background.secret_versions import SecretVersions
from workers.supervisor.background.sending.attempts import Attempts
from workers.supervisor.background.sending.audit import AuditForwarder
from workers.supervisor.background.sending.deliveries import DeliverySender
from workers.supervisor.background.surveyor import InspectionContext, Surveyor
from workers.supervisor.background.ticker import Ticker
from workers.supervisor.background.tracing import TraceSender
from workers.supervisor.background.watch import watch
from workers.supervisor.launch.launch import Launcher, NotProvisioned
from workers.supervisor.launch.references import References
from workers.supervisor.previewing.peeks import PeekContext
from workers.supervisor.previewing.previewer import PreviewContext, Previewer
from workers.supervisor.previewing.shadows import ShadowContext
from workers.supervisor.previewing.testing import CasesContext
from workers.supervisor.previewing.traces import TraceContext
from workers.supervisor.tick.act import Actor
from workers.supervisor.tick.lease import HostLease
from workers.supervisor.tick.memory import Memory
from workers.supervisor.tick.observe import Observer
from workers.supervisor.tick.reconciling import Reconciler
from workers.supervisor.tick.tick import Supervisor
from workers.wake import CANARIES, CANARY_SECONDS, CONNECT, LOOK, PREVIEW, WAKE
from workers.workflows.runner import Runner

LOCK = "supervisor.lock"
RETRY_LOCK = "replays.lock"
JANITOR_LOCK = "janitor.lock"
INSPECTION_LOCK = "looks.lock"
PREVIEW_LOCK = "previews.lock"
CONNECTION_LOCK = "connections.lock"
WATCH_LOCK = "watch.lock"
DELIVERY_LOCK = "deliveries.lock"
TRACE_LOCK = "traces.lock"
AUDIT_LOCK = "audit.lock"
AUDIT_CHECK_LOCK = "audit_check.lock"
AUDIT_FORWARD_LOCK = "audit_{}.lock"
STOP_TIMEOUT = 15.0

log = structlog.get_logger(__name__)


class SupervisorStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """Starts the background loops before the consumer, and stops them with the worker. Both leave agents alone."""

    requires = {"celery.worker.components:Pool"}

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._loops: Sequence[BackgroundLoop] = ()

    def start(self, parent: Any) -> None:
        """Begin to tick. What a launch needs is looked up beside it, so that hardly a tick has to wait for it."""
        threading.Thread(target=_look_up, name="look-up", daemon=True).start()
        self._loops = background_loops(parent)
        spare_what_stays()
        for loop in self._loops:
            loop.start()

    def stop(self, parent: Any) -> None:
        """End each loop after its present pass; the end of the ticks gives the lease back."""
        for loop in self._loops:
            if not loop.stop(STOP_TIMEOUT):
                log.warning("background_loop_not_stopped", loop=loop.name, seconds=STOP_TIMEOUT)

    terminate = stop


def background_loops(worker: Any) -> Sequence[BackgroundLoop]:
    """Everything that `worker` repeats, in the order in which it is started and stopped."""
    ticks = Ticker(supervisor()).loop(WAKE)
    canaries = canary(worker, partial(_end_unresponsive, ticks))
    loops = [
        canaries,
        ticks,
        replayer(),
        surveyor(),
        previewer(),
        connection_tester(),
        watcher(),
        janitor(),
        delivery_sender(),
        audit_sealer(),
    ]
    loops += [audit_checker(), *audit_forwarders()]
    if (backend := vault()) is not None:
        loops.append(version_watch(backend))
    return [*loops, trace_sender()] if settings.HEADGATE.traces else loops


def _end_unresponsive(ticks: BackgroundLoop, words: str) -> None:
    """A worker that hears nothing does not hear a shutdown either: give the lease back and be gone."""
    log.critical("broker_connection_unresponsive", words=words, exit=EXIT_BROKER_UNRESPONSIVE)
    ticks.stop(STOP_TIMEOUT)
    os._exit(EXIT_BROKER_UNRESPONSIVE)


def supervisor(keeper: tuple[str, ...] | None = None) -> Supervisor:
    """The supervisor of this host, from the settings. `keeper`: another keeper's argv."""
    environment = settings.HEADGATE
    processes = HostProcesses(keeper) if keeper else HostProcesses()
    rundirs, memory, clock = LocalRunDirs(environment.state), Memory(), SystemClock()
    facts = HostFacts(
        name=environment.host,
        state_dir=str(environment.state),
        version=version("headgate"),
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        owner=processes.current().model_dump(),
        slots=environment.slots,
        memory_limit=environment.memory,
        isolation=agent_accounts()[1].stored(),
    )
    return Supervisor(
        host=environment.host,
        clock=clock,
        processes=processes,
        lease=HostLease(facts, FileLock(environment.state / LOCK), processes),
        observer=Observer(processes, rundirs, memory, environment.disk_margin),
        actor=Actor(processes, rundirs, launcher(), memory),
        workflows=Runner(environment.host, rundirs),
        ends=PidfdWatch(WAKE.set),
    )


def launcher() -> Launcher:
    """What makes launches of this host's pipelines."""
    environment = settings.HEADGATE
    return Launcher(
        host=environment.host,
        state_dir=environment.state,
        references=references(),
        spark=spark_settings,
        interceptors=allowed_interceptors(environment.interceptors),
        interceptor_path=tuple(environment.interceptor_path),
        user=agent_user,
    )


@cache
def agent_accounts() -> tuple[Accounts | None, Isolation]:
    """The users of this host's agents, as found when the worker started."""
    environment = settings.HEADGATE
    needed = list(environment.interceptor_path)
    with suppress(NotProvisioned):
        spark = spark_settings()
        needed += [*spark.classpath, *([spark.archive] if spark.archive else [])]
        needed += [f"{spark.java_home}/bin/java"] if spark.java_home else []
    accounts, isolation = set_up(environment.state, environment.agent_uids, environment.agents_gid, needed)
    log.info("agents_isolation", state=isolation.state.value, detail=isolation.detail)
    return accounts, isolation


def agent_user(pipeline: str, pipeline_id: str) -> AgentUser | None:
    """Whom agents of a pipeline run as. Raises NotProvisioned where they must not run as the worker's user."""
    accounts, isolation = agent_accounts()
    if accounts is not None:
        return accounts.of(pipeline, pipeline_id) if pipeline else None
    uids = settings.HEADGATE.agent_uids
    if uids is not None and uids.required:
        raise NotProvisioned(
            f"HEADGATE_AGENT_UIDS is set, and this host cannot do it. {isolation.detail}", isolation.hint
        )
    return None


def surveyor() -> BackgroundLoop:
    """Looks at the positions of this host's pipelines."""
    environment = settings.HEADGATE
    context = InspectionContext(environment.host, launcher(), ChildSurveys())
    return Surveyor(context).loop(FileLock(environment.state / INSPECTION_LOCK), LOOK)


def previewer() -> BackgroundLoop:
    """Runs revisions on real records of this host's pipelines and on those of tests, traces single ones, and shows
    some."""
    environment = settings.HEADGATE
    shared = (environment.host, launcher(), ChildPreviews())
    contexts = (
        PeekContext(*shared),
        TraceContext(*shared),
        CasesContext(*shared),
        PreviewContext(*shared),
        ShadowContext(*shared),
    )
    return Previewer(shared[2], contexts).loop(FileLock(environment.state / PREVIEW_LOCK), PREVIEW)


def connection_tester() -> BackgroundLoop:
    """Tests whether this host reaches Spark clusters."""
    environment = settings.HEADGATE
    made = ConnectionTester(environment.host, references(), ChildSparkClusters())
    return made.loop(FileLock(environment.state / CONNECTION_LOCK), CONNECT)


def replayer() -> BackgroundLoop:
    """Sends dead letters of this host's pipelines back."""
    environment = settings.HEADGATE
    way = Way(environment.host, KafkaClusters(), HttpPushSources(), references())
    return Replayer(way).loop(FileLock(environment.state / RETRY_LOCK))


def janitor() -> BackgroundLoop:
    """Removes files of this host that nobody needs any more."""
    environment = settings.HEADGATE
    limits = Limits(
        runs=timedelta(days=environment.run_days),
        run_bytes=environment.run_bytes,
        checkpoints=timedelta(days=environment.checkpoint_days),
    )
    reconciler = Reconciler(LocalRunDirs(environment.state), HostProcesses())
    host_storage = LocalHostStorage(environment.state)
    made = Janitor(environment.host, host_storage, limits, SystemClock(), reconciler.notice_all)
    return made.loop(FileLock(environment.state / JANITOR_LOCK))


def canary(worker: Any, unresponsive: Callable[[str], None]) -> BackgroundLoop:
    """Finds out whether `worker` hears on each of its queues."""
    environment = settings.HEADGATE

    def send(queue: str, sent_at: float) -> None:
        dispatch.send_now(
            "workers.canary", queue=queue, expires=CANARY_SECONDS, args=[environment.host, queue, sent_at]
        )

    def busy() -> bool:
        return len(worker_state.reserved_requests | worker_state.active_requests) >= int(worker.concurrency)

    def report(state: BrokerConnection, words: str, round_trip: float | None, now: Now) -> None:
        broker_connection.record(
            host=environment.host,
            state=state.value,
            words=words,
            round_trip=round_trip,
            now=now.wall,
            warnings=broker_warnings(),
        )

    queues = sorted(worker.app.amqp.queues.consume_from)
    made = Canary(queues, clock=SystemClock(), send=send, busy=busy, report=report, unresponsive=unresponsive)
    CANARIES.listener = made.received
    return made.loop()


def watcher() -> BackgroundLoop:
    """Watches lag, alerts and consumer groups for this host."""
    environment = settings.HEADGATE
    made = watch(environment.host, environment.state, KafkaBrokers(), references())
    return made.loop(FileLock(environment.state / WATCH_LOCK))


def delivery_sender() -> BackgroundLoop:
    """Sends messages to receivers, beside the senders of other hosts."""
    environment = settings.HEADGATE
    reach = environment.webhook_reach
    attempts = Attempts(HttpPosts(reach), SmtpMails(reach), environment.mail_server, reach)
    secrets = StoredSecrets(environment.keyring, Purpose.RECEIVERS)
    sender = DeliverySender(attempts, secrets, public_url=environment.public_url)
    return sender.loop(FileLock(environment.state / DELIVERY_LOCK))


def audit_sealer() -> BackgroundLoop:
    """Seals the audit, beside the sealers of other hosts: one of them advances the head."""
    environment = settings.HEADGATE
    turn = sealing.sealing_pass(lambda: environment.signer)
    lock = FileLock(environment.state / AUDIT_LOCK)
    return BackgroundLoop("audit", turn, pause=sealing.INTERVAL, slowest=sealing.REFUSED_INTERVAL, lock=lock)


def audit_checker() -> BackgroundLoop:
    """Checks what was sealed."""
    environment = settings.HEADGATE
    turn = checking.Walk(lambda: environment.signer).turn
    lock = FileLock(environment.state / AUDIT_CHECK_LOCK)
    return BackgroundLoop("audit-check", turn, pause=checking.INTERVAL, slowest=checking.RETRY_INTERVAL, lock=lock)


def audit_forwarders() -> list[BackgroundLoop]:
    """One for each destination, beside those of other hosts: one of them holds it."""
    environment = settings.HEADGATE
    receivers: dict[str, AuditReceiver] = {}
    if environment.audit_syslog:
        target, authorities = parse_syslog(environment.audit_syslog), environment.audit_syslog_ca
        receivers["syslog"] = SyslogReceiver(target, host=environment.host, authorities=authorities)
    if environment.audit_otlp:
        headers, release = environment.otlp_headers, version("headgate")
        receivers["otlp"] = OtlpReceiver(environment.otlp_address, headers, host=environment.host, version=release)
    return [
        AuditForwarder(name, receiver, environment.host).loop(
            FileLock(environment.state / AUDIT_FORWARD_LOCK.format(name))
        )
        for name, receiver in receivers.items()
    ]


def trace_sender() -> BackgroundLoop:
    """Exports the traces of this host."""
    environment = settings.HEADGATE
    made = TraceSender(environment.host, LocalRunDirs(environment.state), _otlp)
    return made.loop(FileLock(environment.state / TRACE_LOCK))


def _otlp() -> SpanExport:
    """What it imports is there only where the extra `otel` is installed."""
    from workers.adapters.otlp import OtlpSpans

    return OtlpSpans(os.environ)


def references() -> References:
    """What references of definitions see on this host."""
    environment = settings.HEADGATE
    variables = {name: os.environ[name] for name in environment.env_references if name in os.environ}
    known = backends(
        variables,
        environment.file_references,
        StoredSecrets(environment.keyring),
        StoredSecrets(environment.keyring, Purpose.CLUSTERS),
        vault(),
    )
    return References(known, development=environment.development)


@cache
def vault() -> Secrets | None:
    """Vault, where this host has one."""
    environment = settings.HEADGATE
    return VaultSecrets(environment) if environment.vault_addr else None


def version_watch(backend: Secrets) -> BackgroundLoop:
    """Notices new versions of what runs of this host were given from Vault."""
    return SecretVersions(settings.HEADGATE.host, "vault", backend).loop()


def _look_up() -> None:
    with suppress(NotProvisioned):
        spark_settings()


@cache
def spark_settings() -> SparkSettings:
    """What an agent's JVM needs of this host. Raises NotProvisioned with the command that helps."""
    try:
        return provisioned().model_copy(update={"kafka_reader": settings.HEADGATE.kafka_reader})
    except SetupError as error:
        raise NotProvisioned(error.message, error.hint) from error
