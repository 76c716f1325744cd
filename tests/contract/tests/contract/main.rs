//! The state Worker's contract, route by route, of the stores in this process and of the built Worker (document 2
//! sections 4.2, 4.3, 5, 7, 8; state-worker supplement 1 to 10.1 and 14).
//!
//! One snapshot a route in `snapshots/`, and one of what comes before any route; both subjects are held against the
//! same file. A case says what it expects by status and field; the snapshot pins the whole body.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::needless_pass_by_value, reason = "bodies are built inside one another")]

use ars_tests_contract::{Native, Subject, Table, Workerd, answers, of_any_path};

mod config;
mod coverage;
mod friction;
mod ledger;
mod memory;
mod runs;
mod schedules;
mod transcripts;
mod wire;

/// Makes a table; its times are told from the given one.
type Make = fn(i64) -> Table;

macro_rules! routes {
    ($($name:ident: $make:path),+ $(,)?) => {
        /// Every table, by the name of its snapshot.
        const TABLES: &[(&str, Make)] = &[$((stringify!($name), $make)),+];

        mod in_process {
            use super::*;
            $(#[test] fn $name() { hold(stringify!($name), $make, &mut Native::start()); })+
        }

        mod on_workerd {
            use super::*;
            $(#[test] fn $name() { hold_workerd(stringify!($name), $make); })+
        }
    };
}

routes! {
    retrieve: memory::retrieve::table,
    write: memory::write::table,
    list: memory::list::table,
    forget: memory::forget::table,
    friction_record: friction::record::table,
    friction_recent: friction::recent::table,
    schedules_record: schedules::record::table,
    schedules_latest: schedules::latest::table,
    config_get: config::get::table,
    config_put: config::put::table,
    runs_put: runs::put::table,
    runs_get: runs::get::table,
    runs_summary: runs::summary::table,
    runs_list: runs::list::table,
    runs_events: runs::events::table,
    runs_delete: runs::delete::table,
    runs_claim: ledger::claim::table,
    runs_live: ledger::live::table,
    runs_step: ledger::step::table,
    runs_heartbeat: ledger::heartbeat::table,
    runs_append: ledger::append::table,
    runs_state: ledger::state::table,
    runs_stop: ledger::stop::table,
    runs_handoff: ledger::handoff::table,
    runs_finishing: ledger::finishing::table,
    runs_finish: ledger::finish::table,
    runs_reclaim: ledger::reclaim::table,
    runs_live_events: ledger::live_events::table,
    runs_inbox: ledger::inbox::table,
    runs_flush: ledger::flush::table,
    runs_transcript_owner: transcripts::owner::table,
    runs_transcript_write: transcripts::write::table,
    runs_transcript_read: transcripts::read::table,
    runs_transcript_clear: transcripts::clear::table,
}

/// Holds a subject to the snapshot of a route.
fn hold(name: &str, make: Make, subject: &mut impl Subject) {
    snapshot(name, &answers(make, subject));
}

fn hold_workerd(name: &str, make: Make) {
    let mut worker = Workerd::start();
    hold(name, make, &mut worker);
    assert!(!worker.log().contains("fault"), "nothing here is a fault of ours: {}", worker.log());
}

fn snapshot(name: &str, told: &str) {
    let mut settings = insta::Settings::clone_current();
    // Both subjects are asked by tests of different modules, and have one snapshot.
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

#[test]
fn in_process_health_unknown_paths_and_credentials_come_before_any_route() {
    snapshot("any_path", &of_any_path(&mut Native::start()));
}

#[test]
fn on_workerd_health_unknown_paths_and_credentials_come_before_any_route() {
    snapshot("any_path", &of_any_path(&mut Workerd::start()));
}

#[test]
fn in_process_without_a_secret_or_with_an_empty_one_nothing_but_health_is_open() {
    for secret in [None, Some("")] {
        snapshot("without_secret", &of_any_path(&mut Native::with_secret(secret)));
    }
}

#[test]
fn on_workerd_without_a_secret_or_with_an_empty_one_nothing_but_health_is_open() {
    for secret in [None, Some("")] {
        snapshot("without_secret", &of_any_path(&mut Workerd::with_secret(secret)));
    }
}
