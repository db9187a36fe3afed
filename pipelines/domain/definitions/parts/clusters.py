"""A Spark cluster as administrators define it: whose Spark runs the code of pipelines, and as what."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import DirectoryPath, Syntax, refuse
from pipelines.domain.definitions.parts.component import Spec, field
from pipelines.domain.definitions.parts.spark_settings import refuse_setting

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

ClusterName = Annotated[
    str, Syntax("invalid_name", r"[a-z0-9][a-z0-9-]{0,62}", "Use lower-case letters, digits and hyphens.")
]
Text = Annotated[str, Syntax("bad_option_value", r"[^\s\x00-\x1f\x7f]{1,512}", "Write plain text without spaces.")]
KubernetesName = Annotated[
    str, Syntax("invalid_name", r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?", "Use a name of a Kubernetes object.")
]
VolumeName = Annotated[
    str, Syntax("invalid_name", r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "Use lower-case letters, digits and hyphens.")
]

OptionName = Annotated[str, Syntax("bad_option", r"[A-Za-z]{1,64}", "Use a name of Spark's documentation.")]

SETTINGS = frozenset(
    {
        "spark.kubernetes.container.image.pullPolicy",
        "spark.kubernetes.container.image.pullSecrets",
        "spark.kubernetes.context",
        "spark.kubernetes.driver.pod.name",
        "spark.kubernetes.executor.podNamePrefix",
        "spark.kubernetes.executor.scheduler.name",
        "spark.kubernetes.namespace",
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
)
IMAGE = "spark.kubernetes.container.image"
SERVICE_ACCOUNT = "spark.kubernetes.authenticate.executor.serviceAccountName"
VOLUMES = "spark.kubernetes.executor.volumes."


def _setting(name: str) -> str:
    if name in SETTINGS or name.startswith(SETTING_FAMILIES):
        return name
    return refuse_setting(name, SETTINGS)


SettingValue = Annotated[str, Syntax("bad_option_value", r"[^\x00-\x1f\x7f]{0,1024}", "Write plain text on one line.")]


class Volume(Spec):
    """A volume that every executor mounts."""

    type: Literal["nfs", "persistentVolumeClaim"] = field("What it is.", example="persistentVolumeClaim")
    path: DirectoryPath = field("Where executors mount it.", example="/mnt/headgate")
    sub_path: Text | None = field("The directory of the volume that is mounted.", default=None, example="headgate")
    read_only: bool = field("Whether executors may only read it.", default=False, example=False)
    options: dict[OptionName, Text] = field(
        "What Spark needs to find it: `claimName` of a claim, `server` and `path` of NFS.",
        example={"claimName": "headgate-state"},
        max_length=20,
    )

    def settings(self, name: str) -> dict[str, str]:
        """Spark's settings of it."""
        prefix = f"{VOLUMES}{self.type}.{name}."
        found = {f"{prefix}mount.path": self.path, f"{prefix}mount.readOnly": str(self.read_only).lower()}
        if self.sub_path is not None:
            found[f"{prefix}mount.subPath"] = self.sub_path
        return found | {f"{prefix}options.{key}": value for key, value in self.options.items()}


class ClusterSpec(Spec):
    """A Spark cluster that exists already. Definitions name it, and administrators alone say what it is."""

    master: Master = field(
        "The cluster: `spark://host:7077`, `k8s://https://host:6443` or `yarn`.", example="spark://spark.internal:7077"
    )
    master_ui: WebAddress | None = field(
        "Standalone clusters: the master's web address, which is asked whether an earlier run's executors are gone. By "
        "default port 8080 of the master.",
        default=None,
        example="http://spark.internal:8080",
    )
    driver_host: HostAddress | None = field(
        "The address under which executors reach the driver. By default what the owning host calls itself.",
        default=None,
        example="10.0.0.12",
    )
    driver_bind: HostAddress | None = field(
        "The address that the driver listens on, where that is not `driver_host`.", default=None, example="10.0.0.12"
    )
    python: Executable | None = field(
        "The Python interpreter on the executors, with the packages that Headgate depends on. By default the path of "
        "the agent's own. Headgate itself is sent along.",
        default=None,
        example="/opt/headgate/bin/python",
    )
    image: Text | None = field(
        "Kubernetes: the image of the executors' containers.", default=None, example="registry.internal/headgate:1"
    )
    service_account: KubernetesName | None = field(
        "Kubernetes: the service account of the executors' pods.", default=None, example="headgate-executor"
    )
    volumes: dict[VolumeName, Volume] = field(
        "Kubernetes: what executors mount, by name.",
        default={},
        example={"state": {"type": "nfs", "path": "/mnt/headgate", "options": {"server": "nas", "path": "/headgate"}}},
        max_length=20,
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
        example={"spark.kubernetes.namespace": "streaming"},
        max_length=100,
    )

    @property
    def standalone(self) -> bool:
        """Whether the cluster is one of Spark's own."""
        return self.master.startswith("spark://")

    def settings(self) -> dict[str, str]:
        """Spark's settings for what is placed on it, secret and addresses apart."""
        named = {IMAGE: self.image, SERVICE_ACCOUNT: self.service_account}
        found = dict(self.conf) | {key: value for key, value in named.items() if value is not None}
        for name, volume in self.volumes.items():
            found |= volume.settings(name)
        return found
