"""Pipelines that are gone for ever, for the hosts that still have files of them."""

from __future__ import annotations

from django.db import models


class Purged(models.Model):
    """A purged pipeline. Its files are those below its id, and those of its name's runs and lineages up to `last_run`
    that no other pipeline has. `storages`: directories beside the hosts' own where its launchers kept files."""

    pipeline_id = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=63)
    last_run = models.PositiveBigIntegerField(default=0)
    storages = models.JSONField(default=list)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
