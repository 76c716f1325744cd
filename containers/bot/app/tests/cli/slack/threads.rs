//! Threads: messages that begin or steer a run, with cards and answers.

use ars_testkit::{
    Reply,
    slack::{FakeChannel, FakeUser, Upload},
};
use serde_json::json;
use tokio::time::timeout;

use super::world::{ADA, CHANNEL, World, shown};
use crate::support::{CANARY, TIMEOUT};

/// The smallest image: one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// The receipt precedes the model; the card is closed before the reply; a redelivery costs nothing.
#[tokio::test]
async fn mention_gets_receipt_card_and_reply() {
    let world = World::answering([Reply::text("It is **done**.")]).await;
    let prices = "[prices.\"anthropic/claude-sonnet-5-5\"]\ninput = \"3\"\noutput = \"15\"\n";
    let server = world.serve(prices).await;
    let thread = world.mention("what is a &lt;lease&gt;?");
    let reply = world.replied(CHANNEL, &thread, "done").await;
    assert_eq!(reply.text, "It is *done*.");
    // The cost comes last, just before the end.
    let card = world.card(&thread, "$0.01").await;
    assert!(card.ts < reply.ts, "{card:#?}");
    for part in ["https://agents.example/runs/", ":white_check_mark:"] {
        assert!(shown(&card).contains(part), "{card:#?}");
    }
    let eyes = world.slack.reactions(CHANNEL, &thread);
    assert_eq!(eyes[0].name, "eyes");
    let asked = world.model.requests()[0].body.to_string();
    assert!(
        asked.contains("what is a <lease>?") && !asked.contains("<@"),
        "{asked}"
    );

    timeout(TIMEOUT, world.slack.wait_for_acks()).await.unwrap();
    let calls = world.slack.calls().len();
    let delivered = world.slack.envelopes();
    for envelope in &delivered {
        world.slack.redeliver(&envelope.id);
    }
    timeout(TIMEOUT, world.slack.wait_for_acks()).await.unwrap();
    assert_eq!(world.methods_since(calls), [] as [&str; 0]);
    assert_eq!(server.health().await["slack"]["connects"], 1);

    let ended = server.terminate().await;
    ended.assert_code(0);
    assert!(!ended.stderr.contains(CANARY) && !ended.stderr.contains(&world.slack.bot_token()));
    let record = world.machine.record().await;
    let facts = ["userId", "channelId", "threadKey", "channelVisibility"].map(|name| &record[name]);
    let key = format!("slack:{CHANNEL}:{thread}");
    assert_eq!(
        facts,
        [
            &json!("slack:U0ADA"),
            &json!(CHANNEL),
            &json!(key),
            &json!("public")
        ]
    );
}

/// Only a mention begins a run in a channel. A thread with the bot needs none, and neither does a
/// direct message.
#[tokio::test]
async fn messages_without_a_trigger_are_ignored() {
    let replies = ["one", "two", "three"].map(Reply::text);
    let world = World::answering(replies).await;
    let server = world.serve("").await;
    let other = world.slack.say(CHANNEL, ADA, "just talk", None);
    world.slack.say(CHANNEL, ADA, "more talk", Some(&other));
    let thread = world.mention("hi");
    world.replied(CHANNEL, &thread, "one").await;
    world.slack.say(CHANNEL, ADA, "and then?", Some(&thread));
    world.replied(CHANNEL, &thread, "two").await;
    let direct = world.slack.say("D0ADA", ADA, "hello", None);
    world.replied("D0ADA", &direct, "three").await;
    server.terminate().await.assert_code(0);
    let requests = world.model.requests();
    assert_eq!(requests.len(), 3);
    // The second run knows the thread, without the card.
    let second = requests[1].body["messages"].to_string();
    assert!(second.contains("hi") && second.contains("one") && second.contains("and then?"));
    assert!(!second.contains("live run"), "{second}");
    assert!(world.replies(&other).is_empty());
}

/// A command is answered without a run; a message to a live run steers it.
#[tokio::test]
async fn thread_messages_steer_or_command() {
    let world = World::answering([Reply::text("first"), Reply::text("second")]).await;
    let (gate, server) = world.serve_gated().await;
    let help = world.mention("help");
    world.replied(CHANNEL, &help, "coding").await;
    let thread = world.mention("think");
    gate.wait_until_begun().await;
    world.slack.say(CHANNEL, ADA, "be quick", Some(&thread));
    world.replied(CHANNEL, &thread, "general").await;
    gate.open();
    world.replied(CHANNEL, &thread, "second").await;
    server.terminate().await.assert_code(0);
    assert!(
        world.model.requests()[1]
            .body
            .to_string()
            .contains("be quick")
    );
    assert_eq!(world.machine.records().await.len(), 1);
}

/// Guests and shared channels are refused with the reason, until the configuration admits them.
#[tokio::test]
async fn outsiders_need_permission() {
    let world = World::answering(["a", "b"].map(Reply::text)).await;
    let guest = FakeUser {
        is_restricted: true,
        ..FakeUser::person("U0GUEST", "gus", "Gus")
    };
    world.slack.add_user(FakeUser {
        team_id: world.slack.team(),
        ..guest
    });
    world.slack.add_channel(FakeChannel {
        is_ext_shared: true,
        is_member: true,
        ..FakeChannel::public("C0SHARED", "shared")
    });
    let mention = world.slack.mention();
    let say = |channel: &str, user: &str| {
        world
            .slack
            .say(channel, user, &format!("{mention} hi"), None)
    };
    let server = world.serve("").await;
    let thread = say(CHANNEL, "U0GUEST");
    world.replied(CHANNEL, &thread, "admitGuests").await;
    let thread = say("C0SHARED", ADA);
    world
        .replied("C0SHARED", &thread, "admitSharedChannels")
        .await;
    server.terminate().await.assert_code(0);
    let admits = "[slack]\nadmitGuests = true\nadmitSharedChannels = true\n";
    let server = world.serve(admits).await;
    let thread = say(CHANNEL, "U0GUEST");
    world.replied(CHANNEL, &thread, "a").await;
    let thread = say("C0SHARED", ADA);
    world.replied("C0SHARED", &thread, "b").await;
    server.terminate().await.assert_code(0);
}

/// A group of direct messages is a private channel: a mention begins, and the thread goes on.
#[tokio::test]
async fn group_of_direct_messages_needs_a_mention() {
    const GROUP: &str = "C0GROUP";
    let world = World::answering(["first", "second"].map(Reply::text)).await;
    world.slack.add_channel(FakeChannel {
        is_mpim: true,
        ..FakeChannel::private(GROUP, "mpdm-ada--bea-1")
    });
    let server = world.serve("").await;
    world.slack.say(GROUP, ADA, "not for the bot", None);
    let mention = format!("{} hi", world.slack.mention());
    let thread = world.slack.say(GROUP, ADA, &mention, None);
    world.replied(GROUP, &thread, "first").await;
    world.slack.say(GROUP, ADA, "and more?", Some(&thread));
    world.replied(GROUP, &thread, "second").await;
    server.terminate().await.assert_code(0);
    assert_eq!(world.model.request_count(), 2);
}

/// The stop button runs the command under its gates, and the note names who pressed it.
#[tokio::test]
async fn stop_button_needs_the_grant() {
    let world = World::answering([Reply::silent()]).await;
    let bea = FakeUser::person("U0BEA", "bea", "Bea");
    world.slack.add_user(FakeUser {
        team_id: world.slack.team(),
        ..bea
    });
    let config =
        "[grants.\"slack:U0ADA\"]\nactions = [\"runs:write\"]\nchannels = [\"C0GENERAL\"]\n";
    let server = world.serve(config).await;
    let thread = world.mention("wait");
    let card = world.card(&thread, "ars-stop").await;
    world.slack.press(CHANNEL, &card.ts, "ars-stop", "U0BEA");
    world
        .slack
        .wait_until(|slack| {
            slack
                .ephemeral(CHANNEL)
                .iter()
                .any(|(user, _)| user == "U0BEA")
        })
        .await;
    world.slack.press(CHANNEL, &card.ts, "ars-stop", ADA);
    world.card(&thread, ":octagonal_sign:").await;
    server.terminate().await.assert_code(0);
    let record = world.machine.record().await.to_string();
    assert!(
        record.contains("slack:U0ADA") && !record.contains("slack:U0BEA"),
        "{record}"
    );
}

/// The model sees an image, a text, and the names of the other files.
#[tokio::test]
async fn files_reach_the_model_or_are_named() {
    let world = World::answering([Reply::text("seen")]).await;
    let server = world.serve("").await;
    let files = [
        Upload::new("dot.png", "image/png", PNG),
        Upload::new("notes.md", "text/plain", "remember the milk"),
        Upload::new("prod.env", "text/plain", "TOKEN=canary-of-env"),
        Upload::new("app.zip", "application/zip", "PK"),
    ];
    let text = format!("{} look", world.slack.mention());
    let thread = world.slack.share_files(CHANNEL, ADA, &text, &files, None);
    world.replied(CHANNEL, &thread, "seen").await;
    server.terminate().await.assert_code(0);
    let asked = world.model.requests()[0].body["messages"].to_string();
    for words in ["remember the milk", "image/png", "prod.env", "app.zip"] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    assert!(!asked.contains("canary-of-env"), "{asked}");
    let downloads = world.slack.calls_of("download");
    assert_eq!(downloads.len(), 2, "{downloads:?}");
}
