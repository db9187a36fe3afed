"""Migrations as data: what changes, what stands in the way, in which order, who may, what it costs, what it proves."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.base.states import (
    CHANGING_STAGES,
    FINAL_STAGES,
    FORWARD_STAGES,
    MIGRATION_TRANSITIONS,
    OPEN_STAGES,
    DesiredState,
    MigrationKind,
    MigrationStage,
    Phase,
    may_follow,
)
from pipelines.domain.definitions.document.consequences import Consequence, evaluate, heaviest
from pipelines.domain.definitions.document.diff import diff
from pipelines.domain.definitions.document.spec import Definition, Lifecycle
from pipelines.domain.lifecycle.vocabulary import STAGES
from pipelines.domain.migration import blockers, evidence, policy, progress, proof, report
from pipelines.domain.migration.blockers import Facts, Place
from pipelines.domain.migration.choices import MigrationAction, Standing, allowed, options
from pipelines.domain.migration.observation import RETURN_SECONDS, Conclusion, ObservationRules, Sample
from pipelines.domain.migration.observation import evaluate as observe
from pipelines.domain.migration.plan import MigrationPlan, MigrationTarget, expected_pause
from pipelines.domain.migration.progress import Instant, MigrationStepState
from pipelines.domain.migration.specs import SPECS, HostSpec, RevisionSpec
from pipelines.domain.migration.steps import (
    CHANGES,
    MARGIN_SECONDS,
    ChangeBeforeProof,
    PlannedStep,
    StepName,
    back,
    forward,
    ordered,
)
from tests.factories import definition

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIFE = Lifecycle()


def steps(kind: MigrationKind = MigrationKind.REVISION, **more: Any) -> list[PlannedStep]:
    return forward(kind, LIFE, window=60, longest_batch=0, **more)


def a_plan(**more: Any) -> MigrationPlan:
    return MigrationPlan(
        kind=MigrationKind.REVISION,
        pipeline="orders",
        basis={"revision": 1},
        steps=steps(),
        target=MigrationTarget(host="alpha", revision=None, digest="d"),
        pause=expected_pause(batch_seconds=0.5, drain_timeout=60, steps=8),
        **more,
    )


# stages


def test_every_stage_is_described_and_has_a_row_in_the_table() -> None:
    assert set(MIGRATION_TRANSITIONS) == set(STAGES) == set(MigrationStage)


def test_every_stage_of_the_work_can_be_left_and_no_final_one() -> None:
    for stage in FORWARD_STAGES:
        assert may_follow(stage, MigrationStage.ROLLING_BACK)
        assert may_follow(stage, MigrationStage.NEEDS_ATTENTION)
    assert all(not MIGRATION_TRANSITIONS[stage] for stage in FINAL_STAGES)


def test_no_stage_is_a_dead_end() -> None:
    reached = set(FINAL_STAGES)
    while more := {s for s in OPEN_STAGES - reached if MIGRATION_TRANSITIONS[s] & reached}:
        reached |= more
    assert reached == set(MigrationStage)


# order


@pytest.mark.parametrize("stage", [stage for stage in FORWARD_STAGES if stage not in CHANGING_STAGES])
def test_a_step_that_changes_something_cannot_be_constructed_before_the_proof(stage: MigrationStage) -> None:
    with pytest.raises(ChangeBeforeProof):
        PlannedStep(name=StepName.PROMOTE, stage=stage, changes=True, sentence="", seconds=1)


def test_a_plan_whose_proof_comes_after_a_change_cannot_be_constructed() -> None:
    without_proof = [step for step in steps() if step.name is not StepName.PROVE_PAUSE]
    with pytest.raises(ChangeBeforeProof):
        ordered(without_proof)
    with pytest.raises(ChangeBeforeProof):
        MigrationPlan(**{**a_plan().model_dump(), "steps": without_proof})


@pytest.mark.parametrize("which", [step.name for step in steps(MigrationKind.POSITION)])
def test_a_step_goes_nowhere_but_within_its_stage_and_no_change_before_the_proof(which: StepName) -> None:
    (step,) = (each for each in steps(MigrationKind.POSITION) if each.name is which)
    others = [each for each in steps(MigrationKind.POSITION) if each.name is not which]
    outcomes = set()
    for place in range(len(others) + 1):
        found = [*others[:place], step, *others[place:]]
        names, stages = [each.name for each in found], [FORWARD_STAGES.index(each.stage) for each in found]
        too_early = any(names.index(name) < names.index(StepName.PROVE_PAUSE) for name in CHANGES)
        try:
            assert ordered(found) == found
            outcomes.add("taken")
            assert (stages, too_early) == (sorted(stages), False)
        except ChangeBeforeProof:
            outcomes.add("before the proof")
            assert too_early
        except ValueError:
            outcomes.add("refused")
            assert stages != sorted(stages)
    assert {"taken", "refused"} <= outcomes
    assert which not in CHANGES or "before the proof" in outcomes


@pytest.mark.parametrize("kind", list(MigrationKind))
def test_the_steps_of_a_kind_go_through_every_stage(kind: MigrationKind) -> None:
    without = [stage for stage in FORWARD_STAGES if stage is not MigrationStage.SHADOWING]
    assert list(dict.fromkeys(step.stage for step in steps(kind))) == without
    assert list(dict.fromkeys(step.stage for step in steps(kind, shadow=60.0))) == list(FORWARD_STAGES)


def test_positions_are_set_between_the_two_runs() -> None:
    names = [step.name for step in steps(MigrationKind.POSITION)]
    assert names.index(StepName.END_OLD_RUN) < names.index(StepName.SET_POSITIONS) < names.index(StepName.PROMOTE)


def test_a_gate_stands_before_the_first_step_of_its_stage() -> None:
    gated = [step.name for step in steps(MigrationKind.POSITION, gates=[MigrationStage.APPLYING])]
    assert gated
    found = [step.name for step in steps(MigrationKind.POSITION, gates=[MigrationStage.APPLYING]) if step.gate]
    assert found == [StepName.END_OLD_RUN]


def test_a_gate_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no gate before PREFLIGHT"):
        HostSpec(host="beta", gates=[MigrationStage.PREFLIGHT])


def test_a_revision_spec_says_one_thing() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        RevisionSpec()


# the way back


def _back(**more: bool) -> list[str]:
    given_ = {"paused": False, "ending": False, "ended": False, "has_standby": False, "promoted": False, **more}
    return [step.name.value for step in back(life=LIFE, **given_)]


def test_the_way_back_undoes_what_was_done_and_no_more() -> None:
    assert _back() == []
    assert _back(has_standby=True) == ["discard_standby"]
    assert _back(paused=True, has_standby=True) == ["resume_old", "discard_standby"]
    assert _back(paused=True, ending=True, ended=True, has_standby=True) == [
        "discard_standby",
        "restore",
        "start_old",
    ]
    assert _back(paused=True, ending=True, ended=True, promoted=True, has_standby=True) == [
        "pause_new",
        "end_new_run",
        "restore",
        "start_old",
    ]


def test_an_old_run_whose_end_was_asked_for_is_ended_before_anything_is_restored() -> None:
    assert _back(paused=True, ending=True) == ["end_old_run", "restore", "start_old"]


def test_nothing_is_restored_before_the_new_side_has_ended() -> None:
    names = _back(paused=True, ending=True, ended=True, promoted=True)
    assert names.index("end_new_run") < names.index("restore") < names.index("start_old")


# hash


def test_the_same_plan_has_the_same_hash_and_another_one_another() -> None:
    assert a_plan().hash() == a_plan().hash()
    assert a_plan().hash() != a_plan(skip=1).hash()
    assert a_plan().hash() == MigrationPlan.model_validate(json.loads(a_plan().model_dump_json())).hash()


# consequences


def _consequence(old: Definition, new: Definition) -> dict[str, Consequence]:
    return {each.change.path: each.consequence for each in evaluate(diff(old, new), old, new)}


def _with(path: list[str], value: Any) -> Definition:
    data = definition().plain()
    part: Any = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return Definition.model_validate(data)


@pytest.mark.parametrize(
    ("path", "value", "consequence"),
    [
        (["description"], "other words", Consequence.HOT),
        (["labels"], {"team": "a"}, Consequence.HOT),
        (["sinks", "out", "topic"], "elsewhere", Consequence.RESTART),
        (["delivery", "trigger_interval_ms"], 250, Consequence.RESTART),
        (["sources", "shop", "topics"], ["other"], Consequence.NEW_LINEAGE),
        (["placement", "host"], "beta", Consequence.NEW_LINEAGE),
        (["sources", "shop", "bootstrap_servers"], "10.0.0.1:9092", Consequence.POSITION_DECISION),
    ],
)
def test_each_difference_has_its_consequence(path: list[str], value: Any, consequence: Consequence) -> None:
    old, new = definition(), _with(path, value)
    found = _consequence(old, new)
    assert set(found.values()) == {consequence}, found


def test_the_heaviest_consequence_counts() -> None:
    assert heaviest([Consequence.RESTART, Consequence.NEW_LINEAGE, Consequence.HOT]) is Consequence.NEW_LINEAGE
    assert heaviest([]) is Consequence.HOT


# blockers


def facts(**more: Any) -> Facts:
    old = more.pop("old", definition())
    new = more.pop("new", _with(["sinks", "out", "topic"], "elsewhere"))
    given_: dict[str, Any] = {
        "kind": MigrationKind.REVISION,
        "pipeline": "orders",
        "phase": Phase.RUNNING,
        "desired": DesiredState.RUNNING,
        "host": "alpha",
        "host_responding": True,
        "target": Place("alpha"),
    }
    changes = evaluate(diff(old, new), old, new) if new else []
    return Facts(**{**given_, "old": old, "new": new, "evaluated": changes, **more})


def codes(found: Facts) -> list[str]:
    return [finding.code for finding in blockers.blockers(found)]


def test_a_change_of_a_running_pipeline_is_blocked_by_nothing() -> None:
    assert codes(facts()) == []


def test_everything_that_blocks_is_told_at_once_and_says_what_to_do() -> None:
    found = facts(
        phase=Phase.UNKNOWN,
        host_responding=False,
        operation="pause",
        frozen=["Frozen until then: sale"],
        kind=MigrationKind.HOST,
        target=Place("beta", responding=False, drained=True, lacks="beta has no slot"),
    )
    assert codes(found) == [
        "PIPELINE_NOT_STEADY",
        "OPERATION_OPEN",
        "HOST_SILENT",
        "FROZEN",
        "HOST_SILENT",
        "HOST_DRAINED",
        "NO_CAPACITY",
    ]
    assert all(finding.suggestion for finding in blockers.blockers(found))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"phase": Phase.STOPPED, "desired": DesiredState.STOPPED}, "PIPELINE_STOPPED"),
        ({"new": definition()}, "NO_CHANGE"),
        ({"new": _with(["sources", "shop", "bootstrap_servers"], "10.0.0.1:9092")}, "POSITION_DECISION"),
        ({"new": _with(["placement", "host"], "beta")}, "HOST_CHANGED"),
        ({"kind": MigrationKind.HOST, "target": Place("alpha")}, "SAME_HOST"),
        ({"kind": MigrationKind.HOST, "target": Place("nowhere", known=False)}, "HOST_UNKNOWN"),
        ({"restart_under_way": True}, "RESTART_UNDER_WAY"),
    ],
)
def test_what_makes_no_sense_is_blocked_with_a_reason(more: dict[str, Any], code: str) -> None:
    assert codes(facts(**more)) == [code]


# approvals and freezes


def approval(by: str, named: str = "h", ago: timedelta = timedelta()) -> policy.Approval:
    return policy.Approval(by, named, NOW - ago)


def test_without_a_policy_the_author_begins_alone() -> None:
    rule = policy.rule_for([], pipeline="orders", labels={})
    assert policy.refusal(rule, author="ana", approver="ana") == ""
    assert policy.enough(rule, [approval("ana")], author="ana", named="h", now=NOW)
    assert not policy.enough(rule, [], author="ana", named="h", now=NOW)


def test_an_approval_counts_for_one_plan_for_a_while_and_not_from_the_author() -> None:
    rule = policy.ApprovalRule(2, timedelta(hours=1), label="tier:gold")
    given_ = [approval("ana"), approval("ben"), approval("eva", named="other"), approval("tom", ago=timedelta(hours=2))]
    assert policy.valid(rule, given_, author="ana", named="h", now=NOW) == {"ben"}
    assert not policy.enough(rule, given_, author="ana", named="h", now=NOW)
    assert policy.enough(rule, [*given_, approval("kim")], author="ana", named="h", now=NOW)
    assert "ana requested this migration" in policy.refusal(rule, author="ana", approver="ana")


def test_the_strictest_rule_that_concerns_the_pipeline_counts() -> None:
    rules = [
        policy.ApprovalRule(1),
        policy.ApprovalRule(3, label="tier:gold"),
        policy.ApprovalRule(2, pipeline="orders"),
        policy.ApprovalRule(9, pipeline="other"),
    ]
    assert policy.rule_for(rules, pipeline="orders", labels={"tier": "gold"}).approvers == 3
    assert policy.rule_for(rules, pipeline="orders", labels={"tier": "iron"}).approvers == 2
    assert policy.rule_for(rules, pipeline="plain", labels={}).approvers == 1


def test_a_freeze_concerns_what_it_names_while_it_lasts() -> None:
    freeze = policy.Freeze(NOW, NOW + timedelta(hours=1), "sale", label="team")
    assert policy.frozen([freeze], pipeline="orders", labels={"team": "a"}, now=NOW) == [
        "Frozen until 2026-03-01 13:00 UTC: sale"
    ]
    assert policy.frozen([freeze], pipeline="orders", labels={}, now=NOW) == []
    assert policy.frozen([freeze], pipeline="orders", labels={"team": "a"}, now=NOW + timedelta(hours=1)) == []


# observation

WELL = Sample(rate=100.0, lag=10)


def test_it_waits_until_the_window_is_over_and_then_commits_or_asks() -> None:
    assert observe(ObservationRules(window=60), WELL, WELL, seconds=59).conclusion is Conclusion.WAIT
    assert observe(ObservationRules(window=60), WELL, WELL, seconds=60).conclusion is Conclusion.COMMIT
    assert (
        observe(ObservationRules(window=60, then=Conclusion.ASK), WELL, WELL, seconds=60).conclusion is Conclusion.ASK
    )


@pytest.mark.parametrize(
    ("now", "rule"),
    [
        (Sample(rate=100, lag=10, difference=1), "totals"),
        (Sample(rate=100, lag=10, gaps=1), "totals"),
        (Sample(rate=100, lag=10, overlaps=1), "totals"),
        (Sample(rate=100, lag=10, ended="BLOCKED"), "alive"),
        (Sample(rate=100, lag=10, restarts=2), "alive"),
    ],
)
def test_what_cannot_get_better_is_taken_back_at_once(now: Sample, rule: str) -> None:
    found = observe(ObservationRules(window=60), WELL, now, seconds=1)
    assert found.conclusion is Conclusion.ROLL_BACK
    assert [check.name for check in found.breaches] == [rule]


@pytest.mark.parametrize(
    ("now", "rule"),
    [
        (Sample(rate=100, lag=5000), "lag"),
        (Sample(rate=10, lag=11), "rate"),
        (Sample(rate=100, lag=10, dead_letters=1), "dead_letters"),
        (Sample(rate=100, lag=10, held="sinks.out"), "held"),
    ],
)
def test_what_may_get_better_has_the_whole_window(now: Sample, rule: str) -> None:
    assert observe(ObservationRules(window=60), WELL, now, seconds=30).conclusion is Conclusion.WAIT
    found = observe(ObservationRules(window=60), WELL, now, seconds=60)
    assert found.conclusion is Conclusion.ROLL_BACK
    assert [check.name for check in found.breaches] == [rule]
    asked = observe(ObservationRules(window=60, otherwise=Conclusion.ASK), WELL, now, seconds=60)
    assert asked.conclusion is Conclusion.ASK


def test_a_new_side_that_does_not_work_is_waited_for_and_never_committed() -> None:
    rules, away = ObservationRules(window=60), Sample(rate=200, away="BACKOFF: The next run follows.")
    assert observe(rules, WELL, away, seconds=61).conclusion is Conclusion.WAIT
    assert observe(rules, WELL, WELL, seconds=61).conclusion is Conclusion.COMMIT
    found = observe(rules, WELL, away, seconds=60 + RETURN_SECONDS)
    assert found.conclusion is Conclusion.ROLL_BACK
    assert [check.name for check in found.breaches] == ["at_work"]
    assert RETURN_SECONDS < MARGIN_SECONDS


def test_at_the_first_second_what_cannot_be_judged_yet_waits_and_fails_nothing() -> None:
    now = Sample(rate=0.0, lag=90_000, away="STARTING: The first batch is being read.")
    before = Sample(rate=100.0, lag=0)
    at_once = observe(ObservationRules(window=60), before, now, seconds=0, backlog=90_000)
    later = observe(ObservationRules(window=60), before, now, seconds=30, backlog=90_000)
    assert {check.name for check in at_once.waiting} == {"lag", "rate", "at_work"}
    assert at_once.breaches == []
    assert {check.name for check in later.breaches} == {"lag", "rate", "at_work"}
    assert observe(ObservationRules(window=0), before, now, seconds=0, backlog=90_000).waiting == []


def test_of_a_paused_pipeline_neither_lag_nor_rate_is_judged() -> None:
    now = Sample(rate=0.0, lag=50_000)
    found = observe(ObservationRules(window=60), Sample(), now, seconds=60, backlog=5_000, flows=False)
    assert found.conclusion is Conclusion.COMMIT
    assert not {"lag", "rate"} & {check.name for check in found.checks}


@pytest.mark.parametrize(
    ("before", "span", "now", "holds"),
    [
        (0, 60.0, 0, True),
        (0, 60.0, 1, False),  # not one where there were none
        (10, 120.0, 29, True),
        (10, 120.0, 35, False),  # twice the time: 20, and 3 * sqrt(20) by chance
        (10, 0.0, 19, True),
        (10, 0.0, 21, False),  # a time that nobody knows is taken for the same
    ],
)
def test_dead_letters_are_compared_with_those_of_as_long_a_time_before(
    before: int, span: float, now: int, holds: bool
) -> None:
    rules, old = ObservationRules(window=0), Sample(dead_letters=before, span=60.0)
    found = observe(rules, old, Sample(dead_letters=now, span=span), seconds=0)
    assert {check.name: check.holds for check in found.checks}["dead_letters"] is holds


def test_a_backlog_that_falls_is_no_breach_and_one_that_grows_is() -> None:
    now, rules = Sample(rate=100, lag=50_000), ObservationRules(window=0)
    ends = [observe(rules, WELL, now, seconds=0, backlog=backlog).conclusion for backlog in (50_001, 50_000, None)]
    assert ends == [Conclusion.COMMIT, Conclusion.ROLL_BACK, Conclusion.ROLL_BACK]


def test_what_comes_between_two_batches_is_no_lag() -> None:
    rules, before = ObservationRules(window=0), Sample(rate=200.0, lag=0)
    for lag, interval, conclusion in (
        (1_900, 5.0, Conclusion.COMMIT),
        (1_900, 0.2, Conclusion.ROLL_BACK),
        (2_100, 5.0, Conclusion.ROLL_BACK),
    ):
        found = observe(rules, before, Sample(rate=50.0, lag=lag), seconds=0, interval=interval)
        assert found.conclusion is conclusion, found.breaches


def test_a_slow_source_without_lag_is_no_breach() -> None:
    for idle in (Sample(rate=0.0, lag=0), Sample(rate=1.0, lag=10)):
        assert observe(ObservationRules(window=0), WELL, idle, seconds=0).conclusion is Conclusion.COMMIT


# choices


def test_every_open_stage_has_something_that_can_be_done() -> None:
    for stage in OPEN_STAGES:
        assert any(option.allowed for option in options(Standing(stage=stage))) or stage is MigrationStage.ROLLING_BACK


def test_the_way_back_has_its_price_until_commit() -> None:
    for stage in FORWARD_STAGES:
        option = allowed(Standing(stage=stage), MigrationAction.ROLLBACK)
        assert option is not None
        assert option.allowed
        assert option.impact is not None


def test_the_price_of_the_way_back_grows_with_what_was_done() -> None:
    untouched = allowed(Standing(stage=MigrationStage.PREFLIGHT), MigrationAction.ROLLBACK)
    ended = allowed(Standing(stage=MigrationStage.APPLYING, old_ended=True, restart=12), MigrationAction.ROLLBACK)
    after = Standing(
        stage=MigrationStage.VERIFYING,
        old_ended=True,
        promoted=True,
        planned=True,
        delivered=40,
        open_records=7,
        restart=12,
    )
    delivered = allowed(after, MigrationAction.ROLLBACK)
    assert untouched is not None
    assert untouched.impact is not None
    assert (untouched.impact.exact, untouched.impact.pause) == (True, 0)
    assert ended is not None
    assert ended.impact is not None
    assert (ended.impact.exact, ended.impact.pause) == (True, 12)
    assert delivered is not None
    assert delivered.impact is not None
    assert (delivered.impact.exact, delivered.impact.duplicates_max) == (False, 7)
    assert "40 records" in delivered.impact.words


@pytest.mark.parametrize("changed", [False, True])
def test_of_cancelling_and_rolling_back_only_the_one_that_applies_is_offered(changed: bool) -> None:
    now = Standing(stage=MigrationStage.APPLYING, old_ended=changed, paused=True)
    offered = {option.choice for option in options(now)} & {MigrationAction.ABORT, MigrationAction.ROLLBACK}
    assert offered == {MigrationAction.ROLLBACK if changed else MigrationAction.ABORT}
    asked = allowed(now, MigrationAction.ROLLBACK)
    assert getattr(asked, "allowed", False), "a request for the rollback is accepted at any time"


def test_after_a_change_it_is_taken_back_and_not_given_up() -> None:
    late = allowed(Standing(stage=MigrationStage.RESUMING, old_ended=True, promoted=True), MigrationAction.ABORT)
    assert late is not None
    assert not late.allowed


def test_a_final_stage_offers_the_way_back_only_where_it_was_committed() -> None:
    assert [option.choice for option in options(Standing(stage=MigrationStage.COMMITTED))] == [MigrationAction.REVERT]
    assert options(Standing(stage=MigrationStage.ABORTED)) == []


# log


def instant(seconds: float = 0.0, boot: str = "b") -> Instant:
    return Instant(NOW + timedelta(seconds=seconds), 100.0 + seconds, boot)


def test_a_wait_at_a_gate_is_counted_by_the_clock_of_its_boot_and_by_the_wall_elsewhere() -> None:
    log = progress.held(progress.log_of(steps()), 0, instant(), 3600.0)
    assert progress.is_held(log[0])
    assert not progress.intended(log, log[0]["name"])
    set_forward = Instant(NOW + timedelta(hours=2), 110.0, "b")
    assert progress.left(log[0], set_forward) == 3590
    assert progress.left(log[0], instant(3601, boot="other")) <= 0
    started = progress.started(log, 0, instant(50))
    assert not progress.is_held(started[0])
    assert progress.left(started[0], instant(50)) == started[0]["seconds"]


def test_the_intent_of_a_step_is_recorded_before_it_acts_and_its_end_afterwards() -> None:
    log = progress.started(progress.log_of(steps()), 0, instant())
    assert (log[0]["state"], log[0]["tried"], log[0]["intent_at"]) == ("running", 1, NOW.isoformat())
    assert progress.current(log) == 0
    log = progress.ended(log, 0, MigrationStepState.DONE, NOW, "ready", {"run": 2})
    assert (log[0]["state"], log[0]["evidence"]) == ("done", {"run": 2})
    assert progress.current(log) == 1


def test_a_deadline_counts_on_every_boot() -> None:
    row = progress.started(progress.log_of(steps()), 1, instant())[1]
    assert not progress.expired(row, instant(59.0))
    assert progress.expired(row, instant(60.0))
    elsewhere = Instant(NOW + timedelta(seconds=59), 5.0, "other")
    assert not progress.expired(row, elsewhere)
    assert progress.expired(row, replace(elsewhere, wall=NOW + timedelta(seconds=60)))


def test_turning_back_keeps_what_was_done_and_skips_what_was_not_begun() -> None:
    log = progress.ended(progress.started(progress.log_of(steps()), 0, instant()), 0, MigrationStepState.DONE, NOW, "")
    log = progress.started(log, 1, instant())
    way = back(paused=True, ending=False, ended=False, has_standby=True, promoted=False, life=LIFE)
    log = progress.with_rollback(log, way, NOW, "the sink hangs")
    assert [row["state"] for row in log[:3]] == ["done", "failed", "skipped"]
    assert log[1]["message"] == "the sink hangs"
    assert [row["name"] for row in log[-2:]] == ["resume_old", "discard_standby"]
    assert progress.current(log) == len(log) - 2


def test_what_failed_last_is_tried_anew() -> None:
    log = progress.started(progress.log_of(steps()), 0, instant())
    log = progress.ended(log, 0, MigrationStepState.FAILED, NOW, "no")
    assert progress.current(log) == 1
    assert progress.current(progress.tried_anew(log)) == 0


# proof

PLACE = {"source": "shop", "channel": "main", "topic": "t", "partition": 0}
PROOF = {"gate_closed": True, "batches_in_flight": 0, "positions_still": True, "balanced": True}


def test_a_pause_is_proven_only_when_every_item_holds() -> None:
    stands = [{**PLACE, "offset": 7}]
    whole: dict[str, Any] = {
        "phase": "PAUSED",
        "proof": PROOF,
        "positions": stands,
        "ledger": stands,
        "open_batches": 0,
    }
    assert proof.holds(proof.checklist(**whole))
    for change in (
        {"phase": "PAUSING"},
        {"proof": None},
        {"proof": {**PROOF, "batches_in_flight": 1}},
        {"open_batches": 1},
        {"ledger": [{**PLACE, "offset": 6}]},
    ):
        assert not proof.holds(proof.checklist(**{**whole, **change}))


# evidence

CONTENT: dict[str, Any] = {
    "pipeline": "orders",
    "kind": "revision",
    "stage": "COMMITTED",
    "id": "x",
    "reason": "<b>why</b>",
    "message": "",
    "created_by": "ana",
    "created_at": NOW,
    "ended_at": NOW,
    "plan": a_plan().model_dump(mode="json"),
    "plan_hash": "h",
    "approvals": [{"by": "ben", "at": "t", "hash": "h"}],
    "before": {"host": "alpha"},
    "pause": {"seen": 1.2, "expected": 4.0},
    "gap": 0,
    "overlap": 0,
    "totals": {"before": {"read": 1}, "after": {"read": 2}},
    "steps": [],
    "observed": [],
    "positions": [{**PLACE, "stopped_at": 7, "snapshot": 7, "started_at": 7, "gap": 0, "overlap": 0}],
    "findings": [],
}


def test_the_evidence_of_a_pause_is_in_words() -> None:
    place = {"source": "shop", "channel": "main", "topic": "orders", "partition": 1}
    items = proof.checklist(
        phase="PAUSED",
        proof={"batches_in_flight": 1},
        positions=[{**place, "offset": 12}],
        ledger=[{**place, "offset": 10}],
        open_batches=0,
    )
    told = {item.name: item.evidence for item in items}
    assert told["phase"] == "Phase PAUSED."
    assert told["in_flight"] == "1 in-flight batch."
    assert told["ledger"] == "shop.main orders/1: the agent is at 12, the ledger at 10. 0 open batches."
    silent = proof.checklist(phase="PAUSED", proof=None, positions=[], ledger=[], open_batches=2)
    assert silent[2].evidence == "The agent has not reported its batches."
    assert silent[-1].evidence == "2 open batches."


def test_evidence_that_nobody_has_touched_verifies() -> None:
    text = json.dumps(evidence.sealed(CONTENT), indent=3)
    assert evidence.verify(text).holds


@pytest.mark.parametrize("path", ["reason", "gap", "created_at"])
def test_evidence_that_was_changed_does_not_verify(path: str) -> None:
    document = evidence.sealed(CONTENT)
    document["content"][path] = "another"
    found = evidence.verify(json.dumps(document))
    assert not found.holds
    assert "was changed" in found.reason


@given(st.text() | st.binary().map(repr))
def test_anything_else_is_no_evidence_and_no_crash(text: str) -> None:
    assert not evidence.verify(text).holds


def test_gap_and_overlap_are_counted_per_partition() -> None:
    other = {**PLACE, "partition": 1}
    found = evidence.between(
        [{**PLACE, "offset": 10}, {**other, "offset": 10}], [{**PLACE, "offset": 12}, {**other, "offset": 7}]
    )
    assert [(row["gap"], row["overlap"]) for row in found] == [(2, 0), (0, 3)]


def test_the_page_shows_the_digest_and_runs_no_markup_of_its_content() -> None:
    document = evidence.sealed(CONTENT)
    page = report.html(document)
    assert document["sha256"] in page
    assert "&lt;b&gt;why&lt;/b&gt;" in page
    assert "<script" not in page
    assert "http://" not in page


def test_every_kind_can_be_asked_for() -> None:
    assert set(SPECS) == set(MigrationKind)
