//! Native streams: cards that grow, from their start to their end, and the edited cards otherwise.

use ars_testkit::{Reply, slack::Fault};
use serde_json::json;
use tokio::time::timeout;

use super::world::{ADA, CHANNEL, World, shown};
use crate::support::{TIMEOUT, until};

/// The stream is for the requester, grows, ends before the reply, and is no part of the history.
#[tokio::test]
async fn run_is_streamed_to_its_end() {
    let world = World::answering(["one", "two"].map(Reply::text)).await;
    world.slack.allow_streams();
    world.slack.enforce_limits();
    let (gate, server) = world.serve_gated().await;
    let thread = world.mention("think");
    let appended = world.slack.wait_for_call("chat.appendStream", |_| true);
    timeout(TIMEOUT, appended).await.unwrap();
    gate.open();
    let reply = world.replied(CHANNEL, &thread, "one").await;
    let card = world.card(&thread, ":white_check_mark:").await;
    assert!(card.ts < reply.ts && !card.is_streaming, "{card:#?}");
    let all = shown(&card);
    assert!(
        all.contains("Done.") && all.contains("https://agents.example/runs/"),
        "{all}"
    );
    let started = &world.slack.calls_of("chat.startStream")[0].arguments;
    let recipient = (&started["recipient_user_id"], &started["recipient_team_id"]);
    assert_eq!(recipient, (&json!(ADA), &json!(world.slack.team())));
    assert_eq!(world.slack.calls_of("chat.update").len(), 0);

    world.slack.say(CHANNEL, ADA, "and then?", Some(&thread));
    world.replied(CHANNEL, &thread, "two").await;
    server.terminate().await.assert_code(0);
    let second = world.model.requests()[1].body["messages"].to_string();
    assert!(
        second.contains("think") && second.contains("one"),
        "{second}"
    );
    assert!(!second.contains("live run"), "{second}");
    let failed = world
        .slack
        .calls()
        .into_iter()
        .find(|call| call.error.is_some());
    assert!(failed.is_none(), "{failed:?}");
}

/// A refused start is an edited card. A workspace without the method is not asked again.
#[tokio::test]
async fn refused_stream_is_an_edited_card() {
    let world = World::answering([Reply::silent(), Reply::silent(), Reply::silent()]).await;
    let server = world.serve("").await;
    world.slack.fail("chat.startStream", Fault::DropBefore);
    world
        .slack
        .fail("chat.startStream", Fault::Error("unknown_method"));
    for calls in [1, 2, 2] {
        let thread = world.mention("go");
        world.card(&thread, "ars-stop").await;
        assert_eq!(world.slack.calls_of("chat.startStream").len(), calls);
    }
    server.kill().await;
}

/// A start without an answer may be there: it is found and ended, and no second card is posted.
#[tokio::test]
async fn unclear_start_leaves_one_card() {
    let world = World::answering([Reply::text("one")]).await;
    world.slack.allow_streams();
    world.slack.fail("chat.startStream", Fault::DropAfter);
    let (gate, server) = world.serve_gated().await;
    let thread = world.mention("go");
    world.card(&thread, "live run").await;
    gate.open();
    world.replied(CHANNEL, &thread, "one").await;
    let card = world.card(&thread, ":white_check_mark:").await;
    assert!(!card.is_streaming && card.chunks.is_empty(), "{card:#?}");
    assert_eq!(world.slack.calls_of("chat.postMessage").len(), 1);
    server.terminate().await.assert_code(0);
}

/// A stream that the platform ended becomes an edited card on the same message.
#[tokio::test]
async fn ended_stream_is_edited() {
    let world = World::answering([Reply::silent()]).await;
    world.slack.allow_streams();
    let server = world.serve("").await;
    let thread = world.mention("wait");
    let stream = world.card(&thread, "live run").await;
    world.slack.end_streams();
    let edited = world.card(&thread, "ars-stop").await;
    assert_eq!(edited.ts, stream.ts);
    server.kill().await;
}

/// The next process ends a killed process's stream, and goes on with the message.
#[tokio::test]
async fn killed_stream_is_ended_by_the_next_process() {
    let world = World::answering([Reply::silent(), Reply::text("finished")]).await;
    world.slack.allow_streams();
    let server = world.serve("").await;
    let thread = world.mention("work");
    let stream = world.card(&thread, "live run").await;
    until("the model is asked", || world.model.request_count() == 1).await;
    server.kill().await;
    let server = world.serve("").await;
    world.replied(CHANNEL, &thread, "finished").await;
    let closed = world.card(&thread, ":white_check_mark:").await;
    assert!(
        closed.ts == stream.ts && !closed.is_streaming,
        "{closed:#?}"
    );
    server.terminate().await.assert_code(0);
    assert_eq!(world.replies(&thread), ["finished"]);
}

/// The platform's stop button needs the command's grant. Without it the run goes on, edited.
#[tokio::test]
async fn platform_button_stops_the_run() {
    let world = World::answering([Reply::silent(), Reply::silent()]).await;
    world.slack.allow_streams();
    let config =
        "[grants.\"slack:U0ADA\"]\nactions = [\"runs:write\"]\nchannels = [\"C0GENERAL\"]\n";
    let bea = ars_testkit::slack::FakeUser::person("U0BEA", "bea", "Bea");
    world.slack.add_user(ars_testkit::slack::FakeUser {
        team_id: world.slack.team(),
        ..bea
    });
    let server = world.serve(config).await;
    for (user, words) in [("U0BEA", "ars-stop"), (ADA, ":octagonal_sign:")] {
        let thread = world.mention("wait");
        let stream = world.card(&thread, "live run").await;
        world.slack.stop_session(CHANNEL, &stream.ts, user);
        let card = world.card(&thread, words).await;
        assert_eq!((card.ts, card.is_streaming), (stream.ts, false));
    }
    let refused = world.slack.ephemeral(CHANNEL);
    assert!(refused.iter().all(|(user, _)| user == "U0BEA") && refused.len() == 1);
    server.kill().await;
}
