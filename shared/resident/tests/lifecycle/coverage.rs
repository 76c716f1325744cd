//! Checks that each row in the state table has a test.
//!
//! Not here: tests for incidents, see docs/reference/resident-incidents.md.

/// Source files with tests.
const SOURCES: [&str; 2] = [include_str!("table.rs"), include_str!("model.rs")];

/// Rows in the state table.
const ROWS: [(&str, &str); 17] = [
    ("none, onboard", "onboarding_arms_start_and_deadline"),
    ("onboarding, completes", "provisioning_ends_warm"),
    (
        "onboarding, step fails",
        "failed_provisioning_keeps_the_slot",
    ),
    (
        "onboarding, past its budget",
        "provisioning_past_its_budget_releases_the_slot",
    ),
    (
        "warm, refresh alarm",
        "refresh_without_a_change_only_fetches",
    ),
    (
        "refreshing, succeeds",
        "refresh_of_a_moved_branch_replaces_the_snapshot",
    ),
    (
        "refreshing, step fails",
        "failed_refresh_serves_the_last_snapshot",
    ),
    ("serving, runtime dead", "dead_container_is_restored"),
    ("restoring, stamp verifies", "dead_container_is_restored"),
    (
        "restoring, fails or stalls",
        "failed_or_stalled_restore_is_down",
    ),
    (
        "restoring, stamp mismatch",
        "other_content_than_the_stamp_is_down",
    ),
    ("degraded, dead chain", "dead_chain_is_armed_again"),
    (
        "refreshing or restoring, stale",
        "old_cycle_without_work_is_stale",
    ),
    (
        "degraded (disk-full), re-probe",
        "full_disk_restarts_the_container_within_guards",
    ),
    ("down, three strikes", "three_strikes_rebuild_a_lost_tree"),
    ("settled, rebuild", "rebuild_discards_the_snapshot"),
    ("any, mint failure", "mint_failure_changes_no_state"),
];

#[test]
fn every_row_has_a_test() {
    for (what, name) in ROWS {
        let function = format!("fn {name}(");
        assert!(
            SOURCES.iter().any(|source| source.contains(&function)),
            "{what}: no test is called {name}"
        );
    }
}
