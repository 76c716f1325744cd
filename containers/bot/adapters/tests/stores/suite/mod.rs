//! Cases that hold for every store: run over a [`Fixture`] by `suite!`.
//!
//! `tests/workerd` includes this file for the deployed Worker's stores, so no case moves a clock: times are relative to
//! the fixture's.

pub mod config;
pub mod friction;
pub mod ledger;
pub mod memory;
pub mod runs;
pub mod schedules;
pub mod transcripts;

use std::{any::Any, sync::Arc};

use ars_bot_adapters::stores::{Answer, Client, Proposal, Transport};
use ars_bot_ports::{
    Documents, FrictionRecords, Ledger, Memory, RunStore, Schedules, StoreError, StoreErrorKind, Transcripts,
};
use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StoreKey};
use ars_wire::{ledger::Owner, runs::Policy, state::Route};
use serde_json::{Value, json};

pub const DAY: i64 = 86_400_000;

/// Stores, and the resources they need while they are used.
pub struct Fixture {
    pub runs: Arc<dyn RunStore>,
    pub ledger: Arc<dyn Ledger>,
    pub transcripts: Arc<dyn Transcripts>,
    pub memory: Arc<dyn Memory>,
    pub friction: Arc<dyn FrictionRecords>,
    pub schedules: Arc<dyn Schedules>,
    pub documents: Arc<dyn Documents>,
    /// The stores' current time, or a recent one.
    pub now: i64,
    transport: Arc<dyn Transport>,
    _ground: Box<dyn Any + Send>,
}

impl Fixture {
    pub fn over(transport: Arc<dyn Transport>, now: i64, ground: impl Any + Send) -> Self {
        let policy = Policy { retention_days: Some(10), max_runs: Some(40), max_bytes: None };
        let proposal = Proposal { policy, updated_at: now };
        let client = Client::over(transport.clone(), Some(proposal)).unwrap().with_memory_cap(5);
        let client = Arc::new(client);
        Self {
            runs: client.clone(),
            ledger: client.clone(),
            transcripts: client.clone(),
            memory: client.clone(),
            friction: client.clone(),
            schedules: client.clone(),
            documents: client,
            now,
            transport,
            _ground: Box::new(ground),
        }
    }

    /// Sends any JSON, as another writer could.
    async fn raw(&self, path: &str, body: Value) -> Answer {
        self.transport.send(Route::of(path).unwrap(), body.to_string()).await.unwrap()
    }

    fn record(&self, id: &str) -> RunRecord {
        record(id, self.now)
    }
}

pub fn run(id: &str) -> RunId {
    RunId::parse(id).unwrap()
}

fn key(key: &str) -> StoreKey {
    StoreKey::parse(key).unwrap()
}

fn generation(name: &str) -> Generation {
    Generation::parse(name).unwrap()
}

fn owner(id: &str, name: &str) -> Owner {
    Owner { run_id: run(id), generation: generation(name) }
}

/// Returns the text of a rejection.
fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
    error.message
}

pub fn record(id: &str, finished_at: i64) -> RunRecord {
    RunRecord::from_stored(json!({
        "id": id, "label": "a run", "agent": "coding", "channelId": "C1", "userId": "U1", "threadKey": "t:C1:1",
        "channelVisibility": "machine", "startedAt": finished_at - 10, "finishedAt": finished_at,
        "status": "completed", "eventCount": 3, "storedEventCount": 3, "truncated": false,
        "events": [{ "type": "input", "text": "hello 🦀", "seq": 1 }, { "type": "of a later age", "x": [1], "seq": 2 },
                   { "type": "answer", "text": "done\u{0}", "seq": 5 }],
        "diagnosis": { "findings": [], "eventCount": 1, "verdict": "fine", "byCategory": {} },
        "later": { "kept": true },
    }))
    .unwrap()
}

/// Runs every case over a new fixture.
#[macro_export]
macro_rules! suite {
    ($fixture:expr) => {
        $crate::cases! { $fixture,
            runs: [
                a_record_is_read_back_as_it_was_put,
                an_unknown_run_is_none_everywhere,
                a_later_record_of_a_run_replaces_it_whole,
                a_summary_is_the_record_without_its_events,
                a_deleted_run_is_gone_and_deleting_it_again_is_no_error,
                lists_page_filter_and_show_sizes,
                a_list_is_walked_across_times_with_any_fraction,
                a_predicate_hides_what_it_does_not_allow,
                events_come_in_pages,
                a_run_too_old_is_not_stored_and_says_so,
                the_proposed_policy_is_kept,
                a_refused_request_is_permanent_and_named_alike,
                a_record_over_the_fence_is_permanent,
                writes_at_once_are_all_kept,
            ],
            ledger: [
                a_claim_is_granted_and_may_be_repeated,
                a_taken_thread_names_who_holds_it,
                a_live_run_is_shown_as_it_was_claimed,
                an_owner_writes_and_nobody_else,
                an_unknown_run_is_a_result_and_no_error,
                a_stop_reaches_the_owner_by_its_heartbeat,
                followups_are_numbered_within_their_run,
                the_right_to_reply_is_granted_once,
                appended_events_are_kept_once_and_in_order,
                one_bad_event_refuses_the_batch,
                a_flush_keeps_the_news_of_many_runs_and_tells_each_its_own,
                one_bad_event_refuses_the_whole_flush_by_its_place,
                a_finished_run_is_history_and_its_thread_is_free,
                a_finish_with_another_runs_record_is_refused,
                what_was_handed_off_is_reclaimed_with_all_a_new_owner_needs,
                a_lapsed_lease_is_reclaimed_but_no_run_of_ones_own_or_that_one_is_at_work_on,
                a_claim_over_the_fence_never_leaves_the_process,
            ],
            transcripts: [
                only_the_owner_writes,
                parts_and_attachments_are_read_back_in_order,
                what_is_written_again_is_replaced,
                a_cleared_transcript_has_nothing_and_takes_nothing,
                a_part_too_large_is_refused_and_nothing_lands,
            ],
            memory: [
                what_was_written_is_found_and_counted_as_used,
                a_list_is_newest_first_and_no_use,
                what_is_said_again_superseded_or_forgotten_is_one_record_or_none,
                scopes_do_not_mix,
                a_scope_keeps_no_more_than_the_cap,
                one_bad_candidate_refuses_the_batch_by_name,
                no_query_and_no_id_is_too_odd,
            ],
            friction: [
                a_run_has_one_record_the_last_one,
                the_newest_records_come_oldest_first,
                ledgers_do_not_mix,
                a_malformed_diagnosis_is_refused_by_name,
            ],
            schedules: [
                firings_are_kept_and_the_newest_of_each_schedule_is_shown,
                a_late_arrival_is_kept_and_never_the_newest,
                a_firing_with_too_long_a_detail_is_refused_by_name,
            ],
            config: [
                a_document_is_read_back_as_it_was_put_with_its_version,
                of_two_writers_who_saw_one_version_the_second_is_told_so,
                documents_of_different_keys_do_not_mix,
                what_is_no_key_no_object_or_too_large_is_refused_by_name,
            ],
        }
    };
}

/// One module of tests for each port.
#[macro_export]
macro_rules! cases {
    ($fixture:expr, $($port:ident: [$($case:ident),+ $(,)?],)+) => {
        $(mod $port {
            $(#[tokio::test]
            async fn $case() {
                $crate::suite::$port::$case($fixture.await).await;
            })+
        })+
    };
}
