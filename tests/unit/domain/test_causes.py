"""Errors in words: as the real clients and the JVM write them, without names of classes or raw structures."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import httpx2
import psycopg
import pytest
import redis
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.base.causes import TABLE, explain, explained, sentences

RAW = re.compile(r"KafkaError\{|\[Errno|\b\w+(?:\.\w+)+(?:Error|Exception)\b|^\w+(?:Error|Exception|Timeout)\b")


def kafka(code: int, words: str | None = None) -> KafkaException:
    return KafkaException(KafkaError(code, words) if words else KafkaError(code))


def raised(act: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as found:  # noqa: PT011 - the error is what is looked at
        act()
    return found.value


REFUSED = "The connection was refused"
KAFKA_DOWN = "The connection to the Kafka broker failed"
KAFKA_LATE = "The Kafka broker did not answer in time"
CASES = [
    (kafka(KafkaError._TRANSPORT, "b:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: Connection refused"), KAFKA_DOWN),
    (kafka(KafkaError._ALL_BROKERS_DOWN), "No Kafka broker can be reached"),
    (kafka(KafkaError._RESOLVE), "The name of the Kafka broker cannot be resolved"),
    (kafka(KafkaError._TIMED_OUT), KAFKA_LATE),
    (kafka(KafkaError._MSG_TIMED_OUT), KAFKA_LATE),
    (kafka(KafkaError.REQUEST_TIMED_OUT), KAFKA_LATE),
    (kafka(KafkaError._AUTHENTICATION), "The Kafka broker rejected the log-in"),
    (kafka(KafkaError.SASL_AUTHENTICATION_FAILED), "The Kafka broker rejected the log-in"),
    (kafka(KafkaError._SSL), "The TLS connection to the Kafka broker failed"),
    (kafka(KafkaError.TOPIC_AUTHORIZATION_FAILED), "The Kafka user has no right to the topic"),
    (kafka(KafkaError.GROUP_AUTHORIZATION_FAILED), "The Kafka user has no right to the consumer group"),
    (kafka(KafkaError.CLUSTER_AUTHORIZATION_FAILED), "The Kafka user lacks a right in the cluster"),
    (kafka(KafkaError.UNKNOWN_TOPIC_OR_PART), "The Kafka topic or partition does not exist"),
    (kafka(KafkaError._UNKNOWN_TOPIC), "The Kafka topic or partition does not exist"),
    (kafka(KafkaError.MSG_SIZE_TOO_LARGE), "The record is larger than Kafka accepts"),
    (kafka(KafkaError.NOT_ENOUGH_REPLICAS), "Too few replicas of the Kafka partition are in sync"),
    (kafka(KafkaError.NOT_LEADER_FOR_PARTITION), "The Kafka partition has no leader at the moment"),
    (kafka(KafkaError.NOT_COORDINATOR), "The consumer group has no coordinator at the moment"),
    (kafka(KafkaError.OFFSET_OUT_OF_RANGE), "The offset is not in the Kafka log"),
    (kafka(KafkaError._QUEUE_FULL), "The Kafka producer's buffer is full"),
    (kafka(KafkaError._STATE), "Erroneous state"),
    (KafkaError(KafkaError._TRANSPORT, 'a "quoted" word', True), KAFKA_DOWN),
    ("org.apache.kafka.common.errors.TimeoutException: Topic in not present in metadata after 60000 ms.", KAFKA_LATE),
    ("org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized: [a]", "The Kafka user has no right"),
    (
        "java.lang.RuntimeException: org.apache.kafka.common.errors.RecordTooLargeException: 2000000 bytes",
        "The record is larger than Kafka accepts (2000000 bytes)",
    ),
    ("org.apache.kafka.common.errors.DisconnectException", KAFKA_DOWN),
    (
        "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap.servers",
        "The name of the Kafka broker cannot be resolved",
    ),
    ("java.lang.OutOfMemoryError: Java heap space", "The JVM ran out of memory (Java heap space)"),
    ("java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory", "The JVM cannot start more"),
    ("java.lang.OutOfMemoryError: Metaspace", "The JVM has no room for more classes"),
    ("java.lang.StackOverflowError", "The JVM's stack overflowed"),
    ("java.lang.NoClassDefFoundError: org/apache/spark/Logging", "A Java class is missing"),
    ("java.net.ConnectException: Connection refused", "The connection failed (Connection refused)"),
    ("java.net.UnknownHostException: nowhere", "The host name cannot be resolved (nowhere)"),
    ("java.net.SocketTimeoutException: Read timed out", "The operation timed out (Read timed out)"),
    ("java.io.IOException: No space left on device", "The disk is full"),
    ("py4j.protocol.Py4JNetworkError: Answer from Java side is empty", "The connection between the agent and its JVM"),
    ("ExecutorLostFailure (executor 1 exited caused by one of the running tasks)", "An executor of Spark ended"),
    (psycopg.errors.UndefinedTable('relation "t" does not exist'), "The PostgreSQL table does not exist"),
    (
        psycopg.errors.NotNullViolation('null value in column "a" violates not-null constraint'),
        "A column that must have",
    ),
    (psycopg.errors.UniqueViolation("duplicate key value violates unique constraint"), "A row with this key exists"),
    (psycopg.errors.QueryCanceled("canceling statement due to statement timeout"), "The PostgreSQL statement took"),
    (psycopg.errors.AdminShutdown("terminating connection"), "PostgreSQL starts or stops"),
    (
        psycopg.OperationalError('FATAL: password authentication failed for user "ana"'),
        "PostgreSQL rejected the log-in",
    ),
    (psycopg.OperationalError("FATAL: sorry, too many clients already"), "PostgreSQL has no free connection"),
    (
        redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
        "The memory of Redis is",
    ),
    (redis.exceptions.ConnectionError("Error 111 connecting to 127.0.0.1:1. Refused."), "Redis cannot be reached"),
    (httpx2.ReadTimeout("timed out"), "The server did not answer in time"),
    (httpx2.RemoteProtocolError("Server disconnected without sending a response."), "The server closed the connection"),
    (httpx2.RemoteProtocolError("illegal status line: bytearray(b'garbage')"), "The server's answer is not HTTP"),
    ("Failed to query partition leaders: No leaders found", "No leader of the Kafka partitions can be reached"),
    ("HTTP 401", "The server rejected the log-in"),
    ("HTTP 503", "The server failed"),
    (TimeoutError(), "The operation timed out"),
    ("TimeoutError", "The operation timed out"),
    (BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)), "The connection was closed by the other side"),
    (
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x"),
        "The disk is full (No space left on device: '/data/x')",
    ),
    (OSError(errno.EACCES, os.strerror(errno.EACCES)), "Access is denied"),
    (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "Too many files are open"),
    (OSError(errno.EROFS, os.strerror(errno.EROFS)), "The file system is read-only"),
    (OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH)), "The server cannot be reached over the network"),
    (OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)), "Another process uses the port"),
    (MemoryError(), "There is not enough memory"),
    (EOFError(), "The data ended too early"),
]


@pytest.mark.parametrize(("error", "said"), CASES, ids=lambda each: str(each)[:60] if isinstance(each, str) else "")
def test_a_known_error_is_said_in_words_with_what_to_do(error: BaseException | str, said: str) -> None:
    words = explain(error)
    assert words.startswith(said), words
    assert words.endswith(".")
    assert not RAW.search(words), words
    assert explain(words) == words, "it is not explained twice"


REAL: dict[str, tuple[Callable[[], object], str | tuple[str, ...]]] = {
    "refused": (lambda: socket.create_connection(("127.0.0.1", 1)), REFUSED),
    "no name": (lambda: socket.getaddrinfo("nowhere.invalid", 1), "The host name cannot be resolved"),
    "no file": (lambda: Path("/nowhere/x").read_bytes(), "The file or directory does not exist"),
    "http refused": (lambda: httpx2.get("http://127.0.0.1:1"), REFUSED),
    "http no name": (lambda: httpx2.get("http://nowhere.invalid"), "The host name cannot be resolved"),
    "postgres": (lambda: psycopg.connect("postgres://127.0.0.1:1/x"), "The connection to PostgreSQL failed"),
    "sqlite": (lambda: sqlite3.connect(":memory:").execute("SELECT * FROM nowhere"), "The database has no tables"),
    "kafka": (
        lambda: AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}).list_topics(timeout=0.5),
        (
            "The connection to the Kafka broker failed",
            "The Kafka broker did not answer",
            "No Kafka broker can be reached",
        ),
    ),
}


@pytest.mark.parametrize("case", REAL)
def test_what_real_clients_raise_is_known(case: str) -> None:
    act, said = REAL[case]
    what, advice = explained(raised(act))
    assert what.startswith(said), what
    assert advice
    assert not RAW.search(what), what


@pytest.mark.parametrize("code", [each for each in vars(KafkaError).values() if isinstance(each, int)])
def test_no_code_of_librdkafka_shows_its_structure(code: int) -> None:
    words = explain(kafka(code))
    assert "KafkaError" not in words
    assert "{" not in words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("the sink is away"), "The sink is away."),
        ("sinks.lake: 3 rows are wrong", "sinks.lake: 3 rows are wrong."),
        (KeyError("amount"), "KeyError: 'amount'."),
        (type("StrangeThingError", (Exception,), {})(), "An unexpected error occurred: strange thing."),
        (
            json.JSONDecodeError("Expecting value", "", 0),
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0).",
        ),
        ("the batch INSPECTION_TIMED_OUT_LATER", "The batch INSPECTION_TIMED_OUT_LATER."),
    ],
)
def test_what_is_not_known_is_kept_and_no_class_stands_alone(error: BaseException | str, words: str) -> None:
    assert explain(error) == words


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("SIGTERM", "It is started again in 2 s"), "The process received SIGTERM. It is started again in 2 s."),
        (("the JVM ended with 1", "The next start is in 2 s."), "The JVM ended with 1. The next start is in 2 s."),
        (("Done.", "", None or "", "Really?"), "Done. Really?"),
        (("orders is busy",), "orders is busy."),
        (("a list:",), "A list."),
    ],
)
def test_sentences_are_joined_as_sentences(parts: tuple[str, ...], joined: str) -> None:
    assert sentences(*parts) == joined


@given(st.text())
def test_any_text_is_explained_once(text: str) -> None:
    assert explain(explain(text)) == explain(text) or len(explain(text)) >= 490


def test_every_row_has_a_sentence_and_an_advice() -> None:
    for row in TABLE:
        assert re.fullmatch(r"[A-Z][^.]*[^.:]", row.what), row
        assert re.fullmatch(r"[A-Z].*\.", row.advice), row
