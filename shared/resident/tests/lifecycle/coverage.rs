//! The test of each row of the table of states, and of each known incident of systems of this kind.

/// Sources with tests.
const SOURCES: [&str; 13] = [
    include_str!("table.rs"),
    include_str!("incidents.rs"),
    include_str!("model.rs"),
    include_str!("../../src/disk.rs"),
    include_str!("../../src/names.rs"),
    include_str!("../../src/output.rs"),
    include_str!("../../src/pool.rs"),
    include_str!("../../src/refusal.rs"),
    include_str!("../../src/registry.rs"),
    include_str!("../../src/thread.rs"),
    include_str!("../../src/lifecycle/classify.rs"),
    include_str!("../../src/plan/plan_tests.rs"),
    include_str!("../../src/wire/wire_tests.rs"),
];

/// Rows of the table of states.
const ROWS: [(&str, &str); 17] = [
    ("none, onboard", "onboarding_arms_start_and_deadline"),
    ("onboarding, completes", "provisioning_ends_warm"),
    ("onboarding, step fails", "failed_provisioning_keeps_the_slot"),
    ("onboarding, past its budget", "provisioning_past_its_budget_releases_the_slot"),
    ("warm, refresh alarm", "refresh_without_a_change_only_fetches"),
    ("refreshing, succeeds", "refresh_of_a_moved_branch_replaces_the_snapshot"),
    ("refreshing, step fails", "failed_refresh_serves_the_last_snapshot"),
    ("serving, runtime dead", "dead_container_is_restored"),
    ("restoring, stamp verifies", "dead_container_is_restored"),
    ("restoring, fails or stalls", "failed_or_stalled_restore_is_down"),
    ("restoring, stamp mismatch", "other_content_than_the_stamp_is_down"),
    ("degraded, dead chain", "dead_chain_is_armed_again"),
    ("refreshing or restoring, stale", "old_cycle_without_work_is_stale"),
    ("degraded (disk-full), re-probe", "full_disk_restarts_the_container_within_guards"),
    ("down, three strikes", "three_strikes_rebuild_a_lost_tree"),
    ("settled, rebuild", "rebuild_discards_the_snapshot"),
    ("any, mint failure", "mint_failure_changes_no_state"),
];

/// Incidents that a rule of this crate rules out, by their number.
const INCIDENTS: [(u8, &str); 25] = [
    (1, "crash_at_every_step_ends_warm"),
    (2, "failed_mint_does_not_end_a_cycle"),
    (3, "reason_of_the_watchdog_is_not_parked"),
    (4, "killed_refresh_is_repeated_soon_three_times"),
    (5, "bound_ref_wins"),
    (6, "arriving_bytes_keep_a_restore_alive"),
    (8, "abandoned_restore_is_cancelled_before_down"),
    (12, "cycle_steps_touch_no_tree_of_a_thread"),
    (13, "interrupted_installation_is_resumed"),
    (15, "attach_and_commands_are_streamed"),
    (18, "cycle_steps_touch_no_tree_of_a_thread"),
    (19, "full_disk_is_not_recorded_as_an_unreachable_host"),
    (20, "attach_needs_room_beside_the_reserve"),
    (22, "forced_detach_kills_before_it_evicts"),
    (23, "sweep_keeps_recent_busy_and_dirty_trees"),
    (24, "older_image_is_replaced_when_idle"),
    (25, "credential_follows_the_expiry_of_its_token"),
    (26, "credential_follows_the_expiry_of_its_token"),
    (27, "lockfile_key_is_read_from_the_commit"),
    (31, "refusals_in_bodies_have_their_status_and_trace"),
    (33, "command_stays_in_its_shell"),
    (35, "failure_text_has_the_ends_of_both_streams"),
    (38, "reason_hides_secrets"),
    (40, "one_silent_resident_makes_the_sum_unknown"),
    (41, "overrides_only_lower_and_expire"),
];

/// Incidents of other parts: the daemon, the image, the bot, the edge, and deployment.
const ELSEWHERE: [(&str, &[u8]); 4] = [
    ("daemon and image", &[7, 9, 10, 11, 14, 16, 17, 34, 39]),
    ("bot", &[28, 30, 36, 37, 46]),
    ("container's object", &[21, 29]),
    ("edge and deployment", &[32, 42, 43, 44, 45]),
];

#[test]
fn named_tests_exist() {
    for (what, name) in ROWS.into_iter().chain(INCIDENTS.map(|(_, name)| ("incident", name))) {
        let function = format!("fn {name}(");
        assert!(SOURCES.iter().any(|source| source.contains(&function)), "{what}: no test is called {name}");
    }
}

#[test]
fn every_incident_has_a_place() {
    let mut numbers: Vec<u8> = INCIDENTS.iter().map(|(number, _)| *number).collect();
    numbers.extend(ELSEWHERE.iter().flat_map(|(_, numbers)| numbers.iter().copied()));
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=46).collect::<Vec<u8>>());
}
