"""What runs an agent's Spark: the agent's own JVM, or the executors of a cluster that exists already."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Tag, WithJsonSchema

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import DirectoryPath, DriverMemory, Duration, refuse
from pipelines.domain.definitions.parts import clusters
from pipelines.domain.definitions.parts.clusters import ClusterName, ClusterSpec, SettingValue
from pipelines.domain.definitions.parts.component import Spec, field
from pipelines.domain.definitions.parts.registry import TAG_MARK
from pipelines.domain.definitions.parts.spark_settings import refuse_setting

SETTINGS = frozenset(
    {
        "spark.executor.memoryOverhead",
        "spark.executor.memoryOverheadFactor",
        "spark.executor.pyspark.memory",
        "spark.memory.fraction",
        "spark.locality.wait",
        "spark.rpc.message.maxSize",
        "spark.port.maxRetries",
        "spark.kubernetes.executor.limit.cores",
        "spark.kubernetes.executor.request.cores",
        "spark.yarn.am.cores",
        "spark.yarn.am.memory",
    }
)
_SETTING_SCHEMA = {"type": "string", "enum": sorted(SETTINGS)}
_OF_CLUSTERS = (*clusters.SETTINGS, clusters.IMAGE, clusters.SERVICE_ACCOUNT)
_FAMILIES_OF_CLUSTERS = (
    *clusters.SETTING_FAMILIES,
    f"{clusters.VOLUMES}nfs.",
    f"{clusters.VOLUMES}persistentVolumeClaim.",
)


def _setting(name: str) -> str:
    if name in SETTINGS:
        return name
    if name in _OF_CLUSTERS or name.startswith(_FAMILIES_OF_CLUSTERS):
        refuse(
            "belongs_to_cluster",
            f"The Spark setting {quote(name)} belongs to a cluster, which an administrator defines.",
            "Remove it, and name a cluster that has it.",
        )
    return refuse_setting(name, SETTINGS)


JvmProfile = Literal["small", "standard", "large"]


def _profile() -> Any:
    return field(
        "How the JVM trades memory for throughput. `small`: for many quiet pipelines on one host; fewer records/s at "
        "full rate. `standard`: a heap that grows and gives memory back. `large`: the whole heap at once, for full "
        "rate. By default `large` from 1g of `driver_memory` on, else `standard`.",
        default=None,
        example="small",
    )


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
        "The JVM's heap, at least 512m; records of 20 MB need 1g.",
        default="512m",
        example="1g",
        unit="bytes, with m or g",
    )
    jvm_profile: JvmProfile | None = _profile()


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
    """Executors on a Spark cluster that administrators defined; the driver stays in the agent, on the owning host."""

    kind: ClassVar[str] = "launcher"
    type: Literal["spark"] = field("Chooses this launcher.", example="spark")
    cluster: ClusterName = field(
        "The name of the cluster. Administrators define clusters; `headgate clusters list` shows them.",
        example="analytics",
        refers="clusters",
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
    jvm_profile: JvmProfile | None = _profile()
    driver_port: int | None = field(
        "The port that executors connect to; the next one serves blocks. By default any free ports.",
        default=None,
        example=35000,
        ge=1024,
        le=65534,
    )
    storage: DirectoryPath | None = field(
        "A directory that the owning host and all executors mount at this path. Checkpoints, file channels and dead "
        "letters lie below it instead of in the host's state directory.",
        default=None,
        example="/mnt/headgate",
        reach="write",
    )
    conf: dict[Annotated[str, AfterValidator(_setting), WithJsonSchema(_SETTING_SCHEMA)], SettingValue] = field(
        "Further settings of Spark, out of a list of allowed ones.",
        default={},
        example={"spark.executor.memoryOverhead": "1g"},
        max_length=100,
    )

    @property
    def cores(self) -> int:
        """Tasks at a time, in all executors together."""
        return self.executors.count * self.executors.cores


class PlacedLauncher(SparkLauncher):
    """A launcher with the cluster that its name stood for when the run was started."""

    on: ClusterSpec


def _form(value: Any) -> str | None:
    kind = value.get("type", "local") if isinstance(value, dict) else getattr(value, "type", None)
    return f"{TAG_MARK}{kind}" if isinstance(kind, str) else None


Launcher = Annotated[
    Annotated[LocalLauncher, Tag(f"{TAG_MARK}local")] | Annotated[SparkLauncher, Tag(f"{TAG_MARK}spark")],
    Discriminator(
        _form, custom_error_type="bad_launcher", custom_error_message="The type of a launcher is local or spark."
    ),
]
