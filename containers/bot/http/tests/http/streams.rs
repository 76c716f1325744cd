//! Event streams: exact resumption, viewer isolation, stored replays, the index feed.
#![expect(clippy::unwrap_used, reason = "a test")]

use ars_bot_core::registry::RunHandle;
use ars_events::sse::{Decoder, Frame};
use ars_types::RunStatus;
use futures::StreamExt;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

use super::{
    support::{Bot, record, say},
    wire::{TIMEOUT, until},
};

/// A client for a single stream.
struct Viewer {
    chunks: std::pin::Pin<Box<dyn futures::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    decoder: Decoder,
    frames: Vec<Frame>,
}

impl Viewer {
    async fn open(bot: &Bot, path: &str, last_event_id: Option<&str>) -> Self {
        let mut request = Client::new().get(bot.url(path));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/event-stream; charset=utf-8");
        assert_eq!(header("cache-control"), "no-cache, no-transform");
        assert_eq!(header("x-accel-buffering"), "no");
        Self {
            chunks: Box::pin(response.bytes_stream()),
            decoder: Decoder::default(),
            frames: Vec::new(),
        }
    }

    /// Reads until this many frames have arrived.
    async fn at_least(&mut self, count: usize) -> &[Frame] {
        while self.frames.len() < count {
            let chunk = timeout(TIMEOUT, self.chunks.next())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            self.frames.extend(self.decoder.push(&chunk));
        }
        &self.frames
    }

    /// Reads to the stream's end.
    async fn into_end(mut self) -> Vec<Frame> {
        while let Some(chunk) = timeout(TIMEOUT, self.chunks.next()).await.unwrap() {
            self.frames.extend(self.decoder.push(&chunk.unwrap()));
        }
        self.frames
    }
}

/// Returns each event's seq, and each named frame's name.
fn outline(frames: &[Frame]) -> Vec<String> {
    let line = |frame: &Frame| match &frame.event {
        Some(name) => name.clone(),
        None => serde_json::from_str::<Value>(&frame.data).unwrap()["seq"].to_string(),
    };
    frames.iter().map(line).collect()
}

fn events_path(run: &RunHandle) -> String {
    format!("/runs/{}/events?t={}", run.id(), run.view().token)
}

#[tokio::test]
async fn reconnected_viewer_resumes_at_its_position() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    for n in 1..=600 {
        say(&run, &n.to_string());
    }
    let mut first = Viewer::open(&bot, &events_path(&run), None).await;
    first.at_least(600).await;
    drop(first);
    say(&run, "while away");
    let mut second = Viewer::open(&bot, &events_path(&run), Some("598")).await;
    assert_eq!(outline(second.at_least(3).await), ["599", "600", "601"]);
    assert_eq!(second.frames[0].id.as_deref(), Some("599"));
    say(&run, "live again");
    run.finish(RunStatus::Completed);
    run.seal(Some(true));
    assert_eq!(
        outline(&second.into_end().await),
        ["599", "600", "601", "602", "finished", "end"]
    );
    // The token still opens the stream while the run stays in the registry; an unknown position is no error.
    let third = Viewer::open(&bot, &events_path(&run), Some("999999"))
        .await
        .into_end()
        .await;
    assert_eq!(outline(&third), ["finished", "end"]);
    let sealed: Value = serde_json::from_str(&third[1].data).unwrap();
    assert_eq!(sealed["replyOk"], json!(true));
    for odd in ["", "x", "-1", "1.5", "1234567890123456"] {
        let whole = Viewer::open(&bot, &events_path(&run), Some(odd))
            .await
            .into_end()
            .await;
        assert_eq!(whole.len(), 604, "{odd:?}");
    }
}

#[tokio::test]
async fn stalled_viewer_delays_no_other() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    // Opens the stream and never reads it.
    let mut stuck = TcpStream::connect(bot.address).await.unwrap();
    let head = format!(
        "GET {} HTTP/1.1\r\nhost: localhost\r\n\r\n",
        events_path(&run)
    );
    stuck.write_all(head.as_bytes()).await.unwrap();
    let mut reader = Viewer::open(&bot, &events_path(&run), None).await;
    // Far more than the buffers between the server and the stuck viewer hold.
    let long = "x".repeat(64 << 10);
    for n in 1..=400_usize {
        say(&run, &long);
        if n % 20 == 0 {
            reader.at_least(n).await;
        }
    }
    let expected: Vec<String> = (1..=400).map(|seq| seq.to_string()).collect();
    assert_eq!(outline(reader.at_least(400).await), expected);
    // The stuck viewer receives a note about the elided events, and continues.
    run.finish(RunStatus::Completed);
    run.seal(None);
    let mut text = String::new();
    until(&mut stuck, &mut text, "event: end").await;
    assert!(text.contains("event: replay_elided"));
}

#[tokio::test]
async fn stored_stream_is_replayed_with_gaps() {
    let bot = Bot::start().await;
    let event = |seq: u64| json!({"type": "assistant", "text": "x", "seq": seq});
    let mut stored = record("old", 7000, &[event(1), event(4)]);
    stored.event_count = 5;
    bot.store.insert(stored);
    let frames = Viewer::open(&bot, "/runs/old/events", None)
        .await
        .into_end()
        .await;
    assert_eq!(
        outline(&frames),
        ["1", "null", "4", "null", "finished", "end"]
    );
    assert_eq!(
        (frames[4].data.as_str(), frames[5].data.as_str()),
        (r#"{"finishedAt":7000}"#, "{}")
    );
    let summary =
        |at: usize| serde_json::from_str::<Value>(&frames[at].data).unwrap()["summary"].to_string();
    assert!(summary(1).contains('2') && summary(3).contains('1'));
    let resumed = Viewer::open(&bot, "/runs/old/events?t=whatever", Some("4"))
        .await
        .into_end()
        .await;
    assert_eq!(outline(&resumed), ["null", "finished", "end"]);
}

fn change(frame: &Frame) -> (String, String, String) {
    let value: Value = serde_json::from_str(&frame.data).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match value["type"].as_str() {
        Some("upsert") => (
            "upsert".into(),
            text(&value["run"]["id"]),
            text(&value["run"]["status"]),
        ),
        _ => (text(&value["type"]), text(&value["id"]), String::new()),
    }
}

#[tokio::test]
async fn index_feed_replays_list_then_changes() {
    let bot = Bot::start().await;
    let first = bot.run("first", "scripted/m");
    bot.clock.advance(10);
    let second = bot.run("second", "scripted/m");
    let mut feed = Viewer::open(&bot, "/runs?stream=1", None).await;
    let replay = feed.at_least(2).await;
    let ids = [second.id().to_string(), first.id().to_string()];
    assert_eq!(
        replay
            .iter()
            .map(|frame| change(frame).1)
            .collect::<Vec<_>>(),
        ids
    );
    assert!(
        replay
            .iter()
            .all(|frame| frame.id.is_none() && frame.event.is_none())
    );
    let row: Value = serde_json::from_str(&replay[1].data).unwrap();
    let url = format!("/runs/{}?t={}", first.id(), first.view().token);
    let expected = json!({"id": first.id(), "url": url, "label": "first", "agent": "coding", "model": "scripted/m",
        "repo": "acme/app", "status": "running", "finished": false, "startedAt": 1_760_000_000_000_i64});
    assert_eq!(row, json!({"type": "upsert", "run": expected}));

    let token = second.view().token;
    bot.core
        .registry()
        .stop_with_token(second.id(), &token, ars_types::StopMode::Soft);
    assert_eq!(
        change(&feed.at_least(3).await[2]),
        ("upsert".into(), ids[0].clone(), "stopping".into())
    );
    second.finish(RunStatus::StoppedSoft);
    let ended = feed.at_least(4).await[3].clone();
    assert_eq!(
        change(&ended),
        ("upsert".into(), ids[0].clone(), "stopped_soft".into())
    );
    let row: Value = serde_json::from_str(&ended.data).unwrap();
    assert_eq!(row["run"]["finished"], json!(true));
    bot.clock.advance(60_000);
    assert_eq!(bot.core.registry().list().len(), 1);
    assert_eq!(
        change(&feed.at_least(5).await[4]),
        ("removed".into(), ids[0].clone(), String::new())
    );
}

#[tokio::test]
async fn index_feed_reports_cost_at_the_end() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    let mut feed = Viewer::open(&bot, "/runs?stream=1", None).await;
    feed.at_least(1).await;
    run.set_cost(Some(1_250_000));
    run.finish(RunStatus::Completed);
    let frames = feed.at_least(2).await;
    let costs = frames.iter().map(|frame| {
        let row: Value = serde_json::from_str(&frame.data).unwrap();
        row.to_string().contains("\"costMicroUsd\":1250000")
    });
    assert_eq!(costs.collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn lagging_feed_receives_the_whole_list() {
    let bot = Bot::start().await;
    let gone = bot.run("gone", "scripted/m");
    let mut feed = Viewer::open(&bot, "/runs?stream=1", None).await;
    feed.at_least(1).await;
    gone.finish(RunStatus::Completed);
    bot.clock.advance(60_000);
    // More simultaneous changes than the registry keeps for a viewer, before it can read.
    let runs: Vec<_> = (0..600)
        .map(|n| bot.run(&n.to_string(), "scripted/m"))
        .collect();
    let mut known: std::collections::BTreeSet<String> = [gone.id().to_string()].into();
    let expected = runs.iter().map(|run| run.id().to_string()).collect();
    let mut seen = 1;
    while known != expected {
        let frames = feed.at_least(seen + 1).await;
        for (kind, id, _) in frames[seen..].iter().map(change) {
            let changed = if kind == "upsert" {
                known.insert(id)
            } else {
                known.remove(&id)
            };
            assert!(changed || kind == "upsert");
        }
        seen = frames.len();
    }
}
