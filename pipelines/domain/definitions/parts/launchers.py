"""What runs an agent's Spark: the agent's own JVM, or the executors of a cluster that exists already."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Tag

from pipelines.domain.base.findings import did_you_mean, quote
from pipelines.domain.base.values import DirectoryPath, DriverMemory, Duration, Syntax, refuse
from pipelines.domain.definitions.parts.component import Spec, field
from pipelines.domain.definitions.parts.registry import TAG_MARK

_HOST = r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}))"
_ENVIRONMENT = r"\$\{env:[A-Za-z0-9][A-Za-z0-9._/-]{0,127}\}"
_MASTER = re.compile(
    rf"spark://{_HOST}:[0-9]{{1,5}}(?:,{_HOST}:[0-9]{{1,5}})*|k8s://https?://{_HOST}(?::[0-9]{{1,5}})?|yarn|{_ENVIRONMENT}"
)


def _master(value: str) -> str:
    if value.startswith("local"):
        refuse("bad_master", "A local master is not a cluster.", "Use launcher type local.")
    if not _MASTER.fullmatch(value):
        refuse(
            "bad_master",
            f"{quote(value)} is not the master of a cluster.",
            'Write "spark://host:7077" (several as "spark://a:7077,b:7077"), "k8s://https://host:6443", or "yarn".',
        )
    return value


Master = Annotated[str, AfterValidator(_master)]
HostAddress = Annotated[
    str, Syntax("bad_address", rf"{_HOST}|{_ENVIRONMENT}", "Write a host name or an IP address, or ${env:NAME}.")
]
WebAddress = Annotated[
    str, Syntax("bad_address", rf"https?://{_HOST}(?::[0-9]{{1,5}})?/?|{_ENVIRONMENT}", 'Write "http://host:8080".')
]
Executable = Annotated[
    str, Syntax("invalid_path", r"/[A-Za-z0-9._/+-]{1,1023}", "Use the absolute path of an interpreter.")
]
ClusterSecret = Annotated[
    str,
    Syntax("literal_secret", r"\$\{secret:[^}]+\}|[^\s$]{16,256}", 'Store it as a secret and write "${secret:NAME}".'),
]

SETTINGS = frozenset(
    {
        "spark.executor.memoryOverhead",
        "spark.executor.memoryOverheadFactor",
        "spark.executor.pyspark.memory",
        "spark.memory.fraction",
        "spark.locality.wait",
        "spark.rpc.message.maxSize",
        "spark.port.maxRetries",
        "spark.kubernetes.authenticate.executor.serviceAccountName",
        "spark.kubernetes.container.image",
        "spark.kubernetes.container.image.pullPolicy",
        "spark.kubernetes.container.image.pullSecrets",
        "spark.kubernetes.context",
        "spark.kubernetes.driver.pod.name",
        "spark.kubernetes.executor.limit.cores",
        "spark.kubernetes.executor.podNamePrefix",
        "spark.kubernetes.executor.request.cores",
        "spark.kubernetes.executor.scheduler.name",
        "spark.kubernetes.namespace",
        "spark.yarn.am.cores",
        "spark.yarn.am.memory",
        "spark.yarn.am.nodeLabelExpression",
        "spark.yarn.executor.nodeLabelExpression",
        "spark.yarn.queue",
        "spark.yarn.tags",
    }
)
SETTING_FAMILIES = (
    "spark.kubernetes.node.selector.",
    "spark.kubernetes.executor.node.selector.",
    "spark.kubernetes.executor.label.",
    "spark.kubernetes.executor.annotation.",
    "spark.kubernetes.executor.volumes.nfs.",
    "spark.kubernetes.executor.volumes.persistentVolumeClaim.",
)
_OWN_KEY = "it has a key of its own"
_REASONS = (
    (
        r"spark\.master|spark\.executor\.(instances|cores|memory)|spark\.cores\.max",
        _OWN_KEY,
        "Use master, or executors.",
    ),
    (
        r"spark\.driver\.(host|port|bindAddress|memory|blockManager\.port)|spark\.blockManager\.port",
        _OWN_KEY,
        "Use driver_host, driver_port or driver_memory.",
    ),
    (r"spark\.(authenticate|network\.crypto|io\.encryption|ssl)(\..*)?", _OWN_KEY, "Use cluster_secret."),
    (
        r".*(Options|[cC]lassPath|[lL]ibraryPath|\.class|\.listeners|\.extensions|\.(jars|files|plugins|submit)(\..*)?)",
        "it names code to be loaded",
        "Remove it.",
    ),
    (
        r"spark\.(speculation|dynamicAllocation|decommission|storage\.decommission|task\.maxFailures|stage)(\..*)?",
        "Headgate sets it, so that every record is accounted for",
        "Remove it.",
    ),
    (
        r".*podTemplate.*|.*hostPath.*|.*\.(keytab|principal|.*[fF]ile)",
        "it makes Spark open a file of the host",
        "Remove it.",
    ),
)


def _setting(name: str) -> str:
    if name in SETTINGS or name.startswith(SETTING_FAMILIES):
        return name
    for pattern, why, advice in _REASONS:
        if re.fullmatch(pattern, name):
            refuse("forbidden_option", f"The Spark setting {quote(name)} is not allowed: {why}.", advice)
    suggestion = did_you_mean(name, SETTINGS, otherwise="Remove it; docs/guides/spark-clusters.md has the list.")
    return refuse("forbidden_option", f"{quote(name)} is not on the list of allowed Spark settings.", suggestion)


SettingValue = Annotated[str, Syntax("bad_option_value", r"[^\x00-\x1f\x7f]{0,1024}", "Write plain text on one line.")]


class LocalLauncher(Spec):
    """Spark inside the agent's own JVM, on the owning host."""

    type: Literal["local"] = field("Chooses this launcher; it is the default.", default="local", example="local")
    cores: int = field(
        "Tasks at a time for each channel, so that a sink that hangs takes no tasks of the others. A batch of more "
        "partitions takes turns. In real-time mode, tasks of the pipeline: one for each partition.",
        default=4,
        example=4,
        unit="cores",
        ge=1,
        le=256,
    )
    driver_memory: DriverMemory = field(
        "The JVM's heap, at least 512m. From 1g on it is laid out for throughput and stays larger at rest; records of "
        "20 MB need as much.",
        default="512m",
        example="1g",
        unit="bytes, with m or g",
    )


class Executors(Spec):
    """The processes on the cluster that move the records."""

    count: int = field("How many.", default=2, example=3, unit="executors", ge=1, le=1000)
    cores: int = field("Tasks at a time in each.", default=1, example=4, unit="cores", ge=1, le=256)
    memory: DriverMemory = field(
        "The heap of each, at least 512m. Python workers and buffers come on top of it.",
        default="1g",
        example="2g",
        unit="bytes, with m or g",
    )


class SparkLauncher(Spec):
    """Executors on a Spark cluster that exists already; the driver stays in the agent, on the owning host."""

    kind: ClassVar[str] = "launcher"
    type: Literal["spark"] = field("Chooses this launcher.", example="spark")
    master: Master = field(
        "The cluster: `spark://host:7077`, `k8s://https://host:6443` or `yarn`.", example="spark://spark.internal:7077"
    )
    master_ui: WebAddress | None = field(
        "Standalone clusters: the master's web address, which is asked whether an earlier run's executors are gone. By "
        "default port 8080 of the master.",
        default=None,
        example="http://spark.internal:8080",
    )
    executors: Executors = field(
        "The executors of this pipeline. Their number does not change while it runs.",
        default=Executors(),
        example={"count": 3, "cores": 4, "memory": "2g"},
    )
    slots_timeout: Duration = field(
        "How long a start waits for all executors; then it is refused with INSUFFICIENT_SLOTS.",
        default=60.0,
        example="2m",
        unit="seconds",
    )
    executor_fence: Duration = field(
        "How long executors may outlive a driver that was killed. The next run starts once they have ended, or after "
        "this time.",
        default=60.0,
        example="60s",
        unit="seconds",
    )
    driver_memory: DriverMemory = field(
        "The heap of the driver's JVM, at least 512m.", default="512m", example="1g", unit="bytes, with m or g"
    )
    driver_host: HostAddress | None = field(
        "The address under which executors reach the driver. By default what the owning host calls itself.",
        default=None,
        example="10.0.0.12",
    )
    driver_bind: HostAddress | None = field(
        "The address that the driver listens on, where that is not `driver_host`.", default=None, example="10.0.0.12"
    )
    driver_port: int | None = field(
        "The port that executors connect to; the next one serves blocks. By default any free ports.",
        default=None,
        example=35000,
        ge=1024,
        le=65534,
    )
    python: Executable | None = field(
        "The Python interpreter on the executors, with the packages that Headgate depends on. By default the path of "
        "the agent's own. Headgate itself is sent along.",
        default=None,
        example="/opt/headgate/bin/python",
    )
    storage: DirectoryPath | None = field(
        "A directory that the owning host and all executors mount at this path. Checkpoints, file channels and dead "
        "letters lie below it instead of in the host's state directory.",
        default=None,
        example="/mnt/headgate",
    )
    cluster_secret: ClusterSecret | None = field(
        "Standalone clusters: the secret that master, workers and drivers share. With it, connections are "
        "authenticated and encrypted, and so are files that executors spill.",
        default=None,
        example="${secret:SPARK_CLUSTER}",
    )
    conf: dict[Annotated[str, AfterValidator(_setting)], SettingValue] = field(
        "Further settings of Spark, out of a list of allowed ones.",
        default={},
        example={"spark.kubernetes.container.image": "registry.internal/headgate:1"},
        max_length=100,
    )

    @property
    def cores(self) -> int:
        """Tasks at a time, in all executors together."""
        return self.executors.count * self.executors.cores

    @property
    def standalone(self) -> bool:
        """Whether the cluster is one of Spark's own."""
        return self.master.startswith("spark://")


def _form(value: Any) -> str | None:
    kind = value.get("type", "local") if isinstance(value, dict) else getattr(value, "type", None)
    return f"{TAG_MARK}{kind}" if isinstance(kind, str) else None


Launcher = Annotated[
    Annotated[LocalLauncher, Tag(f"{TAG_MARK}local")] | Annotated[SparkLauncher, Tag(f"{TAG_MARK}spark")],
    Discriminator(
        _form, custom_error_type="bad_launcher", custom_error_message="The type of a launcher is local or spark."
    ),
]
