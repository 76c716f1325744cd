//! Edited and deleted messages, and the marks of those that were read.

use std::sync::Arc;

use ars_testkit::{
    Reply,
    slack::{Fault, Upload},
};
use tokio::{sync::Notify, time::timeout};

use super::world::{ADA, CHANNEL, World};
use crate::support::TIMEOUT;

/// The model reads the new text of a follow-up, with the files that are not included, and never a
/// deleted one. Only the first is marked.
#[tokio::test]
async fn unread_follow_ups_change_with_their_messages() {
    let world = World::answering([Reply::text("first"), Reply::text("second")]).await;
    let (gate, server) = world.serve_gated().await;
    let thread = world.mention("think");
    gate.wait_until_begun().await;
    let keys = Upload::new("prod.env", "text/plain", "TOKEN=canary");
    let (fake, in_thread) = (&world.slack, Some(thread.as_str()));
    let kept = fake.share_file(CHANNEL, ADA, "in Germn", keys, in_thread);
    let gone = fake.say(CHANNEL, ADA, "and in Latin", in_thread);
    let both = world
        .slack
        .wait_until(|_| world.replies(&thread).len() == 2);
    timeout(TIMEOUT, both).await.unwrap();
    world.slack.edit(CHANNEL, &kept, "in German");
    world.slack.delete(CHANNEL, &gone);
    timeout(TIMEOUT, world.slack.wait_for_acks()).await.unwrap();
    let marks = |ts: &str| {
        let reactions = world.slack.reactions(CHANNEL, ts).into_iter();
        reactions.map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(marks(&kept), ["eyes"]);
    gate.open();
    world.replied(CHANNEL, &thread, "second").await;
    let marked = world.slack.wait_until(|_| marks(&kept).len() == 2);
    timeout(TIMEOUT, marked).await.unwrap();
    server.terminate().await.assert_code(0);
    assert_eq!(marks(&kept), ["eyes", "ballot_box_with_check"]);
    let read = world.model.requests()[1].body.to_string();
    assert!(
        read.contains("in German") && !read.contains("Germn") && !read.contains("Latin"),
        "{read}"
    );
    assert_eq!(read.matches("prod.env").count(), 1, "{read}");
}

/// A message that is being accepted is dispatched with the new text, or not at all.
#[tokio::test]
async fn accepted_messages_change_before_their_dispatch() {
    let world = World::answering([]).await;
    let server = world.serve("").await;
    let lookups = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    for lookup in &lookups {
        world
            .slack
            .fail("users.info", Fault::Hang(Arc::clone(lookup)));
    }
    let (gone, changed) = (world.mention("drop it all"), world.mention("hepl"));
    let asked = world
        .slack
        .wait_until(|slack| slack.calls_of("users.info").len() == 2);
    timeout(TIMEOUT, asked).await.unwrap();
    world.slack.delete(CHANNEL, &gone);
    let help = format!("{} help", world.slack.mention());
    world.slack.edit(CHANNEL, &changed, &help);
    timeout(TIMEOUT, world.slack.wait_for_acks()).await.unwrap();
    lookups.iter().for_each(|lookup| lookup.notify_one());
    world.replied(CHANNEL, &changed, "coding").await;
    server.terminate().await.assert_code(0);
    assert!(world.replies(&gone).is_empty() && world.model.requests().is_empty());
}
