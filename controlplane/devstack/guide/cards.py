"""What each card does, what it observes, and how it is undone. Undoing is harmless when done twice, or too early."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from controlplane.devstack import topics
from controlplane.devstack.client import Json, Refused
from controlplane.devstack.demo import ACTION_TIMEOUT, PARTITIONS
from controlplane.devstack.guide.freezing import freeze, thaw
from controlplane.devstack.guide.site import Facts, Impossible, Keep, Notice, Site
from controlplane.devstack.producer import next_number
from controlplane.install.tools.errors import SetupError
from pipelines.domain.guide.faults import Card
from pipelines.domain.runs.protocol import IDENTITY, Identity, ProcessIdentity
from workers.adapters.processes import HostProcesses

FROZEN_FOR = 60.0
"""Seconds, at most."""
STEP_TIMEOUT = 240.0
"""Seconds that one step of breaking a pipeline may wait for Headgate, on a machine with other things to do."""
POLL = 0.5
_COUNTING = {"COUNTING", "PREDICTING"}
_ENDED = {"COMMITTED", "ROLLED_BACK", "ABORTED"}


class Fault(ABC):
    """A card as it is carried out. `shown_for`: seconds for which the pipeline stays broken once it was noticed."""

    shown_for = 0.0

    @abstractmethod
    def carry_out(self, site: Site, keep: Keep) -> str:
        """Break the pipeline; says what was done. Raises Impossible."""

    @abstractmethod
    def noticed(self, site: Site, facts: Facts) -> Notice | None:
        """What Headgate shows of it, once it does."""

    @abstractmethod
    def undo(self, site: Site, facts: Facts) -> None:
        """End what keeps the pipeline broken, where Headgate does not do so by itself."""

    def recovered(self, site: Site, facts: Facts) -> str:
        """How it recovered, of a pipeline that runs and reads again; empty as long as it has not."""
        return f"The pipeline runs and reads records again: {site.pipeline()['headline']}"


class KillAgent(Fault):
    """SIGKILL to the driver; the supervisor starts another run."""

    def carry_out(self, site: Site, keep: Keep) -> str:
        """Kill the driver, after its identity was checked."""
        run = next((run for run in site.runs() if run["state"] == "LIVE"), None)
        identity = Identity.load(Path(run["run_dir"]) / IDENTITY) if run else None
        if run is None or identity is None or identity.driver is None:
            raise Impossible("No run of the pipeline is alive.")
        keep(run=run["number"])
        if not HostProcesses().kill(identity.driver, identity.token):
            raise Impossible(f"The driver, process {identity.driver.pid}, was gone before it could be killed.")
        return f"Killed the Spark driver of run {run['number']}, process {identity.driver.pid}, with SIGKILL."

    def noticed(self, site: Site, facts: Facts) -> Notice | None:
        """The end of the run, and its cause."""
        run = next(run for run in site.runs() if run["number"] == facts["run"])
        if run["outcome"] is None:
            return None
        return Notice(f"Run {run['number']} ended: {run['outcome']}.", run["exit_reason"], f"{site.address}/runs")

    def undo(self, site: Site, facts: Facts) -> None:
        """The supervisor starts another run by itself."""

    def recovered(self, site: Site, facts: Facts) -> str:
        """Another run delivers."""
        run = site.runs()[0]
        if run["number"] == facts["run"] or not run["first_record_at"]:
            return ""
        return f"Headgate started run {run['number']}, which continues at the offset where run {facts['run']} ended."


class FreezeSink(Fault):
    """SIGSTOP to the demo's broker, and SIGCONT after a while."""

    shown_for = 10.0

    def carry_out(self, site: Site, keep: Keep) -> str:
        """Halt the broker; a process of its own continues it after FROZEN_FOR."""
        if site.broker is None:
            raise Impossible("The broker is not one that the demo has started, so that it does not halt it.")
        try:
            identity = freeze(site.broker, FROZEN_FOR)
        except LookupError as error:
            raise Impossible("The demo's broker does not run.") from error
        keep(broker=identity.model_dump(mode="json"))
        return f"Halted the broker with sink and source, process {identity.pid}, with SIGSTOP."

    def noticed(self, site: Site, facts: Facts) -> Notice | None:
        """A phase that is not RUNNING, and its headline."""
        found = site.pipeline()
        if found["phase"] not in {"DEGRADED", "STALLED", "UNKNOWN"}:
            return None
        return Notice(f"The phase is {found['phase']}.", found["headline"], site.address)

    def undo(self, site: Site, facts: Facts) -> None:
        """Continue the broker."""
        if "broker" in facts:
            thaw(ProcessIdentity.model_validate(facts["broker"]))


class DeleteOffsets(Fault):
    """The group's offsets are deleted while the pipeline is paused, so that no new commit hides it."""

    shown_for = 3.0

    def carry_out(self, site: Site, keep: Keep) -> str:
        """Pause, wait for the last commit, and delete the group."""
        before = site.api.get(_events(site))["results"]
        keep(event=before[0]["id"] if before else 0, paused=True)
        site.api.act(site.demo.name, "pause", timeout=ACTION_TIMEOUT)
        _await(site, lambda: site.committed() == site.positions(), "the offsets of the group are those of the ledger")
        offsets = site.committed()
        topics.delete_group(site.demo.servers, site.demo.group)
        return (
            f"Paused the pipeline and deleted the committed offsets of the group {site.demo.group} in "
            f"{len(offsets)} partitions."
        )

    def noticed(self, site: Site, facts: Facts) -> Notice | None:
        """The event of the guard."""
        for event in site.api.get(_events(site))["results"]:
            if event["id"] > facts["event"] and event["kind"] == "guard.group_lost":
                return Notice("The guard reported GROUP_LOST.", event["message"], f"{site.address}/events")
        return None

    def undo(self, site: Site, facts: Facts) -> None:
        """Resume."""
        if facts.get("paused") and site.pipeline()["desired_state"] == "PAUSED":
            site.api.act(site.demo.name, "resume", timeout=ACTION_TIMEOUT)

    def recovered(self, site: Site, facts: Facts) -> str:
        """Every partition has a commit again."""
        if len(site.committed()) < PARTITIONS:
            return ""
        return f"Headgate wrote the offsets of all {PARTITIONS} partitions again from its ledger."


class RecreateTopic(Fault):
    """The source's topic is made anew, so that offsets of the old log lead to other records of the new one."""

    def carry_out(self, site: Site, keep: Keep) -> str:
        """Stop the producer, wait for the last record, count, delete and create."""
        demo = site.demo
        keep(starved=True)
        site.starve()
        first = next_number(demo.servers, demo.source)
        keep(first=first)
        ends = site.produced()
        _await(site, lambda: site.positions() == ends, "the last record is read")
        topics.delete(demo.servers, [demo.source])
        _await(site, lambda: _created(site), "the topic is there again")
        keep(source={}, sink=topics.end_offsets(demo.servers, demo.sink))
        site.feed(first)
        return f"Deleted the topic {demo.source} with {sum(ends.values())} records, all read, and created it again."

    def noticed(self, site: Site, facts: Facts) -> Notice | None:
        """BLOCKED, with the finding."""
        status = site.status()
        found = [each["message"] for each in status["findings"] if each["code"] == "TOPIC_RECREATED"]
        if status["phase"] != "BLOCKED" or not found:
            return None
        return Notice("The pipeline is BLOCKED by TOPIC_RECREATED.", found[0], f"{site.address}/positions")

    def undo(self, site: Site, facts: Facts) -> None:
        """Decide for the position that Headgate recommends, and start."""
        if not facts.get("starved"):
            return
        site.demo.create_topics()
        site.feed(facts.get("first", 0))
        status = site.status()
        if status["phase"] == "BLOCKED" and any(each["code"] == "TOPIC_RECREATED" for each in status["findings"]):
            to = next((each["to"] for each in status["choices"] if each["recommended"]), "earliest")
            planned = _planned(site, to)
            site.api.post(f"{site.address}/positions/apply", {"hash": planned["hash"]})
            site.api.act(site.demo.name, "start", timeout=ACTION_TIMEOUT)

    def recovered(self, site: Site, facts: Facts) -> str:
        """The run begins a lineage of its own."""
        run = site.runs()[0]
        if not run["first_record_at"]:
            return ""
        return f"The position was decided as Headgate recommends. Run {run['number']} reads the new log."


def _events(site: Site) -> str:
    return f"/events?pipeline={site.demo.name}&limit=50"


def _created(site: Site) -> bool:
    """Whether the topic is there, and empty."""
    try:
        site.demo.create_topics()
        return not any(site.produced().values())
    except SetupError:
        return False


def _planned(site: Site, to: str) -> Json:
    """The plan of a decision, once the host has answered."""
    made = site.api.post(f"{site.address}/positions/plan", {"to": to})
    address = f"{site.address}/positions/plans/{made['id']}"
    _await(site, lambda: site.api.get(address)["state"] != "PENDING", "the host has inspected the positions")
    return site.api.get(address)


def _await(site: Site, condition: Callable[[], bool], what: str) -> None:
    if not site.interrupt.wait(condition, STEP_TIMEOUT, POLL):
        raise Impossible(f"Waited {STEP_TIMEOUT:.0f} s until {what}.")


class DropEverything(Fault):
    """A migration to a filter that matches all; Headgate rolls it back."""

    def carry_out(self, site: Site, keep: Keep) -> str:
        """Plan it, show that it does not start unacknowledged, acknowledge, and start it."""
        definition = site.demo.definition()
        definition["sources"]["orders"]["interceptors"].append(
            {"type": "regex_filter", "regex": ".", "exclude_events": True}
        )
        # Never committed by itself: where nothing is wrong with it, it waits to be rolled back.
        spec = {"definition": definition, "rules": {"then": "ask"}}
        asked = {"pipeline": site.demo.name, "kind": "revision", "spec": spec, "reason": "Guided demo"}
        try:
            made = site.api.post("/migrations", asked)
        except Refused as refused:
            raise Impossible(str(refused)) from refused
        keep(migration=made["id"])
        made = _predicted(site, made)
        address, plan = f"/migrations/{made['id']}", made["plan"]
        before, after = (_delivered(plan, side) for side in ("before", "after"))
        site.api.post(f"{address}/approve", {"hash": made["plan_hash"]})
        refusal = _refusal(lambda: site.api.post(f"{address}/advance", {"hash": made["plan_hash"]}))
        site.api.post(f"{address}/advance", {"hash": made["plan_hash"], "acknowledge": plan["to_acknowledge"]})
        return (
            f"Headgate predicted that {after} instead of {before} sampled records would be delivered, and refused to "
            f"start: {refusal} The card acknowledged {plan['to_acknowledge']} records and started it anyway."
        )

    def noticed(self, site: Site, facts: Facts) -> Notice | None:
        """What the observation of the new revision found."""
        made = site.api.get(f"/migrations/{facts['migration']}")
        findings = [each["message"] for each in made["findings"] if each["path"] == "delivering"]
        if not findings:
            return None
        stage = made["stage"].replace("_", " ").lower()
        return Notice(f"The migration is {stage}.", findings[0], f"/migrations/{made['id']}")

    def undo(self, site: Site, facts: Facts) -> None:
        """Roll back, or cancel, what Headgate has not ended."""
        if "migration" not in facts:
            return
        made = site.api.get(f"/migrations/{facts['migration']}")
        if made["stage"] in _ENDED:
            return
        for way in ("rollback", "abort"):
            try:
                site.api.post(f"/migrations/{made['id']}/{way}", {"reason": "Guided demo"})
            except Refused:
                continue
            return

    def recovered(self, site: Site, facts: Facts) -> str:
        """The migration is over, and the revision is that of before."""
        made = site.api.get(f"/migrations/{facts['migration']}")
        if made["stage"] not in _ENDED:
            return ""
        if made["stage"] == "COMMITTED":
            raise Impossible("The migration was committed.")
        return f"Headgate rolled the migration back to revision {site.pipeline()['revision']}."


def _predicted(site: Site, made: Json) -> Json:
    """The migration once its plan has a prediction; without one, as of a host with much to do, it is planned again.
    Raises Impossible."""
    address = f"/migrations/{made['id']}"

    def is_predicted() -> bool:
        found = site.api.post(f"{address}/plan", {})
        if found["stage"] != "PLANNED" and not {each["code"] for each in found["findings"]} <= _COUNTING:
            raise Impossible(" ".join(each["message"] for each in found["findings"]))
        return _has_prediction(site.api.get(address))

    if not _has_prediction(made):
        _await(site, is_predicted, "the host has predicted what the revision does")
    return site.api.get(address)


def _has_prediction(made: Json) -> bool:
    predictions = made["plan"]["predictions"] if made["stage"] == "PLANNED" else []
    return bool(predictions) and all(each["before"] and each["after"] for each in predictions)


def _delivered(plan: Json, side: str) -> int:
    return sum(int(each[side]["delivered"]) for each in plan["predictions"] if each[side])


def _refusal(call: Callable[[], Any]) -> str:
    try:
        call()
    except Refused as refused:
        return str(refused)
    raise Impossible("Headgate started the migration without an acknowledgement.")


FAULTS: dict[Card, Fault] = {
    Card.KILL_AGENT: KillAgent(),
    Card.FREEZE_SINK: FreezeSink(),
    Card.DELETE_OFFSETS: DeleteOffsets(),
    Card.RECREATE_TOPIC: RecreateTopic(),
    Card.DROP_EVERYTHING: DropEverything(),
}
