"""What went wrong, in words: the errors of clients, JVM, databases and operating system, each with what to do.

Pure: an error is recognized by the name of its class, its code or its text, whoever raised it; no driver is imported.
A text that no row knows stays as it is. A text that was explained before is not explained again.
"""

from __future__ import annotations

import errno
import re
from functools import cache
from typing import NamedTuple

LONGEST = 500


class Row(NamedTuple):
    """`known`: a pattern of the raw error, as `Class: message` or `CODE: message`."""

    known: str
    what: str
    advice: str


_BROKER = "Check that the broker runs and that this host can reach its address."
_CREDENTIALS = "Check user name, password and security.protocol."
_SERVER = "Check that the server runs and that this host can reach its address."
_LISTENER = "Check the address, and the advertised listeners of the brokers."
_FREE = "Free space or add some."
_HEAP = "Raise placement.launcher.driver_memory, or lower the size of a batch."
_DNS = "Check the host name and the name server of this host."
_CLUSTER = "Check the brokers of the cluster; Headgate retries."
_SCHEMA = "Compare the table's columns with the sink's definition."
_DATA = "Correct the record, or the column's type."
_OVERLOAD = "Headgate retries; if it stays, look at the load of the server."
_LOG = "See the agent's log."

KAFKA = (
    Row(
        r"_TRANSPORT|_FAIL\b|NetworkException|DisconnectException", "The connection to the Kafka broker failed", _BROKER
    ),
    Row(r"_ALL_BROKERS_DOWN", "No Kafka broker can be reached", _BROKER),
    Row(r"No leaders found", "No leader of the Kafka partitions can be reached", _BROKER),
    Row(r"_RESOLVE|No resolvable bootstrap", "The name of the Kafka broker cannot be resolved", _DNS),
    Row(
        r"_MSG_TIMED_OUT|_TIMED_OUT|REQUEST_TIMED_OUT|kafka\S*TimeoutException"
        r"|TimeoutException: .*(?:[Tt]opic|metadata|node assign)",
        "The Kafka broker did not answer in time",
        _BROKER,
    ),
    Row(
        r"_AUTHENTICATION|SASL_AUTHENTICATION_FAILED|SaslAuthenticationException",
        "The Kafka broker rejected the log-in",
        _CREDENTIALS,
    ),
    Row(
        r"_SSL\b|SslAuthenticationException|SSLHandshakeException",
        "The TLS connection to the Kafka broker failed",
        "Check the certificates, and that the port of the broker speaks TLS.",
    ),
    Row(
        r"TOPIC_AUTHORIZATION_FAILED|TopicAuthorizationException",
        "The Kafka user has no right to the topic",
        "Grant READ on topics of sources and WRITE on topics of sinks.",
    ),
    Row(
        r"GROUP_AUTHORIZATION_FAILED|GroupAuthorizationException",
        "The Kafka user has no right to the consumer group",
        "Grant READ on the group.",
    ),
    Row(
        r"CLUSTER_AUTHORIZATION_FAILED|ClusterAuthorizationException|TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "The Kafka user lacks a right in the cluster",
        "Grant it, or use another user.",
    ),
    Row(
        r"UNKNOWN_TOPIC_OR_PART|_UNKNOWN_TOPIC|_UNKNOWN_PARTITION|UnknownTopicOrPartitionException",
        "The Kafka topic or partition does not exist",
        "Create the topic, or correct its name.",
    ),
    Row(
        r"MSG_SIZE_TOO_LARGE|RECORD_LIST_TOO_LARGE|RecordTooLargeException|RecordBatchTooLargeException",
        "The record is larger than Kafka accepts",
        "Raise max.message.bytes of the topic and max.request.size of the sink.",
    ),
    Row(
        r"NOT_ENOUGH_REPLICAS|NotEnoughReplicas\w*Exception",
        "Too few replicas of the Kafka partition are in sync",
        _CLUSTER,
    ),
    Row(
        r"LEADER_NOT_AVAILABLE|NOT_LEADER_FOR_PARTITION|NotLeaderOrFollowerException|LeaderNotAvailableException"
        r"|FENCED_LEADER_EPOCH|UNKNOWN_LEADER_EPOCH",
        "The Kafka partition has no leader at the moment",
        _CLUSTER,
    ),
    Row(
        r"COORDINATOR_NOT_AVAILABLE|COORDINATOR_LOAD_IN_PROGRESS|NOT_COORDINATOR\b|CoordinatorNotAvailableException"
        r"|NotCoordinatorException|CoordinatorLoadInProgressException",
        "The consumer group has no coordinator at the moment",
        _CLUSTER,
    ),
    Row(
        r"OFFSET_OUT_OF_RANGE|OffsetOutOfRangeException|_AUTO_OFFSET_RESET",
        "The offset is not in the Kafka log",
        "Compare the positions: headgate positions show.",
    ),
    Row(
        r"ProducerFencedException|InvalidProducerEpochException|PRODUCER_FENCED|INVALID_PRODUCER_EPOCH|_FENCED\b",
        "Another producer has taken over the transactional id",
        "Check that the pipeline runs once.",
    ),
    Row(
        r"KafkaStorageException|KAFKA_STORAGE_ERROR",
        "The Kafka broker cannot use its disk",
        "Check the disks of the broker.",
    ),
    Row(
        r"_QUEUE_FULL|BufferExhaustedException",
        "The Kafka producer's buffer is full",
        "The broker is slower than the source; check its load.",
    ),
    Row(r"_MAX_POLL_EXCEEDED", "The Kafka consumer was away from its group for too long", _CLUSTER),
    Row(
        r"UNSUPPORTED_VERSION|UnsupportedVersionException",
        "The Kafka broker does not know this request",
        "Use a broker of version 2.1 or newer.",
    ),
    Row(
        r"INVALID_CONFIG|POLICY_VIOLATION|PolicyViolationException|kafka\S*ConfigException|_INVALID_ARG",
        "Kafka refused an option",
        "Check the options of the component.",
    ),
)
REDIS = (
    Row(
        r"OOM command not allowed|redis\S*OutOfMemoryError|used memory > 'maxmemory'",
        "The memory of Redis is full",
        "Give it more memory (maxmemory), or find out what fills it.",
    ),
    Row(r"Error \d+ connecting to|redis\S*ConnectionError|redis\S*TimeoutError", "Redis cannot be reached", _SERVER),
)
JVM = (
    Row(
        r"OutOfMemoryError: unable to create (?:new )?native thread",
        "The JVM cannot start more threads",
        "Raise the limit of processes of the user, or run fewer pipelines on this host.",
    ),
    Row(
        r"OutOfMemoryError: Metaspace",
        "The JVM has no room for more classes",
        "Restart the pipeline; raise -XX:MaxMetaspaceSize where it is set.",
    ),
    Row(r"OutOfMemoryError", "The JVM ran out of memory", _HEAP),
    Row(
        r"StackOverflowError", "The JVM's stack overflowed", "Look for records or patterns that are nested very deeply."
    ),
    Row(r"UnsupportedClassVersionError", "The Java runtime is too old", "Install Java 17 or newer, and set JAVA_HOME."),
    Row(
        r"NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError",
        "A Java class is missing or has another version",
        "Run `headgate setup` again; on a cluster check that Spark has the same version.",
    ),
    Row(
        r"Py4JNetworkError|Answer from Java side is empty|Py4JConnectionError",
        "The connection between the agent and its JVM broke",
        "The JVM has ended; its log says why.",
    ),
    Row(
        r"ExecutorLostFailure|Remote RPC client disassociated|SparkOutOfMemoryError",
        "An executor of Spark ended",
        "Check the executor's log; raise its memory where it was killed.",
    ),
    Row(
        r"FetchFailed",
        "An executor of Spark cannot read the data of another one",
        "Check the executors and the network between them.",
    ),
    Row(
        r"Python worker (?:exited|failed|has crashed)",
        "A Python worker of Spark ended",
        "Look for an interceptor that ends its process or uses too much memory.",
    ),
    Row(r"bigger than spark\.driver\.maxResultSize", "The result of a batch is too large for the driver", _HEAP),
    Row(r"All masters are unresponsive|Master removed our application", "The Spark master does not answer", _SERVER),
    Row(r"java\.net\.UnknownHostException|UnresolvedAddressException", "The host name cannot be resolved", _DNS),
    Row(r"java\.net\.(?:ConnectException|NoRouteToHostException|SocketException)", "The connection failed", _SERVER),
    Row(r"SocketTimeoutException|java\.util\.concurrent\.TimeoutException", "The operation timed out", _SERVER),
    Row(
        r"java\.nio\.file\.(?:NoSuchFileException)|java\.io\.FileNotFoundException",
        "The file does not exist",
        "Check the path and the rights of the agent's user.",
    ),
    Row(r"java\.nio\.file\.AccessDeniedException", "Access is denied", "Check the rights of the agent's user."),
)
POSTGRES = (
    Row(
        r"password authentication failed|InvalidPassword|InvalidAuthorizationSpecification|no password supplied",
        "PostgreSQL rejected the log-in",
        "Check user name and password.",
    ),
    Row(r"no pg_hba\.conf entry", "PostgreSQL does not admit this host", "Add this host to pg_hba.conf, or use TLS."),
    Row(
        r"database \"[^\"]*\" does not exist|InvalidCatalogName",
        "The PostgreSQL database does not exist",
        "Create it, or correct its name.",
    ),
    Row(r"role \"[^\"]*\" does not exist", "The PostgreSQL user does not exist", "Create it, or correct its name."),
    Row(
        r"too many clients|remaining connection slots|TooManyConnections",
        "PostgreSQL has no free connection",
        "Raise max_connections, or close idle clients.",
    ),
    Row(
        r"the database system is (?:starting up|shutting down|in recovery)|(?:Admin|Crash)Shutdown|CannotConnectNow",
        "PostgreSQL starts or stops",
        "Headgate retries.",
    ),
    Row(
        r"UndefinedTable|relation \"[^\"]*\" does not exist",
        "The PostgreSQL table does not exist",
        "Create it, or correct its name.",
    ),
    Row(r"UndefinedColumn|column \"[^\"]*\" .*does not exist", "The PostgreSQL column does not exist", _SCHEMA),
    Row(
        r"InsufficientPrivilege|permission denied for",
        "The PostgreSQL user has no right to do this",
        "Grant INSERT, UPDATE and SELECT on the table.",
    ),
    Row(r"NotNullViolation|violates not-null", "A column that must have a value got none", _DATA),
    Row(
        r"UniqueViolation|violates unique constraint",
        "A row with this key exists already",
        "Use `mode: upsert`, or correct the key.",
    ),
    Row(
        r"ForeignKeyViolation|CheckViolation|violates (?:foreign key|check)",
        "The row breaks a constraint of the table",
        _DATA,
    ),
    Row(r"StringDataRightTruncation|value too long for type", "A text is too long for its column", _DATA),
    Row(r"NumericValueOutOfRange|out of range for type", "A number is too large for its column", _DATA),
    Row(
        r"InvalidTextRepresentation|invalid input syntax|DatatypeMismatch|InvalidDatetimeFormat",
        "A value does not have the type of its column",
        _DATA,
    ),
    Row(r"psycopg\S*DiskFull|could not extend file", "The disk of PostgreSQL is full", _FREE),
    Row(
        r"LockNotAvailable|canceling statement due to lock timeout", "PostgreSQL did not get a lock in time", _OVERLOAD
    ),
    Row(
        r"QueryCanceled|canceling statement due to statement timeout",
        "The PostgreSQL statement took too long",
        _OVERLOAD,
    ),
    Row(
        r"DeadlockDetected|SerializationFailure|deadlock detected",
        "PostgreSQL ended the transaction in favour of another one",
        _OVERLOAD,
    ),
    Row(
        r"ReadOnlySqlTransaction|read-only transaction",
        "The PostgreSQL server is read-only",
        "Use the address of the primary.",
    ),
    Row(r"connection timeout expired|psycopg\S*ConnectionTimeout", "PostgreSQL did not answer in time", _SERVER),
    Row(
        r"connection to server at|server closed the connection|the connection is (?:lost|closed)"
        r"|consuming input failed",
        "The connection to PostgreSQL failed",
        _SERVER,
    ),
    Row(r"database is locked|database table is locked", "The SQLite database is locked", "Headgate retries."),
    Row(r"no such table", "The database has no tables of this version", "Run `headgate migrate-db`."),
)
HTTP = (
    Row(
        r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError",
        "The server's certificate is not trusted",
        "Check the certificate, its name, and the authorities that this host trusts.",
    ),
    Row(
        r"SSLError|SSLZeroReturnError|WRONG_VERSION_NUMBER|SSLEOFError",
        "The TLS connection failed",
        "Check that the port speaks TLS, and the certificates.",
    ),
    Row(r"ConnectTimeout\b", "The server did not answer in time", _SERVER),
    Row(r"ReadTimeout\b|WriteTimeout\b|PoolTimeout\b", "The server did not answer in time", _OVERLOAD),
    Row(
        r"illegal (?:status line|request line|header|chunk)|BadStatusLine|InvalidChunkLength",
        "The server's answer is not HTTP",
        "Check the address, the port, and whether it speaks TLS.",
    ),
    Row(
        r"RemoteProtocolError|RemoteDisconnected|IncompleteRead|Server disconnected",
        "The server closed the connection without an answer",
        _OVERLOAD,
    ),
    Row(
        r"\b(?:HTTP|status) ?(?:code )?401\b|401 Unauthorized",
        "The server rejected the log-in",
        "Check the credentials.",
    ),
    Row(
        r"\b(?:HTTP|status) ?(?:code )?403\b|403 Forbidden",
        "The server refused access",
        "Check the rights of the user.",
    ),
    Row(
        r"\b(?:HTTP|status) ?(?:code )?404\b|404 Not Found", "The server has nothing at this address", "Check the path."
    ),
    Row(
        r"\b(?:HTTP|status) ?(?:code )?413\b|413 (?:Payload|Request|Content)",
        "The request is too large for the server",
        "Lower the size of a batch, or raise the server's limit.",
    ),
    Row(
        r"\b(?:HTTP|status) ?(?:code )?429\b|429 Too Many",
        "The server limits the rate of requests",
        "Headgate retries; lower the rate if it stays.",
    ),
    Row(
        r"\b(?:HTTP|status) ?(?:code )?5\d\d\b|50[0-4] (?:Internal|Not Impl|Bad Gate|Service|Gateway)",
        "The server failed",
        "Headgate retries; see the server's log.",
    ),
)
SYSTEM = (
    Row(
        r"gaierror|Name or service not known|[Nn]ame resolution|nodename nor servname|No address associated",
        "The host name cannot be resolved",
        _DNS,
    ),
    Row(r"ENOSPC|No space left on device", "The disk is full", _FREE),
    Row(r"EDQUOT|Disk quota exceeded", "The quota of the disk is used up", _FREE),
    Row(
        r"EACCES|EPERM|PermissionError|Permission denied|Operation not permitted",
        "Access is denied",
        "Check the rights of Headgate's user.",
    ),
    Row(
        r"EROFS|Read-only file system",
        "The file system is read-only",
        "Mount it writable; look for errors of the disk.",
    ),
    Row(r"\bEIO\b|Input/output error", "The disk cannot be read or written", "Look for errors of the disk."),
    Row(r"EMFILE|ENFILE|Too many open files", "Too many files are open", "Raise the limit of open files (ulimit -n)."),
    Row(
        r"ENOMEM|MemoryError|Cannot allocate memory",
        "There is not enough memory",
        "Add memory, or run fewer pipelines on this host.",
    ),
    Row(r"ECONNREFUSED|ConnectionRefusedError|Connection refused", "The connection was refused", _SERVER),
    Row(
        r"ECONNRESET|EPIPE|BrokenPipeError|ConnectionResetError|ConnectionAbortedError|Connection reset|Broken pipe",
        "The connection was closed by the other side",
        _SERVER,
    ),
    Row(
        r"EHOSTUNREACH|ENETUNREACH|No route to host|Network is unreachable",
        "The server cannot be reached over the network",
        "Check the address, routes and firewalls.",
    ),
    Row(
        r"EADDRINUSE|Address already in use",
        "Another process uses the port",
        "End that process, or choose another port.",
    ),
    Row(
        r"ENOENT|FileNotFoundError|No such file or directory", "The file or directory does not exist", "Check the path."
    ),
    Row(r"ENOTDIR|EISDIR|NotADirectoryError|IsADirectoryError", "The path is of the wrong kind", "Check the path."),
    Row(
        r"ETIMEDOUT|(?:^|\b)Timeout(?:Error|Expired|Exception)?\b|CancelledError|Connection timed out|socket\.timeout",
        "The operation timed out",
        _SERVER,
    ),
    Row(r"ConnectError|ConnectionError", "The connection failed", _SERVER),
    Row(r"EOFError|IncompleteReadError", "The data ended too early", _LOG),
)
TABLE = (*KAFKA, *REDIS, *JVM, *POSTGRES, *HTTP, *SYSTEM)
_CODE = re.compile(r"(?:(?<=\|)|^)_")
_STARTS = tuple(row.what for row in TABLE)

_STRUCT = re.compile(r'KafkaError\{(?:\w+,)*code=(?P<code>\w+),val=-?\d+,str="(?P<text>.*?)"\}', re.DOTALL)
_ERRNO = re.compile(r"\[Errno (?P<number>-?\d+)\] ?")
_CLASS = re.compile(
    r"^(?P<name>(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Timeout|Expired|Failure|Violation|Interrupt))(?::\s*|$)"
)
_LOCAL = re.compile(r"^(?:Local|Broker): ")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FIRST_WORDS = frozenset({"a", "an", "another", "it", "its", "no", "the", "there", "this"})
"""Those that can only begin a sentence: others may be names."""
_GENERIC = frozenset({"Error", "Exception", "RuntimeError", "RuntimeException", "OSError", "IOException", "ValueError"})
_SIGNAL = re.compile(r"^SIG[A-Z]+$")
_SUFFIX = re.compile(r" (?:error|exception)$")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Row], ...]:
    """Compiled when the first error is explained: most commands of the command line explain none."""
    return tuple((re.compile(_CODE.sub(r"(?<!\\w)_", row.known)), row) for row in TABLE)


def explain(error: BaseException | str) -> str:
    """What went wrong and what to do: sentences for people, without names of classes where there are better ones."""
    found = explained(error)
    return sentences(*found)[:LONGEST]


def explained(error: BaseException | str) -> tuple[str, str]:
    """The two parts of it; no advice where no row knows the error."""
    raw = error if isinstance(error, str) else _raw(error)
    raw = " ".join(raw.split())
    if raw.startswith(_STARTS):
        return raw, ""
    coded = _STRUCT.sub(lambda found: f"{found['code']}: {_LOCAL.sub('', found['text'])}", raw)
    subject = _ERRNO.sub(_named, coded)
    row = next((row for pattern, row in _patterns() if pattern.search(subject)), None)
    if row is None:
        return _unknown(raw, coded), ""
    detail = _detail(raw)
    return (f"{row.what} ({detail})" if detail and detail.lower() not in row.what.lower() else row.what), row.advice


def sentences(*parts: object) -> str:
    """Join parts of a text: each begins as a sentence and ends with a full stop."""
    return " ".join(_sentence(text) for part in parts if (text := " ".join(str(part).split())))


def _sentence(text: str) -> str:
    if _SIGNAL.fullmatch(text):
        text = f"The process received {text}"
    first, space, _ = text.partition(" ")
    if space and first in _FIRST_WORDS:
        text = f"{text[0].upper()}{text[1:]}"
    return text if text.endswith((".", "!", "?", "…")) else f"{text.rstrip(';:, ')}."


def _raw(error: BaseException) -> str:
    """`Class: message`, as a traceback ends; of a class that only wraps another one, that."""
    message = str(error).strip()
    if isinstance(error, OSError) and error.errno is not None and "[Errno" not in message:
        message = f"[Errno {error.errno}] {message}"
    kind = type(error)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    if _STRUCT.search(message) or (message and kind.__name__ in ("Exception", "RuntimeError", "KafkaException")):
        return message
    return f"{name}: {message}" if message else name


def _named(found: re.Match[str]) -> str:
    number = int(found["number"])
    return "gaierror: " if number < 0 else f"{errno.errorcode.get(number, '')}: "


def _detail(raw: str) -> str:
    """The error's own words, without class, code and number."""
    if struct := _STRUCT.search(raw):
        words = _LOCAL.sub("", struct["text"])
    else:
        words = raw
        while (prefix := _CLASS.match(words)) is not None and prefix.end():
            words = words[prefix.end() :]
    words = _ERRNO.sub("", words).strip().rstrip(".")
    return "" if _CLASS.fullmatch(words) else words


def _unknown(raw: str, coded: str) -> str:
    if struct := _STRUCT.search(raw):
        return _STRUCT.sub(lambda found: _LOCAL.sub("", found["text"]), raw) if struct["text"] else coded
    bare = _CLASS.fullmatch(raw)
    if bare is None:
        return raw
    name = bare["name"].rsplit(".", 1)[-1]
    if name in _GENERIC:
        return "An unexpected error occurred, and says nothing about itself"
    words = _CAMEL.sub(" ", name).lower()
    return f"An unexpected error occurred: {_SUFFIX.sub('', words)}"
