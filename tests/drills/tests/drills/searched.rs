//! The search when every drill ends finds each leak kind.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ars_testkit::Reply;
use ars_tests_drills::{Machine, secrets, until};
use serde_json::json;

use crate::{PROGRAM, kills::over};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaked_secret_fails_its_drill() {
    let machine = Machine::new(PROGRAM, |_| Reply::text("Done.")).await;
    let mut bot = machine.bot().await;
    // Users' texts may contain secrets; this secret must not occur.
    let text = format!("is {} still in use?", secrets::LOCAL);
    bot.ask(&json!({ "text": text })).await.unwrap().unwrap();
    over(&machine).await;
    // The reader may come to a run that has ended already.
    until("the run's stream was read", || {
        machine.streams().contains("Done.")
    })
    .await;
    bot.terminate().await;
    assert_eq!(machine.leaks(), [format!("{} in a prompt", secrets::LOCAL)]);

    std::fs::write(machine.path("logs/last"), secrets::DASHBOARD).unwrap();
    assert_eq!(machine.leaks().len(), 2, "{:?}", machine.leaks());
    let ended = catch_unwind(AssertUnwindSafe(|| drop(machine)));
    assert!(ended.is_err(), "the machine ended as if nothing had shown");
}
