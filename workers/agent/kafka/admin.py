"""Kafka from the driver's side: options for both clients, and bounded look-ups with librdkafka's admin client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ConsumerGroupDescription, OffsetSpec, ResourceType

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from pipelines.domain.definitions.parts.client_options import PEM_OPTIONS
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import Refused, refuse
from workers.agent.kafka import unreachable
from workers.agent.kafka.advertised import Admission, BrokersRefused
from workers.agent.positions.checkpoint import Offsets

TIMEOUT = 10.0
"""Seconds that one look-up may take."""

Result = TypeVar("Result")
_RETRY = 0.2
_UNENDING = 3600.0
"""Seconds, the most that librdkafka takes."""
NOT_COORDINATED = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}
"""Nobody can say at the moment what a group has committed."""

_NOT_LED = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
"""Nobody can say at the moment where a partition ends: its leader moves, or it was added a moment ago."""

_LIBRDKAFKA_NAMES = {
    "security.protocol": "security.protocol",
    "sasl.mechanism": "sasl.mechanism",
    "sasl.username": "sasl.username",
    "sasl.password": "sasl.password",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.key.password": "ssl.key.password",
    "ssl.cipher.suites": "ssl.cipher.suites",
}
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_TRANSIENT = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._DESTROY,
}

_LASTING = {
    KafkaError._AUTHENTICATION,
    KafkaError._INVALID_ARG,
    KafkaError._UNSUPPORTED_FEATURE,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.ILLEGAL_SASL_STATE,
    KafkaError.INVALID_REQUEST,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.SECURITY_DISABLED,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.UNSUPPORTED_VERSION,
}
"""Refusals that another try meets again."""


def jvm_options(servers: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Options of Spark's Kafka connector. User name and password become a JAAS entry, as the JVM client wants it."""
    given = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}
    for store, text in (("truststore", "certificates"), ("keystore", "certificate.chain")):
        if f"ssl.{store}.{text}" in given:
            given.setdefault(f"ssl.{store}.type", "PEM")
    for key in given.keys() - PEM_OPTIONS:
        if "\n" in given[key] or "\r" in given[key]:
            raise ValueError(f"the value of {key} has a line feed")
    user, password = given.pop("sasl.username", None), given.pop("sasl.password", None)
    if user is not None and password is not None:
        module = _LOGIN_MODULES[given.get("sasl.mechanism", "PLAIN")]
        given["sasl.jaas.config"] = f"{module} required username={_jaas(user)} password={_jaas(password)};"
    return {"kafka.bootstrap.servers": servers, **{f"kafka.{key}": value for key, value in given.items()}}


def _jaas(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def librdkafka_options(servers: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The same connection for librdkafka; settings that only tune the JVM client are left out."""
    connection = {name: str(options[key]) for key, name in _LIBRDKAFKA_NAMES.items() if key in options}
    return {
        "bootstrap.servers": servers,
        "socket.timeout.ms": 5000,
        "socket.connection.setup.timeout.ms": 5000,
        "reconnect.backoff.max.ms": 1000,
        "log_level": 2,
        **connection,
    }


@dataclass(frozen=True)
class Commit:
    """What a consumer group has committed of a partition, with the text that came along."""

    offset: int
    metadata: str = ""


def _patiently(ask: Callable[[float], Result], passing: Collection[int], timeout: float) -> Result:
    """What `ask`, which gets the seconds that are left, answers; errors with a code of `passing` are waited for, as
    long as enough is left for another answer."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return ask(deadline - time.monotonic())
        except KafkaException as error:
            if error.args[0].code() not in passing or time.monotonic() + 2 * _RETRY >= deadline:
                raise
        time.sleep(_RETRY)


class KafkaCluster:
    """Bounded look-ups in one Kafka cluster. KafkaException leaves every method that asks a broker.

    Whatever connects to the cluster, in this process or in the JVM, is configured here: with `reach`, after every
    broker is known to be allowed.
    """

    _known: dict[tuple[tuple[tuple[str, str], ...], ReachPolicy | None], KafkaCluster] = {}
    _lock = threading.Lock()

    @classmethod
    def of(cls, servers: str, options: Mapping[str, Any], reach: ReachPolicy | None) -> KafkaCluster:
        """One client per connection, however many components share it."""
        settings = librdkafka_options(servers, options)
        key = (tuple(sorted((name, str(value)) for name, value in settings.items())), reach)
        with cls._lock:
            return cls._known.setdefault(key, cls(settings, reach))

    def __init__(self, settings: dict[str, Any], reach: ReachPolicy | None) -> None:
        self._settings = settings
        self._reach = reach
        self._admission = Admission(settings, reach)
        self._client: AdminClient | None = None
        self._client_lock = threading.Lock()
        self._ready: dict[str, Consumer] = {}
        self._cause: tuple[float, KafkaError | None] = (0.0, None)

    @property
    def settings(self) -> dict[str, Any]:
        """What a client of librdkafka connects with."""
        self._admission.require()
        return self._settings

    def jvm_options(self, options: Mapping[str, Any]) -> dict[str, str]:
        """What a client of the JVM connects with, by the options of a component."""
        self._admission.require()
        return jvm_options(self._servers, options)

    def out_of_reach(self, path: str) -> list[AgentFinding]:
        """Brokers that may not be reached, as far as is known."""
        try:
            self._admission.require()
        except BrokersRefused as refused:
            return refused.findings(path)
        except KafkaException:
            return []
        return []

    @property
    def _servers(self) -> str:
        return str(self._settings["bootstrap.servers"])

    @property
    def _admin(self) -> AdminClient:
        settings = self.settings
        with self._client_lock:
            if self._client is None:
                self._client = AdminClient(settings, logger=_SILENT)
            return self._client

    def partitions(self, topics: Iterable[str], path: str, operation: str) -> list[TopicPartition]:
        """The partitions of `topics`, sorted. `operation` (READ or WRITE) must be permitted where the broker tells.

        Raises Refused with a finding for each topic that is missing or closed to us, for a cluster that is away, or for
        each of its brokers that may not be reached.
        """
        try:
            admin = self._admin
        except KafkaException as error:
            raise self.refusal(path, ", ".join(topics), error) from error
        futures = admin.describe_topics(
            TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=TIMEOUT
        )
        found: list[TopicPartition] = []
        findings = []
        for topic, future in futures.items():
            try:
                description = future.result(TIMEOUT + 1)
                permitted = {item.name for item in description.authorized_operations or []}
                if permitted and operation not in permitted:
                    raise refuse(
                        path, "NOT_PERMITTED", f"No right to {operation.lower()} the topic {topic}.", "Grant it."
                    )
                found += [TopicPartition(topic, partition.id) for partition in description.partitions]
            except KafkaException as error:
                findings += self.refusal(path, topic, error).findings
            except Refused as refused:
                findings += refused.findings
        if findings:
            raise Refused(*{finding.message: finding for finding in findings}.values())
        return sorted(found)

    def refusal(self, path: str, topic: str, error: KafkaException) -> Refused:
        """What a failed look-up means for a start."""
        if isinstance(error, BrokersRefused):
            return Refused(*error.findings(path))
        reason = error.args[0]
        code = reason.code() if isinstance(reason, KafkaError) else None
        servers = self._servers
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return refuse(
                path,
                "TOPIC_MISSING",
                f"The topic {topic} does not exist on {servers}.",
                "Create it, or correct its name.",
            )
        if code in {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}:
            return refuse(path, "NOT_PERMITTED", f"No right to use the topic {topic} on {servers}.", "Grant it.")
        if code in _NOT_LED:
            message = f"A partition of {topic} has no leader on {servers}: {_text(reason)}."
            return refuse(
                path, "LEADER_MISSING", message, "Check that the brokers of its replicas run.", retryable=True
            )
        if code in _TRANSIENT or reason is self._admission.failure:
            return self._unreachable(path, _text(reason))
        retryable = code not in _LASTING
        return refuse(path, "KAFKA_ERROR", f"Kafka at {servers} refused: {_text(reason)}.", "", retryable=retryable)

    def _unreachable(self, path: str, otherwise: str) -> Refused:
        servers, why = self._servers, self._why()
        if why is not None and unreachable.is_login(why):
            message = f"The brokers {servers} refuse the login: {unreachable.words(why)}."
            return refuse(path, "NOT_PERMITTED", message, "Check the user name, the password and sasl.mechanism.")
        message = f"The brokers {servers} cannot be reached: {unreachable.words(why) if why else otherwise}."
        return refuse(path, "BROKER_UNREACHABLE", message, "Check the address and that a broker runs.", retryable=True)

    def _why(self) -> KafkaError | None:
        """Asked once for all topics of a look-up."""
        if self._admission.failure is not None:
            return self._admission.failure
        until, why = self._cause
        if time.monotonic() > until:
            why = unreachable.cause(self._settings, _SILENT)
            self._cause = (time.monotonic() + TIMEOUT, why)
        return why

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The first offset of each partition that can still be read."""
        return self._offsets(partitions, OffsetSpec.earliest(), TIMEOUT)  # type: ignore[no-untyped-call]

    def latest(self, partitions: Iterable[TopicPartition], timeout: float = TIMEOUT) -> Offsets:
        """The end of each partition."""
        return self._offsets(partitions, OffsetSpec.latest(), timeout)  # type: ignore[no-untyped-call]

    def latest_committed(self, partitions: Iterable[TopicPartition], timeout: float = TIMEOUT) -> Offsets:
        """The end of what is readable with `read_committed`: where the first transaction begins that is still open."""
        spec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return self._offsets(partitions, spec, timeout, isolation_level=IsolationLevel.READ_COMMITTED)

    def at(self, partitions: Iterable[TopicPartition], milliseconds: int) -> Offsets:
        """The first record at or after an instant; partitions without one are left out."""
        return self._offsets(partitions, OffsetSpec.for_timestamp(milliseconds), TIMEOUT)

    def at_each(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """The same with an instant for each partition."""
        return self._listed({key: OffsetSpec.for_timestamp(at) for key, at in times.items()}, TIMEOUT)

    def _offsets(self, partitions: Iterable[TopicPartition], spec: OffsetSpec, timeout: float, **how: Any) -> Offsets:
        return self._listed(dict.fromkeys(partitions, spec), timeout, **how)

    def _listed(
        self, wanted: Mapping[TopicPartition, OffsetSpec], timeout: float, absent: Collection[int] = (), **how: Any
    ) -> Offsets:
        """Offsets by a specification each; a partition that fails with a code of `absent` is left out.

        A leader that is being elected is waited for. An answer of -1 means that nothing was found; it is no offset and
        never leaves this method. Where a leader does not answer in time, librdkafka gives an invalid offset and no
        error (2.16, `rd_kafka_ListOffsets`): that is a timeout here.
        """

        def ask(left: float) -> Offsets:
            try:
                return self._ask(wanted, left, absent, how)
            except KafkaException:
                # After a broker's restart librdkafka's admin client goes on asking with the old leader epoch, for ever.
                self._give_up_client()
                raise

        return _patiently(ask, _NOT_LED, timeout) if wanted else {}

    def _give_up_client(self) -> None:
        """The next look-up begins with another one."""
        with self._client_lock:
            self._client = None

    def _ask(
        self, wanted: Mapping[TopicPartition, OffsetSpec], timeout: float, absent: Collection[int], how: dict[str, Any]
    ) -> Offsets:
        request = {ClientPartition(*key): spec for key, spec in wanted.items()}
        found = {}
        admin = self._admin  # kept: where another thread forgets it meanwhile, its requests would be cancelled
        for at, future in admin.list_offsets(request, request_timeout=timeout, **how).items():
            try:
                offset = future.result(timeout + 1).offset
            except KafkaException as error:
                if error.args[0].code() not in absent:
                    raise
            else:
                if offset == OFFSET_INVALID:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
                if offset >= 0:
                    found[TopicPartition(at.topic, at.partition)] = offset
        return found

    def cluster_id(self) -> str:
        """The id that the cluster was formatted with."""
        return str(self._admin.describe_cluster(request_timeout=TIMEOUT).result(TIMEOUT + 1).cluster_id)

    def topic_ids(self, topics: Iterable[str], timeout: float = TIMEOUT) -> dict[str, str]:
        """The id of each topic that exists; a topic that is made again under its name has another one (KIP-516)."""
        futures = self._admin.describe_topics(TopicCollection(sorted(topics)), request_timeout=timeout)
        found = {}
        for topic, future in futures.items():
            try:
                found[topic] = str(future.result(timeout + 1).topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
        return found

    def commit(self, group: str, positions: list[PartitionPosition], metadata: str = "") -> None:
        """Write positions to a consumer group that nobody joins. A coordinator that is not ready is waited for."""
        offsets = [ClientPartition(at.topic, at.partition, at.offset, metadata) for at in positions]
        _patiently(lambda left: self._commit(group, offsets, left), NOT_COORDINATED, TIMEOUT)

    def _commit(self, group: str, offsets: list[ClientPartition], timeout: float) -> None:
        request = ConsumerGroupTopicPartitions(group, offsets)
        answered = self._of_coordinator(
            lambda admin, **how: admin.alter_consumer_group_offsets([request], **how), timeout
        )
        for answer in answered.topic_partitions:
            if answer.error:
                raise KafkaException(answer.error)

    def _described(self, group: str) -> ConsumerGroupDescription:
        description: ConsumerGroupDescription = self._of_coordinator(
            lambda admin, **how: admin.describe_consumer_groups([group], **how), TIMEOUT
        )
        return description

    def _of_coordinator(self, ask: Callable[..., Mapping[str, Future[Result]]], timeout: float) -> Result:
        """What the coordinator of one group answers within `timeout` seconds.

        librdkafka ends the process when a broker comes back after a request of a coordinator has timed out (2.16:
        `rd_kafka_coord_req_fail` calls with what the timeout has freed). Its requests have no end, therefore: a client
        without an answer is given up, and they with it.
        """
        admin = self._admin
        (future,) = ask(admin, request_timeout=_UNENDING).values()
        with suppress(TimeoutError):
            return future.result(timeout)
        self._give_up_client()
        del admin  # which the error would keep alive: a commit must not arrive late
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def commits(self, group: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Commit]:
        """What a group has committed. Kafka's -1 for "none" is no offset and never leaves this method.

        A coordinator that is not ready is waited for.
        """
        wanted = list(partitions)
        return _patiently(lambda _: self._commits(group, wanted), NOT_COORDINATED, TIMEOUT)

    def _commits(self, group: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Commit]:
        found = {}
        for at in self.answers_of(group, partitions):
            if at.error:
                raise KafkaException(at.error)
            if at.offset >= 0:
                found[TopicPartition(at.topic, at.partition)] = Commit(at.offset, at.metadata or "")
        return found

    def answers_of(self, group: str, partitions: Iterable[TopicPartition]) -> list[ClientPartition]:
        """What the coordinator of a group says of each partition, asked by a consumer that joins nothing.

        The admin client's own call ends the whole process where the coordinator has just moved (librdkafka 5040).
        """
        wanted = [ClientPartition(topic, number) for topic, number in partitions]
        if not wanted:
            return []
        consumer = self._ready.pop(group, None) or self._consumer(group)
        try:
            return list(consumer.committed(wanted, timeout=TIMEOUT))
        finally:
            consumer.close()

    def get_ready_to_ask(self, group: str, about: TopicPartition) -> None:
        """Keep a client that knows who coordinates a group for the next question, which then takes no time: to learn
        that takes a new client half a second. To be called now and then, since connections end; best effort."""
        consumer = self._ready.pop(group, None) or self._consumer(group)
        try:
            consumer.committed([ClientPartition(*about)], timeout=TIMEOUT)
        except KafkaException:
            consumer.close()
        else:
            self._ready[group] = consumer

    def _consumer(self, group: str) -> Consumer:
        return Consumer({**self.settings, "group.id": group, "enable.auto.commit": False})

    def surely_committed(self, group: str, partitions: list[TopicPartition]) -> dict[TopicPartition, Commit]:
        """The same, where a missing commit is not believed at once: it is also the answer while the coordinator moves.

        It is asked for again by another client, once that client has learnt who coordinates the group.
        """
        found = self.commits(group, partitions)
        if missing := [key for key in partitions if key not in found]:
            other = self._another()
            other.find_coordinator(group)
            found |= other.commits(group, missing)
        return found

    def _another(self) -> KafkaCluster:
        return KafkaCluster(self._settings, self._reach)

    def find_coordinator(self, group: str) -> None:
        """Ask who coordinates a group; KafkaException as long as nobody does."""
        self._described(group)

    def topics(self) -> list[str]:
        """The names of all topics that we may see, but for Kafka's own."""
        names = self._admin.list_topics(timeout=TIMEOUT).topics
        return sorted(name for name in names if not name.startswith("__"))

    def settings_of(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The settings of topics by name; those that we may not ask for are left out."""
        wanted = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        futures = self._admin.describe_configs(wanted, request_timeout=TIMEOUT) if wanted else {}
        found = {}
        for resource, future in futures.items():
            with suppress(KafkaException):
                found[resource.name] = {name: entry.value for name, entry in future.result(TIMEOUT + 1).items()}
        return found

    def replicas(self, topics: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """(replicas, replicas in sync) of each partition of the topics that exist."""
        known = self._admin.list_topics(timeout=TIMEOUT).topics
        return {
            topic: [(len(part.replicas), len(part.isrs)) for part in known[topic].partitions.values()]
            for topic in topics
            if topic in known
        }


def _text(reason: Any) -> str:
    return str(reason.str()) if isinstance(reason, KafkaError) else str(reason)


class _Silent:
    """librdkafka complains on standard error for as long as a broker is away; the findings say it once."""

    @staticmethod
    def log(*_: Any) -> None:
        """Drop the line."""


_SILENT = _Silent()
