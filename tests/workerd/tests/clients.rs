//! The bot's clients against the deployed state Worker: the suite of `containers/bot/adapters/tests/stores`, each case
//! on a separate Worker.
//!
//! The adapters' tests run the same suite against the stores in process and behind HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use ars_auth::Secret;
use ars_bot_adapters::stores::Worker;
use ars_tests_workerd::{TOKEN, state_worker};

use suite::Fixture;

#[path = "../../../containers/bot/adapters/tests/stores/suite/mod.rs"]
mod suite;

async fn fixture() -> Fixture {
    let worker = state_worker();
    let token = Secret::parse(Some(TOKEN.to_owned())).unwrap();
    let exchange = Worker::at(&format!("http://{}", worker.client.address()), &token).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    Fixture::over(Arc::new(exchange), i64::try_from(now).unwrap(), worker)
}

suite! { crate::fixture() }
