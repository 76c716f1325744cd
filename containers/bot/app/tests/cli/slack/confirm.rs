//! Destructive commands: buttons that only the requester may press, once.

use ars_testkit::slack::{FakeMessage, FakeSlack, FakeUser};
use tokio::time::timeout;

use super::world::{ADA, CHANNEL, World, shown};
use crate::support::TIMEOUT;

/// A member who did not ask.
const BEA: &str = "U0BEA";
/// Action ids of the buttons.
const CONFIRM: &str = "ars-confirm";
const CANCEL: &str = "ars-confirm-cancel";
/// What the requester may do.
const CONFIG: &str = "[grants.\"slack:U0ADA\"]\nactions = [\"config:write\"]\n";
/// The command's answer.
const CLEARED: &str = "are removed";

/// Waits until a thread's confirmation shows these words, and returns it.
async fn asked(world: &World, thread: &str, words: &str) -> FakeMessage {
    let find = |slack: &FakeSlack| {
        let mut messages = slack.thread(CHANNEL, thread).into_iter();
        messages.find(|message| {
            message.user == slack.bot_user()
                && !message.blocks.is_empty()
                && shown(message).contains(words)
        })
    };
    let waited = world.slack.wait_until(|slack| find(slack).is_some());
    let found = timeout(TIMEOUT, waited).await;
    assert!(found.is_ok(), "{:#?}", world.slack.thread(CHANNEL, thread));
    find(&world.slack).unwrap()
}

/// Waits until a person was refused with these words.
async fn refused(world: &World, user: &str, words: &str) {
    let waited = world.slack.wait_until(|slack| {
        let mut refusals = slack.ephemeral(CHANNEL).into_iter();
        refusals.any(|(to, message)| to == user && message.text.contains(words))
    });
    let told = timeout(TIMEOUT, waited).await;
    assert!(told.is_ok(), "{:#?}", world.slack.ephemeral(CHANNEL));
}

/// The buttons survive a restart, and work once, for the requester.
#[tokio::test]
async fn requester_confirms_once() {
    let world = World::answering([]).await;
    world.slack.add_user(FakeUser {
        team_id: world.slack.team(),
        ..FakeUser::person(BEA, "bea", "Bea")
    });
    let server = world.serve(CONFIG).await;
    let thread = world.mention("config clear me");
    let ask = asked(&world, &thread, CONFIRM).await;
    world.slack.press(CHANNEL, &ask.ts, CONFIRM, BEA);
    refused(&world, BEA, "Only <@U0ADA>").await;
    server.terminate().await.assert_code(0);

    let server = world.serve(CONFIG).await;
    world.slack.press(CHANNEL, &ask.ts, CONFIRM, ADA);
    world.replied(CHANNEL, &thread, CLEARED).await;
    let confirmed = asked(&world, &thread, "Confirmed by").await;
    assert_eq!(confirmed.ts, ask.ts);
    assert!(!shown(&confirmed).contains(CONFIRM), "{confirmed:#?}");
    let mut presses = world.slack.envelopes().into_iter();
    let press = presses.rfind(|envelope| envelope.kind == "interactive");
    world.slack.redeliver(&press.unwrap().id);
    refused(&world, ADA, "confirmed or cancelled before").await;

    let other = world.mention("config clear me");
    let ask = asked(&world, &other, CANCEL).await;
    world.slack.press(CHANNEL, &ask.ts, CANCEL, ADA);
    let cancelled = asked(&world, &other, "Cancelled by").await;
    assert!(!shown(&cancelled).contains(CONFIRM), "{cancelled:#?}");
    server.terminate().await.assert_code(0);
    let answers = |thread: &str| {
        let replies = world.replies(thread).into_iter();
        replies.filter(|text| text.contains(CLEARED)).count()
    };
    assert_eq!((answers(&thread), answers(&other)), (1, 0));
}
