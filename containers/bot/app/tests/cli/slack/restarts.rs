//! Restarts: nothing is lost, nothing is served twice, and no card spins for ever.

use ars_testkit::Reply;

use super::world::{ADA, CHANNEL, World, shown};
use crate::support::until;

/// A message from before the start is served once, with a note.
#[tokio::test]
async fn missed_message_is_served_once() {
    let world = World::answering(["late", "unexpected"].map(Reply::text)).await;
    world.serve("").await.terminate().await.assert_code(0);
    world.slack.mute();
    let thread = world.mention("are you there?");
    let talk = world.slack.say(CHANNEL, ADA, "not for the bot", None);
    world.slack.unmute();
    let server = world.serve("").await;
    world.replied(CHANNEL, &thread, "late").await;
    let health = server.health().await;
    assert_eq!(
        (
            &health["catchUp"]["missed"],
            &health["catchUp"]["skippedChannels"]
        ),
        (&1.into(), &0.into())
    );
    world.slack.drop_connections();
    server
        .health_when(|health| health["slack"]["connects"] == 2)
        .await;
    server.terminate().await.assert_code(0);
    world.serve("").await.terminate().await.assert_code(0);
    let replies = world.replies(&thread);
    assert_eq!(replies.len(), 2, "{replies:?}");
    assert!(replies[0].contains("restarting"), "{replies:?}");
    assert!(world.replies(&talk).is_empty());
}

/// The next process continues the run on the same card.
#[tokio::test]
async fn killed_run_goes_on_with_its_card() {
    let world = World::answering([Reply::silent(), Reply::text("finished")]).await;
    let server = world.serve("").await;
    let thread = world.mention("work");
    let card = world.card(&thread, "https://agents.example/runs/").await;
    until("the model is asked", || world.model.request_count() == 1).await;
    server.kill().await;
    let server = world.serve("").await;
    world.replied(CHANNEL, &thread, "finished").await;
    let closed = world.card(&thread, ":white_check_mark:").await;
    assert_eq!(closed.ts, card.ts);
    server.terminate().await.assert_code(0);
    assert_eq!(world.replies(&thread), ["finished"]);
}

/// A drain says so on live cards, and takes no message.
#[tokio::test]
async fn drain_leaves_messages_to_the_next_process() {
    let world = World::answering(["one", "two"].map(Reply::text)).await;
    let (gate, server) = world.serve_gated().await;
    let thread = world.mention("slow");
    gate.wait_until_begun().await;
    world.card(&thread, "https://agents.example/runs/").await;
    server.running.signal(rustix::process::Signal::TERM);
    world.card(&thread, "deploy").await;
    world.slack.wait_for_connections(0).await;
    let second = world.mention("after the signal");
    gate.open();
    world.replied(CHANNEL, &thread, "one").await;
    server.running.ended().await.assert_code(0);
    let server = world.serve("").await;
    world.replied(CHANNEL, &second, "two").await;
    server.terminate().await.assert_code(0);
}

/// A card without a run is closed after the next connection, and a stream is ended.
#[tokio::test]
async fn orphaned_card_is_closed() {
    let world = World::answering([Reply::silent(), Reply::silent()]).await;
    let config = "[runHistory]\nstore = \"none\"\n";
    let server = world.serve(config).await;
    let edited = world.mention("work");
    world.card(&edited, "ars-stop").await;
    world.slack.allow_streams();
    let streamed = world.mention("work");
    world.card(&streamed, "live run").await;
    server.kill().await;
    let server = world.serve(config).await;
    for thread in [edited, streamed] {
        let card = world.card(&thread, "interrupted").await;
        assert!(
            !card.is_streaming && !shown(&card).contains("ars-stop"),
            "{card:#?}"
        );
    }
    server.terminate().await.assert_code(0);
}

/// A busy channel and a long thread hide no message: both are read from their newest end.
#[tokio::test]
async fn missed_messages_are_found_behind_many_others() {
    let world = World::answering(["found one", "found two"].map(Reply::text)).await;
    world.slack.mute();
    for _ in 0..1_001 {
        world.slack.say(CHANNEL, ADA, "talk", None);
    }
    let long = world.slack.say(CHANNEL, ADA, "a long thread", None);
    for _ in 0..250 {
        world.slack.say(CHANNEL, ADA, "more", Some(&long));
    }
    let mention = format!("{} and now?", world.slack.mention());
    world.slack.say(CHANNEL, ADA, &mention, Some(&long));
    let top = world.mention("are you there?");
    world.slack.unmute();
    let server = world.serve("").await;
    world.replied(CHANNEL, &long, "found ").await;
    world.replied(CHANNEL, &top, "found ").await;
    server.terminate().await.assert_code(0);
    assert_eq!(world.model.request_count(), 2);
}
