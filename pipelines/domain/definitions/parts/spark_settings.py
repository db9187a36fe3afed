"""Spark's settings that neither a definition nor a cluster may have, and why."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NoReturn

from pipelines.domain.base.findings import did_you_mean, quote
from pipelines.domain.base.values import refuse

_OWN_KEY = "it has a key of its own"
_REASONS = (
    (
        r"spark\.master|spark\.executor\.(instances|cores|memory)|spark\.cores\.max",
        _OWN_KEY,
        "Use executors; the cluster has its master.",
    ),
    (
        r"spark\.driver\.(host|port|bindAddress|memory|blockManager\.port)|spark\.blockManager\.port",
        _OWN_KEY,
        "Use driver_memory or driver_port; the cluster has driver_host and driver_bind.",
    ),
    (
        r"spark\.(authenticate|network\.crypto|io\.encryption|ssl)(\..*)?",
        _OWN_KEY,
        "Use cluster_secret of the cluster.",
    ),
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


def refuse_setting(name: str, known: Collection[str]) -> NoReturn:
    """Raise the finding for a setting that is not one of those `known`."""
    for pattern, why, advice in _REASONS:
        if re.fullmatch(pattern, name):
            refuse("forbidden_option", f"The Spark setting {quote(name)} is not allowed: {why}.", advice)
    suggestion = did_you_mean(name, known, otherwise="Remove it; docs/guides/spark-clusters.md has the list.")
    refuse("forbidden_option", f"{quote(name)} is not on the list of allowed Spark settings.", suggestion)
