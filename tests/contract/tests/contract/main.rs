//! The state Worker's contract, route by route, for the stores in this process and the built Worker.
//!
//! `snapshots/` has one snapshot per route, and one of requests outside all routes. Both subjects are compared with the
//! same file. A case expects a status and field, the snapshot pins the whole body.

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

/// Creates a table. Its times are relative to the argument.
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

/// Compares a subject with the snapshot of a route.
fn hold(name: &str, make: Make, subject: &mut impl Subject) {
    let answers = answers(make, subject);
    if let Some((shared, text)) = &answers.manners {
        snapshot(shared, text);
    }
    snapshot(name, &answers.cases);
}

fn hold_workerd(name: &str, make: Make) {
    let mut worker = Workerd::start();
    hold(name, make, &mut worker);
    assert!(!worker.log().contains("fault"), "nothing here is a fault of ours: {}", worker.log());
}

fn snapshot(name: &str, told: &str) {
    let mut settings = insta::Settings::clone_current();
    // Tests of different modules share one snapshot for both subjects.
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

#[test]
fn in_process_health_paths_and_credentials() {
    snapshot("any_path", &of_any_path(&mut Native::start()));
}

#[test]
fn on_workerd_health_paths_and_credentials() {
    snapshot("any_path", &of_any_path(&mut Workerd::start()));
}

#[test]
fn in_process_without_secret_only_health_is_open() {
    for secret in [None, Some("")] {
        snapshot("without_secret", &of_any_path(&mut Native::with_secret(secret)));
    }
}

#[test]
fn on_workerd_without_secret_only_health_is_open() {
    for secret in [None, Some("")] {
        snapshot("without_secret", &of_any_path(&mut Workerd::with_secret(secret)));
    }
}
