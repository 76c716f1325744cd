//! Registry tests: numbering, viewers, stops, and eviction.

use std::sync::atomic::{AtomicI64, Ordering};

use ars_agent::Usage;
use ars_events::{ActorKind, EventBody};
use ars_types::{Platform, RunStatus};
use serde_json::json;

use super::*;

struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> UnixMillis {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct World {
    clock: Arc<ManualClock>,
    registry: Registry,
}

fn world() -> World {
    let clock = Arc::new(ManualClock(AtomicI64::new(1000)));
    let as_port: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
    World {
        clock,
        registry: Registry::new(
            as_port,
            Arc::new(Redactor::new(vec!["canary-value".into()])),
        ),
    }
}

fn facts() -> RunFacts {
    RunFacts {
        label: "general".into(),
        agent: "general".into(),
        model: None,
        channel_id: "http:default".into(),
        user_id: "http:ann".into(),
        thread_key: ThreadKey::new(Platform::Http, "default", "default"),
        visibility: Visibility::Machine,
        repo: None,
        received_at: 900,
    }
}

/// A world with a run.
pub(crate) fn running() -> (World, RunHandle) {
    let world = world();
    let run = world
        .registry
        .create(world.registry.mint(), facts())
        .unwrap();
    (world, run)
}

fn say(run: &RunHandle, text: &str) {
    run.publish(EventBody::Assistant { text: text.into() });
}

fn actor() -> Actor {
    Actor::new(ActorKind::Cli, "local")
}

fn seqs(frames: &[Frame]) -> Vec<u64> {
    let seqs = frames.iter().filter_map(|frame| match frame {
        Frame::Event { seq, .. } => Some(*seq),
        _ => None,
    });
    seqs.collect()
}

#[tokio::test]
async fn events_are_numbered_and_redacted() {
    let (_world, run) = running();
    say(&run, "a");
    say(&run, "the canary-value is here");
    let view = run.view();
    assert_eq!(view.event_count, 2);
    assert!(view.events[0].contains("\"seq\":1"));
    assert!(
        !view.events[1].contains("canary-value"),
        "{}",
        view.events[1]
    );
}

#[tokio::test]
async fn viewer_sees_each_event_once() {
    let (world, run) = running();
    let token = run.view().token;
    say(&run, "a");
    let mut viewer = world.registry.subscribe(run.id(), &token, 0).unwrap();
    assert_eq!(seqs(&viewer.next().await.unwrap()), [1]);
    let waiting = tokio::spawn(async move {
        let frames = viewer.next().await.unwrap();
        (viewer, frames)
    });
    say(&run, "b");
    let (mut viewer, frames) = waiting.await.unwrap();
    assert_eq!(seqs(&frames), [2]);
    run.finish(RunStatus::Completed);
    assert_eq!(
        viewer.next().await.unwrap(),
        [Frame::Finished { finished_at: 1000 }]
    );
    run.seal(Some(true));
    assert_eq!(
        viewer.next().await.unwrap(),
        [Frame::End {
            sealed_at: 1000,
            reply_ok: Some(true)
        }]
    );
    assert_eq!(viewer.next().await, None);
}

#[tokio::test]
async fn lagging_viewer_receives_the_gap() {
    let (world, run) = running();
    for _ in 0..5002 {
        say(&run, "x");
    }
    let token = run.view().token;
    let frames = world
        .registry
        .subscribe(run.id(), &token, 0)
        .unwrap()
        .next()
        .await
        .unwrap();
    assert_eq!(
        frames[0],
        Frame::Elided {
            from_seq: 1,
            to_seq: 2
        }
    );
    assert_eq!(seqs(&frames)[0], 3);
}

#[tokio::test]
async fn wrong_token_and_unknown_run_are_equal() {
    let (world, run) = running();
    let other = RunId::parse("nobody").unwrap();
    let token = run.view().token;
    assert_eq!(token.len(), 64);
    for (id, token) in [
        (run.id(), "wrong"),
        (run.id(), ""),
        (&other, token.as_str()),
    ] {
        assert!(world.registry.open(id, token).is_none());
        assert!(world.registry.subscribe(id, token, 0).is_none());
        assert_eq!(
            world.registry.stop_with_token(id, token, StopMode::Soft),
            StopOutcome::Unknown
        );
    }
    assert!(world.registry.open(run.id(), &token).is_some());
}

#[tokio::test]
async fn hard_stop_never_becomes_soft() {
    let (world, run) = running();
    let stops = run.stops();
    assert_eq!(
        world.registry.stop(run.id(), StopMode::Soft, actor()),
        StopOutcome::Stopping
    );
    assert!(stops.soft.is_cancelled() && !stops.hard.is_cancelled());
    assert_eq!(
        world.registry.stop(run.id(), StopMode::Hard, actor()),
        StopOutcome::Stopping
    );
    assert!(stops.hard.is_cancelled());
    world.registry.stop(run.id(), StopMode::Soft, actor());
    assert_eq!(run.view().stop, Some(StopMode::Hard));
    assert_eq!(run.view().event_count, 2);
    run.finish(RunStatus::StoppedHard);
    assert_eq!(
        world.registry.stop(run.id(), StopMode::Hard, actor()),
        StopOutcome::Finished
    );
}

#[tokio::test]
async fn finished_run_accepts_spans_until_the_seal() {
    let (_world, run) = running();
    run.finish(RunStatus::Completed);
    say(&run, "late");
    let span = |id: &str| EventBody::SpanStart {
        span_id: id.into(),
        parent_span_id: None,
        name: "post.reply".into(),
        attrs: None,
    };
    run.publish(span("s1"));
    run.seal(None);
    run.publish(span("s2"));
    assert_eq!(run.view().event_count, 1);
}

#[tokio::test]
async fn only_finished_runs_are_evicted() {
    let world = world();
    let (done, live) = (
        world
            .registry
            .create(world.registry.mint(), facts())
            .unwrap(),
        world
            .registry
            .create(world.registry.mint(), facts())
            .unwrap(),
    );
    let mut index = world.registry.subscribe_index();
    done.finish(RunStatus::Completed);
    done.seal(None);
    world
        .clock
        .0
        .store(1000 + FINISHED_RETENTION_MS, Ordering::Relaxed);
    assert!(world.registry.get(done.id()).is_none());
    assert!(world.registry.get(live.id()).is_some());
    let mut last = None;
    while let Ok(change) = index.try_recv() {
        last = Some(change);
    }
    assert_eq!(last, Some(IndexChange::Removed(done.id().clone())));
}

#[tokio::test]
async fn streams_of_a_forgotten_run_end() {
    let World { registry, .. } = world();
    let run = registry
        .create(RunId::parse("r1").unwrap(), facts())
        .unwrap();
    let token = run.view().token;
    let mut subscription = registry.subscribe(run.id(), &token, 0).unwrap();
    say(&run, "a");
    registry.forget(run.id());
    assert_eq!(seqs(&subscription.next().await.unwrap()), [1]);
    assert_eq!(subscription.next().await, None);
}

#[test]
fn restored_run_keeps_its_token() {
    let (first, second) = (world().registry, world().registry);
    let run = first.create(RunId::parse("r1").unwrap(), facts()).unwrap();
    let token = run.token().to_owned();
    let origin = Origin {
        token: Some(token.clone()),
        ..Origin::default()
    };
    second.restore(run.id().clone(), facts(), origin).unwrap();
    assert!(second.open(run.id(), &token).is_some());

    let origin = Origin {
        token: Some("guessable".into()),
        ..Origin::default()
    };
    let run = second
        .restore(RunId::parse("r2").unwrap(), facts(), origin)
        .unwrap();
    assert!(second.open(run.id(), "guessable").is_none());
    assert_eq!(run.token().len(), token.len());
}

#[tokio::test]
async fn viewer_ahead_of_a_restored_run_is_rewound() {
    let registry = world().registry;
    let stored = [1, 2].map(|seq| Kept {
        seq,
        json: format!(r#"{{"type":"assistant","seq":{seq}}}"#).into(),
    });
    let origin = Origin {
        events: stored.to_vec(),
        restored_at: Some(7),
        ..Origin::default()
    };
    let run = registry
        .restore(RunId::parse("r1").unwrap(), facts(), origin)
        .unwrap();
    let token = run.token().to_owned();
    ["a", "b", "c"].iter().for_each(|text| say(&run, text));
    // The previous process published up to 4, and 3 and 4 are other events now.
    let mut first = registry.subscribe(run.id(), &token, 4).unwrap();
    assert_eq!(seqs(&first.next().await.unwrap()), [3, 4, 5]);
    let mut second = registry.subscribe(run.id(), &token, 4).unwrap();
    assert_eq!(seqs(&second.next().await.unwrap()), [3, 4, 5]);
    // A viewer that received up to 5 here comes back to 5.
    drop(first);
    say(&run, "d");
    let mut back = registry.subscribe(run.id(), &token, 5).unwrap();
    assert_eq!(seqs(&back.next().await.unwrap()), [6]);
}

/// The kept events are fewer than those that count.
#[tokio::test]
async fn use_counts_evicted_and_restored_events() {
    let registry = world().registry;
    let turn = |model: &str, purpose: Option<&str>| {
        let usage = json!({"inputTokens": 10, "outputTokens": 1});
        let attrs = json!({"model": model, "purpose": purpose, "usage": usage});
        json!({"type": "span_end", "name": "model.turn", "spanId": "s", "startedAt": 0, "durationMs": 1,
            "status": "ok", "attrs": attrs, "seq": 1})
    };
    let kept = Kept {
        seq: 1,
        json: turn("other", Some("summary")).to_string().into(),
    };
    let origin = Origin {
        events: vec![kept],
        restored_at: Some(7),
        ..Origin::default()
    };
    let own = RunFacts {
        model: Some("m/one".into()),
        ..facts()
    };
    let run = registry
        .restore(RunId::parse("r1").unwrap(), own, origin)
        .unwrap();
    let calls = 6_000;
    for _ in 0..calls {
        let (tool, summary) = ("bash".to_owned(), "$ ls".to_owned());
        run.publish(EventBody::ToolCall {
            tool,
            summary,
            call_id: None,
            command: None,
        });
    }
    run.publish(serde_json::from_value(turn("m/one", None)).unwrap());
    let LiveRun { used, events, .. } = run.view();
    assert!(events.len() < calls);
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 1,
        ..Usage::default()
    };
    let expected = RunUse {
        turns: 1,
        calls: 6_000,
        context_tokens: 11,
        usage,
        has_other_model: true,
    };
    assert_eq!(used, expected);
    let values = [
        turn("m/one", None),
        turn("other", None),
        json!({"type": "tool_call"}),
    ];
    let expected = RunUse {
        turns: 2,
        calls: 1,
        ..expected
    };
    assert_eq!(RunUse::of_events(&values, Some("m/one")), expected);
}
