//! Faults of the platform: nothing is said twice, and nothing is lost.

use std::time::Duration;

use ars_testkit::{
    Reply,
    slack::{Call, Fault},
};
use tokio::time::timeout;

use super::world::{ADA, CHANNEL, World};
use crate::support::TIMEOUT;

/// A reply is sent again after a broken call only if it was not posted.
#[tokio::test]
async fn broken_call_posts_one_reply() {
    let faults = [
        Fault::DropBefore,
        Fault::DropAfter,
        Fault::Status(503),
        Fault::RateLimited(1),
    ];
    let world = World::answering(["ok", "ok", "ok", "ok"].map(Reply::text)).await;
    let server = world.serve("").await;
    for fault in faults {
        let name = format!("{fault:?}");
        // Without a card, the next post is the reply.
        let thread = world.mention("help me");
        world.card(&thread, "https://agents.example/runs/").await;
        world.slack.fail("chat.postMessage", fault);
        world.card(&thread, ":white_check_mark:").await;
        world.replied(CHANNEL, &thread, "ok").await;
        assert_eq!(world.replies(&thread), ["ok"], "{name}");
    }
    server.terminate().await.assert_code(0);
}

/// A run needs no card, no reaction and no names of channels.
#[tokio::test]
async fn run_survives_a_platform_without_cards() {
    let world = World::answering([Reply::text("ok")]).await;
    let server = world.serve("").await;
    world.slack.revoke_scope("reactions:write");
    world
        .slack
        .fail("chat.update", Fault::Error("cant_update_message"));
    world
        .slack
        .fail("assistant.threads.setStatus", Fault::Error("not_allowed"));
    let thread = world.mention("go");
    world.replied(CHANNEL, &thread, "ok").await;
    server.terminate().await.assert_code(0);
}

/// A lost socket is opened again, and an event without an acknowledgement is delivered again.
#[tokio::test]
async fn lost_socket_loses_no_message() {
    let world = World::answering(["one", "two"].map(Reply::text)).await;
    let server = world.serve("").await;
    world.slack.redeliver_after(Duration::from_millis(200));
    world.slack.drop_connections();
    let thread = world.mention("first");
    world.replied(CHANNEL, &thread, "one").await;
    world
        .slack
        .disconnect(ars_testkit::slack::Disconnect::RefreshRequested);
    server
        .health_when(|health| health["slack"]["connects"].as_u64() >= Some(3))
        .await;
    let second = world.mention("second");
    world.replied(CHANNEL, &second, "two").await;
    server.terminate().await.assert_code(0);
    let replies = world.replies(&thread);
    assert_eq!(
        replies.iter().filter(|text| *text == "one").count(),
        1,
        "{replies:?}"
    );
}

/// An outage of lookups does not turn a member into a guest, and one of threads loses no message.
#[tokio::test]
async fn failing_lookups_delay_a_request() {
    let world = World::answering(["one", "two"].map(Reply::text)).await;
    let server = world.serve("").await;
    for _ in 0..5 {
        world.slack.fail("users.info", Fault::Status(503));
    }
    let thread = world.mention("hi");
    world.replied(CHANNEL, &thread, "one").await;
    assert_eq!(world.replies(&thread), ["one"]);
    // A thread that the bot has not read yet.
    world.slack.redeliver_after(Duration::from_millis(200));
    for _ in 0..2 {
        world
            .slack
            .fail("conversations.replies", Fault::Error("not_in_channel"));
    }
    world.slack.say(CHANNEL, ADA, "and then?", Some(&thread));
    world.replied(CHANNEL, &thread, "two").await;
    server.terminate().await.assert_code(0);
}

/// A burst stays within the platform's limits, and every request is answered.
#[tokio::test]
async fn burst_stays_within_the_limits() {
    let world = World::answering(["ok", "ok", "ok", "ok", "ok"].map(Reply::text)).await;
    world.slack.enforce_limits();
    let server = world.serve("").await;
    let threads: Vec<String> = (0..5).map(|_| world.mention("go")).collect();
    for thread in &threads {
        world.replied(CHANNEL, thread, "ok").await;
    }
    server.terminate().await.assert_code(0);
    let limited = world.slack.calls();
    let limited = limited
        .iter()
        .filter(|call| call.error.as_deref() == Some("ratelimited"));
    assert_eq!(limited.count(), 0);
}

/// A rejected token is no healthy connection.
#[tokio::test]
async fn revoked_token_is_not_connected() {
    let world = World::answering([] as [Reply; 0]).await;
    let server = world.serve("").await;
    world.slack.revoke_tokens();
    world.slack.drop_connections();
    let is_rejected = |call: &Call| call.error.as_deref() == Some("token_revoked");
    let rejected = world
        .slack
        .wait_for_call("apps.connections.open", is_rejected);
    timeout(TIMEOUT, rejected).await.unwrap();
    assert_eq!(server.health().await["slack"]["connected"], false);
    let ended = server.terminate().await;
    ended.assert_code(0);
    assert!(
        ended.stderr.contains("Slack rejects a token"),
        "{}",
        ended.stderr
    );
}
