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

use ars_bot_adapters::stores::{Client, Proposal, StoreResponse, Transport};
use ars_bot_ports::{
    Documents, FrictionRecords, Ledger, Memory, RunStore, Schedules, StoreError, StoreErrorKind,
    Transcripts,
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
    /// The stores' current time, or a recent time.
    pub now: i64,
    transport: Arc<dyn Transport>,
    _ground: Box<dyn Any + Send>,
}

impl Fixture {
    pub fn over(transport: Arc<dyn Transport>, now: i64, ground: impl Any + Send) -> Self {
        let policy = Policy {
            retention_days: Some(10),
            max_runs: Some(40),
            max_bytes: None,
        };
        let proposal = Proposal {
            policy,
            updated_at: now,
        };
        let client = Client::over(transport.clone(), Some(proposal))
            .unwrap()
            .with_memory_cap(5);
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
    async fn raw(&self, path: &str, body: Value) -> StoreResponse {
        self.transport
            .send(Route::from_path(path).unwrap(), body.to_string())
            .await
            .unwrap()
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
    Owner {
        run_id: run(id),
        generation: generation(name),
    }
}

/// Returns a rejection's text.
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
                put_record_is_read_back,
                unknown_run_is_none,
                summary_omits_the_events,
                delete_may_be_repeated,
                list_pages_and_filters,
                diagnosis_is_listed_on_request,
                cursor_keeps_fractions_of_times,
                predicate_filters_the_list,
                events_are_paged,
                proposed_policy_is_applied,
                rejected_request_names_the_field,
                oversized_record_is_not_sent,
                concurrent_writes_are_all_kept,
            ],
            ledger: [
                second_claim_names_the_holder,
                claim_stores_its_idempotency_key,
                live_row_equals_the_claim,
                only_the_owner_writes,
                unknown_run_is_no_error,
                heartbeat_returns_the_stop,
                flush_answers_each_run,
                finish_stores_the_record_and_frees_the_thread,
                handoff_is_reclaimed_with_its_state,
                expired_lease_is_reclaimed_unless_excepted,
            ],
            transcripts: [
                only_the_owner_writes,
                parts_are_read_back_in_order,
            ],
            memory: [
                retrieve_counts_as_use,
                list_is_newest_first_and_no_use,
                repeated_and_superseded_facts_are_one_record,
                cap_limits_a_scope,
                any_query_and_id_is_accepted,
            ],
            friction: [
                newest_records_come_oldest_first,
            ],
            schedules: [
                newest_firing_of_each_schedule_is_shown,
            ],
            config: [
                document_is_read_back_with_its_version,
                second_writer_of_a_version_is_stale,
            ],
        }
    };
}

/// Makes a test module for each port.
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
