"""A shadow on the real stack: it survives the death of its process, and the pipeline beside it notices nothing."""

from __future__ import annotations

import psutil
from confluent_kafka.admin import AdminClient

from pipelines.domain.runs.protocol import ProcessIdentity
from tests.chaos.extent import WHOLE
from tests.chaos.installation import Installation, wait_for
from tests.chaos.migrating import ENDED, Trial, asked, intercepted
from tests.chaos.stream import RATE, streaming
from tests.figures import RecordProperty

RECORDS = 10_000 if WHOLE else 3_000
NICENESS = 10
WITHIN = 600.0
MARKED = {
    "type": "search_replace",
    "search_pattern": r'("number": \d*7),',
    "replace_string": '$1, "marked": true,',
}
"""Changes every tenth record, and leaves its number."""


def previewers(installation: Installation) -> list[psutil.Process]:
    """Processes of the worker that make shadows."""
    record = installation.state / "up" / "worker.json"
    worker = psutil.Process(ProcessIdentity.model_validate_json(record.read_bytes()).pid)
    return [each for each in worker.children(recursive=True) if _is_shadow(each)]


def _is_shadow(process: psutil.Process) -> bool:
    try:
        command = " ".join(process.cmdline())
        return "workers.agent.evaluation.previewer" in command and process.nice() == NICENESS
    except psutil.Error:
        return False


def groups(installation: Installation) -> set[str]:
    found = AdminClient({"bootstrap.servers": installation.servers}).list_consumer_groups().result(30)
    return {each.group_id for each in found.valid}


def compared(trial: Trial) -> int:
    shadow = trial.shown["shadow"]
    return int(shadow["counts"]["records"]) if shadow else 0


def test_a_killed_shadow_is_made_again_and_costs_the_pipeline_nothing(
    installation: Installation, record_property: RecordProperty
) -> None:
    installation.rest()
    with streaming(installation, name="shadowed") as stream:
        stream.goes_on(stream.read)
        before = groups(installation)
        definition = intercepted(stream.demo, **MARKED)
        spec = {"definition": definition, "shadow": {"records": RECORDS}, "gates": ["PAUSING"]}
        trial = asked(installation.api, stream.demo.name, "revision", spec, "every tenth record is marked").start()
        wait_for(lambda: previewers(installation), WITHIN, "a part of the shadow is made")
        for process in previewers(installation):
            process.kill()
        wait_for(lambda: compared(trial) >= RECORDS or trial.stage in ENDED, WITHIN, f"compared: {trial.shown}")
        trial.waits_before("PAUSING")
        shadow = trial.shown["shadow"]
        counts = shadow["counts"]
        assert (counts["records"], counts["only_old"], counts["only_new"]) == (RECORDS, 0, 0)
        assert counts["kinds"] == {"body": counts["different"]}
        assert counts["identical"] == RECORDS - counts["different"]
        assert abs(counts["different"] - RECORDS // 10) < RECORDS // 100
        assert (shadow["unlike_ledger"], shadow["failures"]) == (0, 0), shadow["notes"]
        assert shadow["not_compared"] == {"orders": {"headers": ["timestamp"], "key": False, "body": False}}
        assert len(shadow["samples"]) == 20
        assert groups(installation) == before
        record_property("before", shadow["rate_before"])
        record_property("during", shadow["rate"])
        assert not WHOLE or shadow["rate"] > 0.95 * RATE, "the source gives no more"
        assert trial.advance().ends()["stage"] == "COMMITTED", trial.shown
        found = trial.evidence
        assert found["shadow"]["counts"] == counts
        assert (found["prediction"][0]["reason"], found["gap"], found["overlap"]) == ("", 0, 0)
        stream.delivered_once()
