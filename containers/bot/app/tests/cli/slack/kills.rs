//! A process that is killed around each call: one run, one reply, one closed card.

use std::sync::Arc;

use ars_testkit::{
    Reply,
    slack::{FakeMessage, Fault},
};
use futures::{StreamExt as _, stream};
use tokio::{sync::Notify, time::timeout};

use super::world::{CHANNEL, World, is_card, shown};
use crate::support::TIMEOUT;

/// The model's answer, with something that is redacted in the store.
const ANSWER: &str = "ok gho_A1b2C3d4E5f6G7h8";
/// The answer as the next process finds it.
const STORED: &str = "ok [redacted]";
/// The reply for a run that ended with the process.
const INTERRUPTED: &str =
    "⚠\u{fe0f} The run was interrupted before its answer. Send the request again.";
/// Worlds at once.
const CONCURRENCY: usize = 6;

/// A message without a run is served by the next process, which waits for that of a living one.
#[tokio::test]
async fn kill_before_the_run_serves_once() {
    let calls = [
        ("reactions.add", 0),
        ("conversations.info", 0),
        ("users.info", 0),
    ];
    killed_around(&calls, false).await;
}

/// A process may die between the right to reply and the storage of the answer. Then the requester
/// reads that the run was interrupted.
#[tokio::test]
async fn kill_during_the_run_serves_once() {
    let calls = [
        ("chat.postMessage", 0),
        ("assistant.threads.setStatus", 0),
        ("chat.update", 0),
        ("assistant.threads.setStatus", 1),
        ("chat.postMessage", 1),
    ];
    killed_around(&calls, true).await;
}

/// Kills a process before and after each of these calls: the method, and how many of it come before.
async fn killed_around(calls: &[(&str, usize)], has_run: bool) {
    let kills = calls
        .iter()
        .flat_map(|call| [(*call, false), (*call, true)]);
    stream::iter(kills)
        .for_each_concurrent(CONCURRENCY, |(call, is_performed)| async move {
            killed_at(call, is_performed, has_run).await;
        })
        .await;
}

/// Kills the process in a call, before or after the workspace performed it.
async fn killed_at((method, earlier): (&str, usize), is_performed: bool, has_run: bool) {
    let name = format!("{method} {earlier}, performed: {is_performed}");
    let world = World::answering([ANSWER, ANSWER].map(Reply::text)).await;
    let server = world.serve("").await;
    let never = Arc::new(Notify::new());
    let fault = match is_performed {
        true => Fault::HangAfter(never),
        false => Fault::Hang(never),
    };
    let before = world.slack.calls_of(method).len();
    world.slack.fail_after(earlier, method, fault);
    let thread = world.mention("work");
    let reached = world.slack.wait_until(|slack| {
        let call = slack.calls_of(method).into_iter().nth(before + earlier);
        let is_called = call.is_some_and(|call| call.is_decided || !is_performed);
        // A run that ends at once needs no status and no second frame.
        let thread = slack.thread(CHANNEL, &thread);
        is_called || thread.iter().any(|message| message.text == ANSWER)
    });
    timeout(TIMEOUT, reached).await.expect(&name);
    server.kill().await;
    world.machine.end_leases();
    let server = world.serve("").await;
    // Slack sends what was not acknowledged again.
    let envelopes = world.slack.envelopes().into_iter();
    for envelope in envelopes.filter(|envelope| !has_run && envelope.acked.is_none()) {
        world.slack.redeliver(&envelope.id);
    }
    let is_reply = |message: &FakeMessage| {
        message.thread_ts.as_deref() == Some(&*thread)
            && [ANSWER, STORED, INTERRUPTED].contains(&message.text.as_str())
    };
    let reply = world.slack.wait_for_message(CHANNEL, is_reply);
    let Ok(reply) = timeout(TIMEOUT, reply).await.map(|reply| reply.text) else {
        panic!("{name}: {:#?}", world.slack.thread(CHANNEL, &thread));
    };
    let (sign, status) = match reply == INTERRUPTED {
        false => (":white_check_mark:", "completed"),
        true => (":x:", "interrupted"),
    };
    assert!(has_run || reply == ANSWER, "{name}");
    world.card(&thread, sign).await;
    server.terminate().await.assert_code(0);
    let mut replies = world.replies(&thread);
    replies.retain(|text| !text.contains("I was restarting"));
    assert_eq!(replies, [reply], "{name}");
    let messages = world.slack.thread(CHANNEL, &thread);
    let cards: Vec<_> = messages.iter().filter(|one| is_card(one)).collect();
    assert_eq!(cards.len(), 1, "{name}: {cards:#?}");
    assert!(!shown(cards[0]).contains("ars-stop"), "{name}");
    let record = world.machine.record().await;
    assert_eq!(record["status"], status, "{name}");
}
