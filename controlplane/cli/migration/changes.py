"""What a migration changes, as options of a command or as a file, and the request for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.migration.waiting import POLL_S

LARGEST_FILE = 4 << 20
COUNT_S = 60.0
PREDICT_S = 180.0
PREDICT_POLL_S = 2.0


@dataclass(frozen=True)
class Observation:
    """How the standby is observed before the commit."""

    observe: Annotated[
        float | None, typer.Option("--observe", help="Seconds of observation before the commit.", min=0)
    ] = None
    confirm_commit: Annotated[
        bool, typer.Option("--confirm-commit", help="Wait for your confirmation before the commit.")
    ] = False

    def spec(self) -> dict[str, Any]:
        """The rules, where any is given."""
        rules: dict[str, Any] = {} if self.observe is None else {"window": self.observe}
        rules |= {"then": "ask"} if self.confirm_commit else {}
        return {"rules": rules} if rules else {}


@dataclass(frozen=True)
class Shadow:
    """How both revisions are compared before the pause."""

    shadow_for: Annotated[
        str | None,
        typer.Option(
            "--shadow-for", metavar="TIME", help="Compare both revisions on what the old agent delivers: for 10m, 1h."
        ),
    ] = None
    shadow_records: Annotated[
        int | None, typer.Option("--shadow-records", metavar="N", help="The same, for a number of records.", min=1)
    ] = None
    shadow_most_different: Annotated[
        float | None,
        typer.Option(
            "--shadow-most-different",
            metavar="SHARE",
            help="Abort if a larger share of events differs: 0 to 1. Without it, the comparison only informs.",
            min=0,
            max=1,
        ),
    ] = None

    def spec(self, kind: str) -> dict[str, Any]:
        """The shadow, where one is wanted. CommandError where that says too much, or is of no revision."""
        given = {"for": self.shadow_for, "records": self.shadow_records, "most_different": self.shadow_most_different}
        wanted = {name: value for name, value in given.items() if value is not None}
        if wanted and kind != "revision":
            raise CommandError.of_usage("A shadow compares two revisions: give --file or --revision.")
        if wanted and len(wanted.keys() & {"for", "records"}) != 1:
            raise CommandError.of_usage("Give exactly one of --shadow-for and --shadow-records.")
        return {"shadow": wanted} if wanted else {}


@dataclass(frozen=True)
class Change:
    """What changes; exactly one of them."""

    file: Annotated[
        str | None, typer.Option("--file", "-f", help="A new definition in YAML or JSON; - for standard input.")
    ] = None
    revision: Annotated[int | None, typer.Option("--revision", help="A stored revision.", min=1)] = None
    host: Annotated[str | None, typer.Option("--host", help="Another host.")] = None
    software: Annotated[bool, typer.Option("--software", help="The software that is installed now.")] = False
    to: Annotated[
        str | None, typer.Option("--to", help="Other positions, in the forms of `headgate positions plan`.")
    ] = None
    source: Annotated[
        str | None, typer.Option("--source", help="With --to: only this source; others keep their positions.")
    ] = None
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Another Kafka cluster of a source or a sink: a file.")
    ] = None
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate", help="Wait before this stage: PAUSING, APPLYING, READY_TO_CUT_OVER or COMMITTED. Repeatable."
        ),
    ] = None

    def kind_and_spec(self) -> tuple[str, dict[str, Any]]:
        """The migration's kind and its specification. CommandError unless exactly one change is given."""
        self._check()
        kind, spec = self._asked()
        return kind, spec | ({"gates": _gates(self.gate)} if self.gate else {})

    def _check(self) -> None:
        changes = (self.file, self.revision, self.host, self.software or None, self.to, self.cluster)
        if sum(each is not None for each in changes) != 1:
            raise CommandError.of_usage(
                "Give exactly one of --file, --revision, --host, --cluster, --to and --software."
            )
        if self.source is not None and self.to is None:
            raise CommandError.of_usage("--source needs --to. A file of --cluster names its source itself.")

    def _asked(self) -> tuple[str, dict[str, Any]]:
        from controlplane.cli.base.inputs import read_text
        from controlplane.cli.migration.files import cluster_move_of

        if self.file is not None:
            return "revision", {"definition": read_text(self.file, most=LARGEST_FILE, what="a definition")}
        if self.revision is not None:
            return "revision", {"revision": self.revision}
        if self.to is not None:
            return "position", {"to": self.to} | ({"source": self.source} if self.source is not None else {})
        if self.cluster is not None:
            text = read_text(self.cluster, most=LARGEST_FILE, what="a migration")
            return "cluster", cluster_move_of(text, self.cluster)
        return ("host", {"host": self.host}) if self.host is not None else ("software", {})


def _gates(names: list[str]) -> list[str]:
    from pipelines.domain.migration.steps import GATES

    wanted = [name.upper() for name in names]
    if wrong := [name for name in wanted if name not in GATES]:
        raise CommandError.of_usage(f"There is no gate before {', '.join(wrong)}. Gates: {', '.join(GATES)}.")
    return wanted


def create(client: Any, body: dict[str, Any]) -> dict[str, Any]:
    """Create a migration and plan it; again until the host has counted the records or made the previews."""
    return counted(client, client.post("migrations", body)[1])


def replan(client: Any, migration_id: str) -> dict[str, Any]:
    """Plan it again."""
    return counted(client, _planned(client, migration_id))


def counted(client: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The migration, planned again while the host counts or makes previews."""
    started = time.monotonic()
    while (waits := _waits(found)) and time.monotonic() < started + _LIMITS[waits][1]:
        time.sleep(_LIMITS[waits][0])
        found = _planned(client, found["id"])
    return found


_LIMITS = {"COUNTING": (POLL_S, COUNT_S), "PREDICTING": (PREDICT_POLL_S, PREDICT_S)}
"""Seconds between two plans, and of all of them, by what they wait for."""


def _planned(client: Any, migration_id: str) -> dict[str, Any]:
    found: dict[str, Any]
    _, found = client.post(f"migrations/{migration_id}/plan", {})
    return found


def _waits(found: dict[str, Any]) -> str:
    """What its host has to do before it is planned; empty where that is not all it waits for."""
    codes = {each["code"] for each in (found["plan"] or {}).get("blockers", [])}
    return codes.pop() if len(codes) == 1 and codes <= _LIMITS.keys() else ""
