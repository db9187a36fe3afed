"""A short soak with a fixed seed: what the page says under load and faults agrees with what is measured beside it.

`make chaos SOAK=3600` runs the whole list of faults for as long as you want.
"""

from __future__ import annotations

from pathlib import Path

from tests.chaos.extent import SEEDS, at_most
from tests.chaos.installation import Installation
from tests.chaos.soak.run import soak
from tests.chaos.soak.schedule import schedule
from tests.chaos.soak.site import prepared
from tests.chaos.soak.summary import rows, text
from tests.chaos.soak.truth import LONG, PATIENCE, Patience
from tests.figures import RecordProperty

FAULTS = ("jvm_killed", "sink_refused", "redis_halted", "poison", "huge_record", "partition_added", "group_churned")
EVERY = 6.0
NAME = "soak"


def test_a_short_soak_loses_nothing_and_its_page_is_true(
    installation: Installation, tmp_path: Path, record_property: RecordProperty
) -> None:
    seed, seconds = SEEDS[0], EVERY * len(FAULTS)
    strikes = schedule(seed, seconds, [NAME], FAULTS, EVERY)
    patience = Patience(usual=at_most(PATIENCE), slow=at_most(LONG))
    with prepared(installation, tmp_path / "kafka", [NAME]) as site:
        report = soak(site, tmp_path, strikes, seed=seed, seconds=seconds, every=EVERY, patience=patience)
    (totals,) = report.totals
    record_property("tries", len(strikes))
    record_property("missing", totals.missing)
    record_property("duplicates", totals.doubled)
    record_property("announced", totals.announced)
    for figure, key in (("seconds until shown", "shown"), ("recovery_seconds", "recovered")):
        record_property(figure, max((row[key] for row in rows(report) if row.get(key) is not None), default=0.0))
    assert report.problems() == [], text(report)
    assert [row["fault"] for row in rows(report) if row["skipped"]] == []
