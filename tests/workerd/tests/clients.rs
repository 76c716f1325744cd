//! The bot's clients against the deployed state Worker: a case for each store on a separate Worker.
//!
//! `containers/bot/adapters/tests/stores` runs all cases against the native stores, and
//! `tests/contract` proves that the Worker answers as they do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use ars_auth::Secret;
use ars_bot_adapters::stores::Worker;
use ars_tests_workerd::{TOKEN, state_worker};

use suite::Fixture;

#[expect(dead_code, reason = "only one case of each store runs here")]
#[path = "../../../containers/bot/adapters/tests/stores/suite/mod.rs"]
mod suite;

async fn fixture() -> Fixture {
    let worker = state_worker();
    let token = Secret::parse(Some(TOKEN.to_owned())).unwrap();
    let exchange = Worker::at(&format!("http://{}", worker.client.address()), &token).unwrap();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis();
    Fixture::over(Arc::new(exchange), i64::try_from(now).unwrap(), worker)
}

cases! { crate::fixture(),
    runs: [put_record_is_read_back],
    ledger: [flush_answers_each_run, handoff_is_reclaimed_with_its_state],
    transcripts: [parts_are_read_back_in_order],
    memory: [retrieve_counts_as_use],
    friction: [newest_records_come_oldest_first],
    schedules: [newest_firing_of_each_schedule_is_shown],
    config: [document_is_read_back_with_its_version],
}
