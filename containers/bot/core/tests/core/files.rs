//! Files of messages on every path to the model: first request, history, follow-ups, other processes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ars_agent::{Part, Role, Turn};
use ars_bot_core::{Capabilities, load_limits::LoadLimits, settings::Settings, threads::Note};
use ars_bot_ports::{Attachment, AttachmentKind, HistoryTurn, IncomingMessage};
use ars_types::{Platform, RunStatus, ThreadKey};
use serde_json::json;

use crate::support::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n";

fn file(name: &str, content: &[u8]) -> Attachment {
    let is_image = content == PNG;
    Attachment {
        name: name.into(),
        media_type: if is_image {
            "image/png"
        } else {
            "application/pdf"
        }
        .into(),
        kind: if is_image {
            AttachmentKind::Image
        } else {
            AttachmentKind::Document
        },
        content: content.into(),
        reference: Some(format!("ref:{name}")),
    }
}

fn files() -> Vec<Attachment> {
    vec![file("a.png", PNG), file("b.pdf", PDF)]
}

/// The parts of [`files`] in a turn.
const PARTS: [&str; 3] = ["[image `a.png`]", "image/png", "application/pdf b.pdf"];

fn with_files(text: &str) -> IncomingMessage {
    IncomingMessage {
        attachments: files(),
        ..message(text)
    }
}

/// A channel that reads the files again, if it has them.
fn channel(has_files: bool) -> Arc<RecordingChannel> {
    let files = files().into_iter().filter(|_| has_files);
    Arc::new(RecordingChannel {
        files: files
            .map(|file| (file.reference.unwrap(), file.content))
            .collect::<BTreeMap<_, _>>(),
        ..RecordingChannel::default()
    })
}

/// Returns each part's text, or its file's type and name.
fn parts(turn: &Turn) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text { text, .. } => text.clone(),
        Part::Image { media_type, .. } => media_type.clone(),
        Part::Document {
            media_type, name, ..
        } => format!("{media_type} {}", name.clone().unwrap_or_default()),
        _ => String::new(),
    };
    turn.parts.iter().map(part).collect()
}

/// Returns the parts of each turn in the last model call.
fn last_call(world: &World) -> Vec<Vec<String>> {
    let seen = world.model.seen.lock().unwrap();
    seen.last().unwrap().iter().map(parts).collect()
}

fn assert_files_behind(text: &str, parts: &[String]) {
    assert!(parts[0].contains(text), "{parts:?}");
    assert_eq!(parts[1..], PARTS);
}

#[tokio::test]
async fn model_sees_the_files_of_request_and_history() {
    let world = world(vec![Move::Say("seen")]);
    let turn = |role, text: &str| HistoryTurn {
        attachments: files(),
        ..said(role, text)
    };
    let io = Arc::new(RecordingChannel {
        history: vec![turn(Role::User, ""), turn(Role::Assistant, "ok")],
        ..RecordingChannel::default()
    });
    let channel: Arc<RecordingChannel> = Arc::clone(&io);
    world.core.dispatch(with_files("look"), channel).await;
    world.settle().await;
    let turns = last_call(&world);
    assert_eq!(
        (&turns[0][..], &turns[1][..]),
        (&PARTS.map(String::from)[..], &["ok".to_owned()][..])
    );
    assert_files_behind("look", &turns[2]);
    let record = world.last_record();
    let event = |kind: &str| {
        record
            .events
            .iter()
            .find(|event| event["type"] == kind)
            .unwrap()
    };
    let named = json!([{"name": "a.png", "mediaType": "image/png", "bytes": PNG.len()},
        {"name": "b.pdf", "mediaType": "application/pdf", "bytes": PDF.len()}]);
    let input = event("input");
    assert_eq!(
        (&input["text"], &input["attachments"]),
        (&json!("look (+2 attachments)"), &named)
    );
    let context = "user: \n[a.png, image/png, 16 bytes]\n[b.pdf, application/pdf, 17 bytes]";
    assert_eq!(event("context")["text"], context);
}

#[tokio::test]
async fn request_may_be_files_alone() {
    let world = world(vec![Move::Say("seen")]);
    say(&world, with_files("agent:general")).await;
    assert_eq!(last_call(&world)[0], PARTS);
}

#[tokio::test]
async fn follow_up_brings_its_files() {
    let world = Arc::new(world(vec![Move::SayWhenReleased("one"), Move::Say("two")]));
    let (_, running) = under_way(&world, "hello").await;
    say(&world, with_files("and this")).await;
    world.finish_and_settle(running).await;
    assert_files_behind("and this", last_call(&world).last().unwrap());
    let record = world.last_record();
    let input = record
        .events
        .iter()
        .rfind(|event| event["type"] == "input")
        .unwrap();
    assert_eq!(input["attachments"][1]["name"], "b.pdf");
}

#[tokio::test]
async fn unread_follow_ups_join_their_files() {
    let world = Arc::new(world(vec![Move::FailWhenReleased, Move::Say("both")]));
    let (_, running) = under_way(&world, "hello").await;
    say(
        &world,
        IncomingMessage {
            attachments: vec![file("a.png", PNG)],
            ..message("one")
        },
    )
    .await;
    say(
        &world,
        IncomingMessage {
            attachments: vec![file("b.pdf", PDF)],
            ..message("two")
        },
    )
    .await;
    world.finish_and_settle(running).await;
    assert_files_behind("one\n\ntwo", &last_call(&world)[0]);
}

/// Another process reads files again, or informs model and sender.
fn assert_restored(has_files: bool, text: &str, parts: &[String], io: &RecordingChannel) {
    let notice = "⚠️ The service was restarted and could not read these files again: a.png, b.pdf.";
    let is_told = io.said().iter().any(|said| said.starts_with(notice));
    assert_eq!(is_told, !has_files, "{:?}", io.said());
    if has_files {
        assert_files_behind(text, parts);
    } else {
        let note = "could not be read again after a restart: `a.png`, `b.pdf`";
        assert!(
            parts.len() == 1 && parts[0].contains(text) && parts[0].contains(note),
            "{parts:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn resumed_run_reads_the_files_of_its_inbox() {
    for has_files in [true, false] {
        let ledger = Arc::new(ScriptedLedger::default());
        let first = Arc::new(ledger.process("g1", vec![Move::HangUntilStopped]));
        let (_, running) = under_way(&first, "hello").await;
        running.abort();
        let note = Note::from_message(&with_files("late"), "late").message();
        ledger
            .runs()
            .values_mut()
            .for_each(|kept| kept.inbox.push(note.clone()));
        let io = channel(has_files);
        let channels = Arc::new(ReopenedChannel(Arc::clone(&io)));
        let second = world_with(
            vec![Move::Say("one"), Move::Say("two")],
            ledger.capability("g2", channels),
        );
        let record = second.end_what_is_left(&ledger).await;
        assert_eq!(record.status, RunStatus::Completed);
        assert_restored(has_files, "late", last_call(&second).last().unwrap(), &io);
    }
}

#[tokio::test(start_paused = true)]
async fn ended_runs_inbox_becomes_a_turn_with_files() {
    for has_files in [true, false] {
        let ledger = Arc::new(ScriptedLedger::default());
        let io = channel(has_files);
        let capabilities = ledger.capability("g1", Arc::new(ReopenedChannel(Arc::clone(&io))));
        let world = Arc::new(world_with(
            vec![
                Move::SayWhenReleased("first"),
                Move::Say("late, but answered"),
            ],
            capabilities,
        ));
        let running = tokio::spawn({
            let (world, io) = (Arc::clone(&world), Arc::clone(&io));
            async move { world.dispatch("hello", &io).await }
        });
        world.model.called.notified().await;
        ledger.script(
            "flush",
            vec![Fault::Fail(ars_bot_ports::StoreErrorKind::Transient); 4],
        );
        let note = Note::from_message(&with_files("late"), "late").message();
        ledger
            .runs()
            .values_mut()
            .for_each(|kept| kept.inbox.push(note.clone()));
        world.finish(running).await;
        world.settle().await;
        assert_restored(has_files, "late", last_call(&world).last().unwrap(), &io);
    }
}

#[tokio::test(start_paused = true)]
async fn queued_request_reads_its_files_again() {
    for has_files in [true, false] {
        let ledger = Arc::new(ScriptedLedger::default());
        let io = channel(has_files);
        let narrow = |generation: &str, moves| {
            let channels = Arc::new(ReopenedChannel(Arc::clone(&io)));
            let limits = LoadLimits {
                runs: Some(1),
                ..LoadLimits::default()
            };
            let capabilities: Capabilities = ledger.capability(generation, channels);
            Arc::new(world_of(moves, capabilities, |settings| Settings {
                load: limits,
                ..settings
            }))
        };
        let world = narrow("g1", vec![Move::HangUntilStopped]);
        let (_, first) = under_way(&world, "hello").await;
        let queued = IncomingMessage {
            thread_key: ThreadKey::new(Platform::Http, "default", "other"),
            ..with_files("queued")
        };
        let waiting = Arc::new(RecordingChannel {
            history: vec![HistoryTurn {
                attachments: files(),
                ..said(Role::User, "earlier")
            }],
            ..RecordingChannel::default()
        });
        let second = tokio::spawn({
            let (core, waiting) = (world.core.clone(), Arc::<RecordingChannel>::clone(&waiting));
            async move { core.dispatch(queued, waiting).await }
        });
        while waiting.statuses().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(world.core.drain(Duration::from_secs(60)).await);
        first.await.unwrap();
        second.await.unwrap();

        let next = narrow("g2", vec![Move::Say("one"), Move::Say("two")]);
        let keeping = next.keep_ledger();
        ledger
            .until(|ledger| ledger.records.lock().unwrap().len() == 2)
            .await;
        next.settle().await;
        keeping.abort();
        let seen = next.model.seen.lock().unwrap();
        let turns = seen.iter().find(|turns| turns.len() == 2).unwrap();
        assert_restored(has_files, "queued", &parts(&turns[1]), &io);
        assert_eq!(parts(&turns[0]).len(), if has_files { 4 } else { 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn resume_restores_a_large_file() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = Arc::new(ledger.process("g1", vec![Move::HangUntilStopped]));
    let mut large = PNG.to_vec();
    large.resize(3_000_000, 7);
    let large = IncomingMessage {
        attachments: vec![file("large.png", &large)],
        ..message("look")
    };
    let running = tokio::spawn({
        let core = first.core.clone();
        async move {
            core.dispatch(large, Arc::new(RecordingChannel::default()))
                .await;
        }
    });
    first.model.called.notified().await;
    running.abort();
    let second = ledger.process("g2", vec![Move::Say("done")]);
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Completed);
    let (before, after) = (
        first.model.seen.lock().unwrap(),
        second.model.seen.lock().unwrap(),
    );
    assert!(before[0] == after[0] && parts(&after[0][0])[2] == "image/png");
}
