"""Clusters are objects of their own. Those of stored definitions become objects, and the revisions name them: their
definitions and digests are written anew, `former_digest` keeps what agents that run already were started with."""

import hashlib
import json
import re

from django.db import migrations, models
from django.utils import timezone

KEYS = ("master", "master_ui", "driver_host", "driver_bind", "python", "cluster_secret")
IMAGE = "spark.kubernetes.container.image"
SERVICE_ACCOUNT = "spark.kubernetes.authenticate.executor.serviceAccountName"
VOLUME = re.compile(r"spark\.kubernetes\.executor\.volumes\.([A-Za-z]+)\.([^.]+)\.(mount|options)\.(.+)")
MOUNT = {"path": "path", "subPath": "sub_path", "readOnly": "read_only"}
STAYS = {
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
WHO = "headgate"


def apart(launcher):
    """What stays in the definition, and what becomes the cluster."""
    spec = {key: launcher[key] for key in KEYS if launcher.get(key) is not None}
    spec["volumes"], spec["conf"] = {}, {}
    kept = {key: value for key, value in launcher.items() if key not in KEYS} | {"conf": {}}
    for name, value in launcher.get("conf", {}).items():
        volume = VOLUME.fullmatch(name)
        if name in STAYS:
            kept["conf"][name] = value
        elif name == IMAGE:
            spec["image"] = value
        elif name == SERVICE_ACCOUNT:
            spec["service_account"] = value
        elif volume:
            mount(spec["volumes"], volume, value)
        else:
            spec["conf"][name] = value
    return kept, spec


def mount(volumes, found, value):
    kind, name, part, key = found.groups()
    volume = volumes.setdefault(name, {"type": kind, "read_only": False, "options": {}})
    if part == "options":
        volume["options"][key] = value
    elif key in MOUNT:
        volume[MOUNT[key]] = value == "true" if key == "readOnly" else value


def text(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def name_of(master, taken):
    wanted = re.sub(r"[^a-z0-9]+", "-", master.lower()).strip("-")[:50].strip("-") or "cluster"
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def define(apps, schema_editor):
    """One cluster for each different content, and revisions that name them."""
    revisions = apps.get_model("pipelines", "Revision").objects
    clusters, now = apps.get_model("pipelines", "Cluster").objects, timezone.now()
    named = {}
    rows = revisions.filter(definition__placement__launcher__type="spark").order_by("pk")
    for revision in rows.iterator(chunk_size=200):
        launcher = revision.definition["placement"]["launcher"]
        if "master" not in launcher:
            continue
        kept, spec = apart(launcher)
        if text(spec) not in named:
            name = named[text(spec)] = name_of(spec["master"], named.values())
            clusters.create(name=name, spec=spec, created_at=now, updated_at=now, created_by=WHO, updated_by=WHO)
            record(apps, "cluster.created", now, None, {"cluster": name, "version": 1, "spec": spec})
        definition = json.loads(json.dumps(revision.definition))
        definition["placement"]["launcher"] = {**kept, "cluster": named[text(spec)]}
        before = {"revision": revision.number, "digest": revision.digest, "launcher": launcher}
        revision.former_digest, revision.definition = revision.digest, definition
        revision.digest = hashlib.sha256(text(definition).encode()).hexdigest()
        revision.save(update_fields=["former_digest", "definition", "digest"])
        after = {"revision": revision.number, "digest": revision.digest, "cluster": named[text(spec)]}
        record(apps, "revision.upgrade", now, before, after, revision.pipeline.name)


def record(apps, action, now, before, after, pipeline=""):
    apps.get_model("pipelines", "AuditRow").objects.create(
        at=now, actor=WHO, action=action, pipeline_name=pipeline, before=before, after=after, outcome="accepted"
    )


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0037_reach")]

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63, unique=True)),
                ("spec", models.JSONField()),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=150)),
                ("updated_at", models.DateTimeField()),
                ("updated_by", models.CharField(max_length=150)),
            ],
        ),
        migrations.AddField(
            model_name="revision",
            name="former_digest",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Its digest before an upgrade moved its cluster out of it.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="cluster_version",
            field=models.PositiveIntegerField(blank=True, help_text="Of the cluster that it was given.", null=True),
        ),
        migrations.RunPython(define, migrations.RunPython.noop, elidable=False),
    ]
