"""The faults that must be survived, each with the tests that produce it, or with the reason why none does.

A test is named by its node id below tests/, without parameters: all of them run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Fault:
    """One row. Either `tests` or `reason`."""

    number: int
    name: str
    tests: tuple[str, ...] = ()
    reason: str | None = None


def belongs(node: str, test: str) -> bool:
    """Whether a node id is that of a test, with whatever parameters."""
    return node == test or node.startswith(f"{test}[")


def _fault(number: int, name: str, *tests: str, reason: str | None = None) -> Fault:
    return Fault(number, name, tuple(f"tests/{test}" for test in tests), reason)


@cache
def functions(path: Path) -> dict[str, int]:
    """The tests of a file, `Class::name` where they are methods, with their lines."""
    found: dict[str, int] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            inner = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found.update({f"{node.name}::{each.name}": each.lineno for each in inner})
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = node.lineno
    return {name: line for name, line in found.items() if name.rpartition("::")[2].startswith("test_")}


def in_order(tests: Iterable[str]) -> list[str]:
    """File by file, and within a file as they stand there: some go on where the one before them ended."""

    def place(test: str) -> tuple[str, int]:
        file, _, name = test.partition("::")
        return file, functions(ROOT.parent / file)[name]

    return sorted(tests, key=place)


_HOSTS = (
    "simulation/test_hosts_share_nothing.py::test_whatever_happens_to_two_hosts_one_of_them_at_most_runs_a_pipeline"
)
_OWNERSHIP = "db/test_ownership.py"
_STALE = f"{_OWNERSHIP}::test_a_worker_stopped_past_its_lease_at_any_instant_and_continued_changes_nothing"
_RACE = (
    "chaos/test_ownership.py::test_of_many_pairs_of_starts_each_pipeline_gets_one_holder_whoever_is_stopped_or_killed"
)
_HEALTHY = "chaos/test_broker_connection.py"
_STRUCK = "chaos/test_migration_kills.py"
_ESCALATION = "unit/keeper/test_escalation.py"
_SILENT = "db/test_silent_hosts.py"
_STOPPED = "chaos/test_stop_escalation.py"
_LOGS = "agent/test_guard.py"
_BEHIND = (
    f"{_LOGS}::test_what_happens_while_it_is_stopped_is_found_before_a_record_is_read_"
    "and_each_decision_does_what_it_said"
)
_MADE_AGAIN = (
    f"{_LOGS}::test_a_group_that_is_lost_or_moved_is_told_and_written_again_and_a_topic_made_again_ends_the_run"
)
_AT_ONCE = f"{_LOGS}::test_what_is_wrong_with_each_source_is_found_at_once_and_one_decision_leads_all_on_to_the_record"
_CHOICES = (
    "agent/test_guard_choices.py::test_each_choice_says_what_it_skips_and_replays_and_is_agreed_with_once_it_is_made"
)
_FORGOTTEN = "db/test_reconciling.py"
_WATCHED = "db/test_external_groups.py"
_NETWORK = "chaos/test_data_plane_network.py"
_BROKEN = f"{_NETWORK}::test_a_broken_network_to_the_broker_costs_no_record"
_MIGRATIONS = "simulation/test_migrations_survive_everything.py"
_STANDBYS = "simulation/test_standby_survives_everything.py"
_SIMULATION = "simulation/test_supervisor_survives_everything.py"
_ANYWHERE = f"{_SIMULATION}::test_whatever_happens_there_is_one_agent_at_most_and_the_desired_state_is_reached"
_START = f"{_SIMULATION}::test_a_start_survives_the_death_of_the_worker_at_every_point"
_KILLS = "chaos/test_kills_in_mid_stream.py"
_PLANE = f"{_KILLS}::test_an_agent_does_not_care_about_the_death_of_the_control_plane"
_WHOLE = f"{_KILLS}::test_nothing_is_missing_and_there_was_never_a_second_agent"
_CRASHES = "chaos/test_crash_points.py::test_an_agent_that_dies_anywhere_loses_nothing_and_doubles_what_was_counted"
_PAIRS = (
    "chaos/test_data_plane_pairs.py"
    "::test_nothing_is_missing_and_doubles_were_announced_although_the_agent_dies_with_a_batch_in_hand"
)
_RATE = "agent/test_kills.py::test_killed_processes_at_full_rate_lose_nothing_and_double_nothing"
_BAD = "agent/test_dead_letters.py::test_four_bad_records_of_ten_thousand_are_letters_and_a_mended_one_comes_back"
_INTERCEPTORS = "agent/test_python_interceptors.py"
_INTERCEPTOR_RUNS = "agent/test_python_interceptor_runs.py"
_LATE = f"{_INTERCEPTOR_RUNS}::test_an_initialisation_that_comes_late_blocks_and_nothing_is_done"
_HELD = "agent/test_holding.py"
_CHANNELS = (
    "agent/test_channels.py::test_memory_channels_share_one_read_and_a_file_channel_is_a_log"
    "_and_none_loses_anything_when_the_driver_dies"
)
_TAILDIR = "agent/test_source_taildir.py::test_rotations_and_kills_lose_no_line_and_double_none"
_FILES = "unit/agent/test_file_sources.py"
_VALID = "unit/domain/definitions/test_validation.py"
_PROCESSES = "contracts/test_processes.py"
_GUARD = "unit/agent/positions/test_guard.py"
_DECIDE = "unit/supervisor/decisions/test_decide.py"

FAULTS = [
    _fault(1, "Worker killed before it spawns an agent", _START, _ANYWHERE),
    _fault(2, "Worker killed after the spawn, before the process is recorded", _START, _ANYWHERE),
    _fault(
        3,
        "Worker killed in the middle of a stop",
        f"{_SIMULATION}::test_deadlines_of_a_stop_survive_the_worker",
        _STALE,
        _ANYWHERE,
    ),
    _fault(4, "Pool process killed", _ANYWHERE),
    _fault(
        5,
        "Task outlives the visibility timeout",
        f"{_SIMULATION}::test_a_second_worker_waits_for_the_first_and_takes_over_when_it_is_dead",
    ),
    _fault(6, "Supervisor dead", _PLANE, _WHOLE),
    _fault(
        7,
        "Restart of the worker service",
        "contracts/test_service_units.py::test_agents_outlive_the_end_of_the_workers_process_group_and_session",
        "contracts/test_service_units.py::test_the_workers_unit_ends_the_worker_alone_and_starts_it_again_whatever_ended_it",
    ),
    _fault(8, "Redis killed and its data lost", _PLANE, "db/test_event_stream.py::test_a_stream_outlives_redis"),
    _fault(
        9,
        "Worker alive and unresponsive after Redis came back",
        f"{_HEALTHY}::test_a_worker_hears_again_after_every_restart_of_redis_or_is_restarted",
        f"{_HEALTHY}::test_a_deaf_worker_ends_itself_with_a_code_of_its_own_and_its_beat_ends_with_it",
        "unit/supervisor/test_broker_connection.py::test_one_deaf_queue_ends_the_worker_within_ten_seconds_and_is_named",
    ),
    _fault(
        10,
        "Redis full or evicting",
        f"{_HEALTHY}::test_a_full_redis_is_an_error_that_can_be_seen",
        "unit/supervisor/test_broker_connection.py::test_a_full_broker_is_told_as_such",
    ),
    _fault(
        11,
        "Database commit done, reply lost",
        _ANYWHERE,
        "db/test_supervisor.py::test_every_tick_is_harmless_when_done_twice",
        "db/test_idempotency.py::test_of_many_requests_with_one_key_at_once_one_acts",
    ),
    _fault(
        12,
        "Database down for minutes",
        "db/test_supervisor.py::test_a_database_that_is_away_ends_the_tick_and_the_next_one_goes_on",
    ),
    _fault(
        13,
        "Database restored from an older backup",
        f"{_FORGOTTEN}::test_runs_that_the_database_forgot_are_asked_about_and_nothing_is_started",
        f"{_FORGOTTEN}::test_an_agent_that_lives_is_taken_over_and_not_doubled",
        f"{_FORGOTTEN}::test_a_stop_that_the_database_forgot_is_not_undone",
        f"{_FORGOTTEN}::test_believing_the_host_takes_its_journals_in_and_goes_on_without_a_gap",
        "db/test_backup.py::test_a_restore_brings_every_row_back_as_it_was",
    ),
    _fault(14, "Agent killed before Spark logs a batch's offsets", _CRASHES, _RATE),
    _fault(15, "Agent killed after the offsets were logged, before the sink", _CRASHES),
    _fault(16, "Agent killed while the sink gets the batch", _CRASHES, _PAIRS),
    _fault(17, "Agent killed after the sink, before Spark's commit", _CRASHES),
    _fault(
        18,
        "Only the JVM, the driver or the keeper dies",
        _RATE,
        "agent/test_kills.py::test_ten_kills_at_random_instants_of_one_stream_lose_nothing_and_double_nothing",
        "agent/test_kills.py::test_kills_at_random_instants_of_real_time_mode_lose_nothing_and_double_nothing",
        f"{_KILLS}::test_an_agent_whose_process_is_killed_comes_back_as_a_new_run",
    ),
    _fault(
        19,
        "Agent exits 0 without a request",
        f"{_DECIDE}::TestEnds::test_an_end_that_nobody_asked_for_is_followed_by_another_run",
    ),
    _fault(
        20,
        "Crash loop",
        f"{_DECIDE}::TestEnds::test_the_budget_of_restarts_is_finite",
        f"{_DECIDE}::TestEnds::test_the_back_off_doubles_and_saturates",
        "db/test_crash_loops.py::test_three_crashes_in_a_row_with_one_batch_in_hand_block_and_name_it",
    ),
    _fault(21, "Agent outlives a restart of everything else", _PLANE, _WHOLE, _RACE),
    _fault(
        22,
        "Double start",
        _RACE,
        "unit/keeper/test_keeper.py::test_a_second_agent_of_one_pipeline_is_refused_while_the_first_lives",
        "db/test_lifecycle.py::test_of_many_different_requests_at_once_all_are_answered_and_one_operation_stays_open",
        _ANYWHERE,
    ),
    _fault(23, "Worker frozen past its lease and continued", _RACE, _STALE, _ANYWHERE, _HOSTS),
    _fault(
        24,
        "Process id used again",
        _RACE,
        f"{_PROCESSES}::test_a_reused_pid_or_another_boot_is_never_signalled",
        _ANYWHERE,
    ),
    _fault(
        25,
        "Reboot",
        _ANYWHERE,
        _HOSTS,
        f"{_SILENT}::TestFence::test_a_restarted_host_finds_its_run_dead_by_the_boot_id",
        f"{_SIMULATION}::test_a_pause_asked_for_before_a_reboot_is_the_first_command_after_it",
    ),
    _fault(
        26,
        "First heartbeat never written",
        f"{_SIMULATION}::test_an_agent_that_never_finishes_initialising_is_ended_and_blocks",
    ),
    _fault(27, "Heartbeat alive, work dead", f"{_DECIDE}::TestPhases::test_lag_without_progress_is_a_stall"),
    _fault(
        28,
        "Heartbeats cannot be written",
        _HOSTS,
        f"{_SILENT}::TestFence::test_an_agent_that_nobody_looks_after_stops_itself_at_the_end_of_its_lease",
        f"{_SILENT}::TestFence::test_an_agent_that_does_not_stop_is_killed_after_the_grace",
        f"{_SILENT}::TestFence::test_another_host_takes_over_by_time_alone_and_never_before_nothing_lives",
    ),
    _fault(
        29,
        "Wall clock an hour off",
        _ANYWHERE,
        _HOSTS,
        f"{_OWNERSHIP}::TestLease::test_clocks_that_jump_decide_nothing",
        f"{_SILENT}::TestFence::test_a_wall_clock_that_jumps_ends_no_lease",
    ),
    _fault(
        30,
        "Stop ignored",
        f"{_STOPPED}::test_a_component_that_an_interrupt_ends_is_not_killed",
        f"{_SIMULATION}::test_a_stop_is_never_blocked_by_a_driver_that_ignores_everything",
        "unit/keeper/test_keeper.py::test_a_driver_that_ignores_everything_is_killed_at_the_deadline",
    ),
    _fault(
        31,
        "Cancel hook blocks",
        f"{_STOPPED}::test_a_component_whose_close_hangs_is_interrupted_again_and_not_killed",
        f"{_ESCALATION}::test_an_interrupt_is_repeated_and_each_one_dumps_the_stacks_with_the_component_at_work",
    ),
    _fault(
        32,
        "Sink hangs where nothing interrupts it",
        f"{_STOPPED}::test_a_component_that_nothing_interrupts_is_killed_at_the_deadline",
        f"{_STOPPED}::test_the_watchdog_in_the_driver_needs_neither_the_interpreters_lock_nor_a_keeper",
        f"{_ESCALATION}::test_a_driver_that_holds_the_interpreters_lock_is_dumped_and_killed_on_time",
    ),
    _fault(
        33,
        "Interceptor's initialisation raises",
        f"{_INTERCEPTOR_RUNS}::test_a_bad_initialize_ends_the_run_before_anything_is_read",
    ),
    _fault(
        34, "Initialisation hangs", f"{_SIMULATION}::test_an_agent_that_never_finishes_initialising_is_ended_and_blocks"
    ),
    _fault(
        35,
        "Regular expression or loop without end",
        "unit/domain/regex/test_safety.py::test_patterns_whose_time_can_explode_are_refused",
        "contracts/test_java_regex.py::test_a_pattern_that_passes_ends_on_hostile_text",
    ),
    _fault(
        36,
        "Agent frozen",
        "chaos/test_frozen_processes.py::test_a_silent_agent_is_unknown_and_never_replaced_and_comes_back",
    ),
    _fault(
        37,
        "Agent out of memory",
        "chaos/test_out_of_memory.py::test_an_agent_without_memory_ends_with_its_cause_and_loses_nothing",
    ),
    _fault(
        38,
        "Grandchildren survive",
        "unit/keeper/test_keeper.py::test_a_killed_driver_is_recorded_and_its_children_go_with_it",
        "agent/test_source_exec.py::test_lines_arrive_and_the_command_dies_with_its_agent_and_even_with_its_keeper",
    ),
    _fault(39, "Broker killed", f"{_NETWORK}::test_a_broker_that_is_killed_again_and_again_costs_no_record"),
    _fault(
        40,
        "Broker gone during a stop",
        f"{_HELD}::test_a_batch_is_held_while_its_sink_is_away_and_delivered_when_it_is_back",
    ),
    _fault(
        41,
        "Network partition",
        _BROKEN,
        "chaos/test_data_plane_deadlines.py::test_a_broker_that_hangs_is_given_up_at_the_deadline_and_what_it_got_was_announced",
    ),
    _fault(
        42,
        "Slow or half-open sink",
        f"{_NETWORK}::test_a_server_whose_answers_do_not_come_is_given_up_in_time_and_what_it_took_was_announced",
        "chaos/test_data_plane_deadlines.py::test_a_hung_writer_is_killed_at_the_deadline_while_its_neighbour_keeps_its_rate",
    ),
    _fault(43, "Offsets of the group vanish", _MADE_AGAIN, _BEHIND),
    _fault(
        44,
        "Retention passed the position",
        _BEHIND,
        _CHOICES,
        "agent/test_refusals.py::test_records_that_retention_takes_during_a_pause_block_the_resume",
    ),
    _fault(45, "Position beyond the end", _BEHIND, _AT_ONCE, _CHOICES, f"{_GUARD}::test_position_against_log"),
    _fault(
        46,
        "Topic recreated",
        _MADE_AGAIN,
        _AT_ONCE,
        _CHOICES,
        f"{_GUARD}::test_offsets_of_another_log_are_no_positions",
        f"{_LOGS}::test_a_cluster_that_is_replaced_behind_its_address_is_another_log",
        "chaos/test_decided_positions.py::test_a_decision_to_go_back_reads_all_again_with_the_next_start",
    ),
    _fault(
        47,
        "Partitions added",
        _BEHIND,
        f"{_GUARD}::test_ranges_leave_out_what_does_not_move_and_start_new_partitions_at_zero",
    ),
    _fault(48, "Partition or topic gone", f"{_GUARD}::test_position_against_log"),
    _fault(
        49,
        "Checkpoint deleted",
        _BEHIND,
        "chaos/test_refused_starts.py::test_a_lost_checkpoint_is_refused_and_taken_again_when_it_is_back",
    ),
    _fault(
        50,
        "Checkpoint damaged",
        _BEHIND,
        "chaos/test_decided_positions.py::test_a_gap_is_shown_in_the_status_and_a_reviewed_decision_leads_on",
        f"{_GUARD}::test_a_damaged_entry_in_the_middle_is_no_position",
        f"{_GUARD}::test_a_torn_newest_plan_that_the_ledger_knows_is_written_again",
        f"{_GUARD}::test_any_other_file_that_is_torn_is_damage",
        f"{_GUARD}::test_a_batch_that_is_missing_between_others_is_damage",
    ),
    _fault(
        51,
        "Plan changed on an old checkpoint",
        "unit/supervisor/decisions/test_lineage.py::test_other_topics_or_queries_begin_a_new_lineage",
    ),
    _fault(
        52,
        "Disk full",
        "chaos/test_full_disk.py::test_a_full_disk_ends_a_run_with_nothing_half_written_and_the_next_one_goes_on_when_there_is_room",
        "chaos/test_full_disk.py::test_a_log_that_cannot_be_written_blocks_nobody_and_says_afterwards_what_it_lost",
        "db/test_full_database.py::test_a_full_database_takes_in_nothing_by_halves_and_everything_once_when_there_is_room",
    ),
    _fault(53, "Poison message", _BAD),
    _fault(54, "Message that the sink refuses for ever", _BAD),
    _fault(
        55,
        "Huge message",
        "chaos/test_huge_message.py::test_a_record_of_20_mb_is_a_dead_letter_and_holds_nobody_up",
        _BAD,
    ),
    _fault(56, "Event that no channel takes", _BAD),
    _fault(
        57,
        "One required channel full",
        "agent/test_source_http.py::test_a_full_log_behind_a_sink_that_fails_is_answered_with_503_and_names_the_sink",
        _CHANNELS,
    ),
    _fault(
        58,
        "All sinks dead",
        f"{_HELD}::test_a_batch_is_held_while_its_sink_is_away_and_delivered_when_it_is_back",
        "simulation/test_sink_groups_lose_no_batch.py::test_failover_groups_lose_no_batch",
    ),
    _fault(
        59,
        "Tailed file rotated, truncated, its inode used again",
        _TAILDIR,
        f"{_FILES}::test_a_renamed_file_is_followed_even_where_its_new_name_does_not_match",
        f"{_FILES}::test_what_was_truncated_is_read_from_its_copy_and_the_copy_is_not_read_again",
        f"{_FILES}::test_what_is_truncated_without_a_copy_is_told_with_its_size",
        f"{_FILES}::test_an_inode_that_is_used_again_goes_on_behind_the_old_file",
    ),
    _fault(
        60,
        "Malformed definition",
        f"{_VALID}::test_findings_of_all_kinds_come_at_once",
        f"{_VALID}::test_no_data_whatever_raises",
        f"{_VALID}::test_no_change_of_a_good_definition_raises",
        f"{_VALID}::test_no_text_whatever_raises",
        f"{_VALID}::test_no_damage_to_a_good_text_raises",
        "db/test_api_pipelines.py::test_a_wrong_definition_is_refused_with_every_finding",
    ),
    _fault(
        61,
        "Migration killed at each stage",
        f"{_MIGRATIONS}::test_it_survives_the_death_of_the_worker_at_every_point",
        "simulation/test_cluster_migrations.py::test_it_survives_the_death_of_the_worker_at_every_point",
        f"{_MIGRATIONS}::test_the_death_of_either_agent_at_every_stage_leaves_one_that_works",
        f"{_MIGRATIONS}::test_the_other_host_takes_a_migration_over_whose_runner_is_silent",
        f"{_MIGRATIONS}::test_whatever_happens_one_configuration_owns_the_pipeline_and_every_migration_ends",
        f"{_STRUCK}::test_whoever_dies_at_whatever_stage_it_ends_and_the_pipeline_goes_on",
        f"{_STRUCK}::test_after_all_of_that_everything_is_there_once",
        "chaos/test_migrations.py::test_a_new_side_that_cannot_begin_leaves_the_old_one_alone",
        "chaos/test_migrations.py::test_a_release_that_damages_records_takes_itself_back",
        "chaos/test_migrations.py::test_a_new_side_that_is_killed_in_a_batch_and_rolled_back_has_delivered_each_record_once",
        "chaos/test_migrations.py::test_a_revision_is_changed_and_taken_back_under_load",
        "chaos/test_host_migrations.py::test_a_pipeline_moves_to_another_host_and_home_again",
        "chaos/test_host_migrations.py::test_a_move_is_taken_back_at_every_gate_and_after_the_cut",
        "chaos/test_host_migrations.py::test_an_interceptor_that_cannot_initialise_costs_the_old_agent_nothing",
        "chaos/test_host_migrations.py::test_five_pipelines_flow_on_one_host",
        "chaos/test_host_migrations.py::test_a_host_is_emptied_and_who_cannot_begin_elsewhere_stays",
        "chaos/test_cluster_migrations.py::test_a_source_moves_by_a_mirrors_mapping_and_is_taken_back",
        "chaos/test_cluster_migrations.py::test_a_source_moves_by_a_mirrors_mapping_and_home_by_time",
    ),
    _fault(
        62,
        "Drain never ends",
        f"{_SIMULATION}::test_a_pause_that_cannot_be_proven_is_given_up_and_the_pipeline_goes_on",
        f"{_SIMULATION}::test_a_pause_that_cannot_be_proven_stays_where_it_is_if_that_was_asked_for",
        f"{_SIMULATION}::test_a_drain_that_could_not_finish_leaves_the_pipeline_as_it_was",
        f"{_MIGRATIONS}::test_a_drain_that_does_not_end_is_given_up_and_the_old_agent_goes_on",
        f"{_MIGRATIONS}::test_what_could_not_be_drained_is_asked_once_what_it_is_doing",
        "chaos/test_host_migrations.py::test_a_pause_that_a_hung_sink_holds_up_is_given_up_and_says_what_was_at_work",
    ),
    _fault(
        63,
        "Commit missing while the coordinator moves",
        f"{_WATCHED}::test_a_missing_commit_is_not_believed_until_it_is_missing_three_times",
        "agent/test_kafka_as_people_run_it.py::test_a_group_is_taken_over_and_a_missing_commit_is_never_guessed",
    ),
    _fault(
        64,
        "Interceptor fails in a later worker or lazily",
        f"{_INTERCEPTORS}::test_an_initialisation_that_comes_late_fails_the_batch_whatever_on_error_says",
        _LATE,
    ),
    _fault(
        65,
        "Component calls exit while the start is under way",
        "unit/agent/startup/test_preflight.py::test_every_way_of_failing_is_a_finding_of_its_own_component",
    ),
    _fault(
        66,
        "Range skipped between batches, runs or lineages",
        "db/test_journals.py::test_a_gap_is_counted_and_told",
        "chaos/test_data_plane_continuity.py::test_a_checkpoint_that_was_edited_forward_is_a_gap_of_so_many_records_and_nothing_is_read",
    ),
    _fault(
        67,
        "Commit of an external consumer group jumps forward",
        f"{_WATCHED}::test_jumps_are_events_with_before_and_after_and_coordinator",
        "agent/test_external_groups.py::test_commits_that_vanish_go_back_and_go_on_beyond_the_log_are_seen",
    ),
    _fault(
        68,
        "One stuck channel behind a push source",
        "chaos/test_data_plane_ingest.py::test_a_required_sink_that_hangs_ends_in_503_which_names_it",
        "chaos/test_data_plane_ingest.py::test_an_optional_sink_that_hangs_does_not_hold_the_others",
        "agent/test_source_http.py::test_an_optional_channel_whose_sink_fails_is_overrun_counted_and_holds_nobody",
    ),
    _fault(
        69,
        "Stop in the middle of a failover",
        "unit/agent/test_sink_processors.py::test_a_batch_that_is_given_up_penalises_nobody",
    ),
    _fault(
        70,
        "Run directory removed while running",
        "chaos/test_page_truth.py::test_a_run_that_lost_its_journal_is_never_shown_as_healthy",
        "simulation/test_supervisor_survives_everything.py::test_an_agent_whose_directory_is_removed_is_unknown_and_can_be_stopped",
        "simulation/test_supervisor_survives_everything.py::test_a_stop_that_cannot_be_written_is_enforced_all_the_same",
    ),
    _fault(
        71,
        "Journal shortened, changed or replaced while running",
        "chaos/test_page_truth.py::test_a_run_that_lost_its_journal_is_never_shown_as_healthy",
        "unit/agent/delivery/test_journal.py::test_nothing_is_written_to_a_journal_that_another_process_has_damaged",
        "unit/agent/positions/test_guard.py::test_a_batch_whose_plan_a_damaged_journal_has_lost_may_have_touched_its_sink",
    ),
    _fault(
        72,
        "All processes of an agent halted",
        "chaos/test_page_truth.py::test_an_agent_that_is_halted_is_unknown_with_what_continues_it",
        "db/test_lag.py::test_the_lag_behind_a_silent_agent_is_asked_of_the_brokers_and_shown",
    ),
    _fault(
        73,
        "Topic recreated: which choice is recommended",
        "db/test_positions.py::test_of_a_recreated_topic_the_choice_that_skips_nothing_is_first_and_says_why",
        "unit/domain/positions/test_choices.py::test_what_skips_least_is_first_and_what_means_nothing_is_left_out",
        "unit/domain/positions/test_choices.py::test_no_later_choice_skips_less",
        _CHOICES,
    ),
    _fault(
        74,
        "Database locked or away",
        "db/test_database_away.py::test_a_write_while_another_process_holds_the_lock_is_answered_and_not_half_done",
        "db/test_database_away.py::test_a_database_that_cannot_even_be_read_is_said_at_every_door",
        "db/test_database_away.py::test_a_stream_outlives_a_database_that_is_away",
        "db/test_database_away.py::test_the_command_line_says_so_and_ends_with_its_exit_code",
        "db/test_database_away.py::test_a_server_with_a_postgres_that_cannot_be_reached_answers_every_door",
    ),
    _fault(
        75,
        "Disk of the run directory full: shown, warned of before, resumed by itself",
        "chaos/test_full_disk.py::test_a_full_disk_is_shown_within_seconds_and_the_stream_resumes_by_itself",
        "chaos/test_full_disk.py::test_the_reserve_has_room_for_the_last_words_of_a_run_on_a_disk_that_is_really_full",
        "db/test_disk.py::test_a_full_disk_is_shown_everywhere_within_a_tick_and_forgotten_when_there_is_room",
        "db/test_disk.py::test_a_disk_that_is_low_is_a_warning_of_host_and_pipeline",
        "db/test_disk.py::test_a_start_that_the_disk_has_no_room_for_is_made_when_it_has",
    ),
    _fault(
        76,
        "Source away inside a batch",
        "chaos/test_page_truth.py::test_the_side_that_is_away_is_the_one_that_is_named",
        "agent/test_holding.py::test_a_source_that_goes_away_inside_a_batch_is_named_and_no_sink_is_blamed",
        "unit/agent/delivery/test_attribution.py::test_no_member_of_a_group_is_penalized_for_its_source",
    ),
    _fault(
        77,
        "Sink away during a stop",
        "agent/test_holding.py::test_a_drain_does_not_wait_for_a_sink_that_was_away_before_it",
        "chaos/test_page_truth.py::test_the_side_that_is_away_is_the_one_that_is_named",
        "unit/supervisor/decisions/test_decide.py::TestPhases::test_a_drain_that_something_holds_up_says_so_at_once",
    ),
    _fault(
        78,
        "Broker away when a user starts a pipeline",
        f"{_SIMULATION}::test_a_broker_that_is_away_at_a_users_start_is_waited_for",
        f"{_SIMULATION}::test_a_broker_that_stays_away_spends_the_restarts_and_names_itself",
        "unit/agent/test_unreachable_brokers.py::test_only_a_cause_that_may_go_away_is_retryable",
    ),
    _fault(
        79,
        "What others do beside a pipeline: second supervisors, deaths during a migration, changed topics, odd records",
        f"{_SIMULATION}::test_a_second_worker_waits_for_the_first_and_takes_over_when_it_is_dead",
        f"{_STRUCK}::test_whoever_dies_at_whatever_stage_it_ends_and_the_pipeline_goes_on",
        f"{_STRUCK}::test_after_all_of_that_everything_is_there_once",
        "agent/test_changing_topics.py::test_a_sink_topic_that_is_created_again_gets_every_later_record",
        "agent/test_changing_topics.py::test_a_transaction_that_is_left_open_holds_records_back_and_loses_none",
        "chaos/test_soak.py::test_a_short_soak_loses_nothing_and_its_page_is_true",
    ),
    _fault(
        80,
        "Agent killed while its sink group switches",
        "agent/test_groups.py::test_a_jvm_that_is_killed_around_a_switch_of_sinks_leaves_each_record_once",
        "simulation/test_exactly_once.py::test_each_record_is_there_once_but_for_those_that_came_late",
    ),
    _fault(
        81,
        "It cannot be known what a sink holds of a batch",
        "agent/test_deduplication.py::test_a_tail_that_is_gone_is_said_and_the_bound_contains_what_was_delivered_twice",
        "agent/test_groups.py::test_a_member_that_is_frozen_with_a_batch_is_waited_for_or_its_part_is_counted",
        "agent/test_deduplication.py::test_a_sink_whose_tail_lost_records_says_so_and_its_bound_contains_what_was_there",
        "simulation/test_exactly_once.py::test_the_bound_of_a_silent_member_counts_the_attempts_of_all_runs",
    ),
    _fault(
        82,
        "A run dies beside its warm standby, or the standby alone",
        "chaos/test_warm_standby.py::test_the_second_agent_goes_on_where_the_first_was_killed",
        "chaos/test_warm_standby.py::test_another_standby_follows_whose_own_death_nobody_notices",
        "chaos/test_warm_standby.py::test_nothing_is_missing_and_nothing_came_twice",
        f"{_STANDBYS}::test_whatever_happens_one_agent_consumes_at_most_and_no_record_is_read_twice_or_never",
        f"{_STANDBYS}::test_a_takeover_survives_the_death_of_the_worker_at_every_point",
        "db/test_warm_standby.py::test_it_takes_over_from_a_killed_run_and_another_one_follows",
    ),
    _fault(
        83,
        "Malformed messages and entries in Redis",
        f"{_HEALTHY}::test_messages_that_no_process_of_headgate_wrote_end_no_worker",
        f"{_HEALTHY}::test_a_queue_that_is_made_something_else_ends_no_worker",
        "attacks/test_redis.py::test_a_forged_event_reaches_no_viewer_and_a_malformed_entry_ends_nothing",
    ),
    _fault(
        84,
        "A revision filters every record",
        "chaos/test_filtering_revisions.py::test_the_plan_predicts_that_nothing_is_delivered",
        "chaos/test_filtering_revisions.py::test_it_does_not_start_before_the_number_is_acknowledged",
        "chaos/test_filtering_revisions.py::test_forced_through_it_is_rolled_back_by_its_outcome_and_no_record_is_lost",
    ),
]
