//! Runs: lists, point reads, events, diagnoses and stops.

use std::sync::{Arc, atomic::Ordering};

use ars_auth::Set;
use ars_bot_core::commands::{Caller, Failure};
use ars_commands::Surface;
use ars_types::RunStatus;
use serde_json::{Value, json};

use super::support::{Desk, browser, desk, desk_with, granted, none, on, operator, token};
use crate::support::{Move, RecordingChannel, message};

fn ids(listed: &Value) -> Vec<&str> {
    listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_str().unwrap())
        .collect()
}

/// Creates a desk with runs from two channels.
fn seeded(count: usize) -> Desk {
    let desk = desk();
    for n in 0..count {
        desk.runs
            .seed(&format!("r{n:02}"), 1_000_000 + n as i64, |_| ());
    }
    desk.runs.seed("private", 1_000_500, |record| {
        record["channelId"] = json!("slack:G1");
        record["channelVisibility"] = json!("private");
        record["agent"] = json!("review");
    });
    desk
}

/// Returns the failure parts that surfaces show.
fn shown(failure: &Failure) -> String {
    format!(
        "{:?} {} {}",
        failure.decided_by,
        failure.code.as_str(),
        failure.message
    )
}

fn member() -> Caller {
    granted(&[], Set::only(&["http:default"]))
}

const FINISHED: &str = "finished";

#[tokio::test]
async fn list_is_paged_by_cursor() {
    let desk = seeded(5);
    let list = async |body: Value| desk.output(&member(), "runs.list", body).await;
    assert_eq!(
        list(none()).await,
        json!({ "runs": [] }),
        "active runs only"
    );
    let all = list(json!({ "status": "all" })).await;
    assert_eq!(
        (ids(&all), all.get("nextBefore")),
        (vec!["r04", "r03", "r02", "r01", "r00"], None)
    );
    let first = list(json!({ "status": FINISHED, "limit": 2 })).await;
    let next = json!({ "finishedAt": 1_000_003, "id": "r03" });
    assert_eq!(
        (ids(&first), &first["nextBefore"]),
        (vec!["r04", "r03"], &next)
    );
    let second = json!({ "status": FINISHED, "limit": 3, "before": 1_000_003, "beforeId": "r03" });
    assert_eq!(ids(&list(second).await), ["r02", "r01", "r00"]);
    let lone = desk
        .failure(&member(), "runs.list", json!({ "beforeId": "r03" }))
        .await;
    assert_eq!(
        lone,
        (
            "invalid_input",
            "beforeId must be given together with before".to_owned()
        )
    );
}

/// A stored run's time may have a fraction, and so may a cursor.
#[tokio::test]
async fn cursor_may_have_a_fraction() {
    let desk = seeded(3);
    let list = async |before: Value| {
        let listed = json!({ "status": FINISHED, "limit": 1, "before": before });
        ids(&desk.output(&member(), "runs.list", listed).await)[0].to_owned()
    };
    assert_eq!(list(json!(1_000_001)).await, "r00");
    assert_eq!(list(json!(1_000_001.25)).await, "r01");
    assert_eq!(list(json!("1000001.25")).await, "r01");
}

#[tokio::test]
async fn filters_narrow_the_list() {
    let desk = seeded(3);
    let list = async |body: Value| {
        let listed = desk.output(&operator(), "runs.list", body).await;
        ids(&listed)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        list(json!({ "status": "all", "agent": "review" })).await,
        ["private"]
    );
    assert_eq!(
        list(json!({ "status": "all", "channel": "slack:G1" })).await,
        ["private"]
    );
    assert_eq!(
        list(json!({ "status": "all", "sinceMs": 1_000_002 })).await,
        ["private", "r02"]
    );
    assert_eq!(
        list(json!({ "status": "all", "channel": "slack:G1", "agent": "coding" })).await,
        [""; 0]
    );
}

#[tokio::test]
async fn list_has_only_readable_runs() {
    let desk = seeded(2);
    let all = json!({ "status": "all" });
    assert_eq!(
        ids(&desk.output(&browser(), "runs.list", all.clone()).await),
        [""; 0]
    );
    assert_eq!(desk.runs.lists.lock().unwrap().len(), 1);
    let own = token(&["runs:read"], None);
    assert_eq!(
        ids(&desk.output(&own, "runs.list", all.clone()).await),
        [""; 0]
    );
    assert_eq!(
        ids(&desk.output(&operator(), "runs.list", all).await),
        ["private", "r01", "r00"]
    );
    let lists = desk.runs.lists.lock().unwrap();
    assert_eq!(
        lists.last().unwrap().visible_to,
        None,
        "all channels need no predicate"
    );
}

#[tokio::test]
async fn list_requests_read_no_more_than_shown() {
    let desk = seeded(1);
    desk.output(&operator(), "runs.list", json!({ "status": "all" }))
        .await;
    desk.output(&operator(), "friction.report", json!({})).await;
    let lists = desk.runs.lists.lock().unwrap();
    let requested: Vec<_> = lists
        .iter()
        .map(|list| (list.diagnosis, list.max_scanned))
        .collect();
    assert_eq!(
        requested,
        [(Some(false), Some(5_000)), (Some(true), Some(5_000))]
    );
}

/// A listed run is metadata: no title, no event, no diagnosis.
#[tokio::test]
async fn listed_run_has_no_free_text() {
    let desk = seeded(1);
    let listed = desk
        .output(&member(), "runs.list", json!({ "status": "all" }))
        .await;
    let run = &listed["runs"][0];
    let expected = json!({
        "id": "r00", "agent": "coding", "model": "a/b", "channelId": "http:default", "channelVisibility": "machine",
        "userId": "http:ann", "threadKey": "http:default:t", "startedAt": 995_000, "finished": true,
        "finishedAt": 1_000_000, "status": "completed", "eventCount": 2, "storedEventCount": 2, "truncated": false,
        "persisted": true, "bytes": run["bytes"],
    });
    assert_eq!(run, &expected);
    assert!(!listed.to_string().contains("canary"));
    let reader = on(&member(), Surface::Chat);
    desk.runs.seed("0199a1b2-whole", 2_000_000, |_| ());
    let text = desk.says(&reader, "runs list --status all");
    let lines = "`0199a1b2-whole` coding completed 5.0s\n`r00` coding completed 5.0s";
    assert_eq!(text.await.unwrap().unwrap().text, lines);
}

#[tokio::test]
async fn beginning_of_an_id_names_the_run() {
    let desk = desk();
    let [one, two] = [
        "4c57a1b2-0000-4000-8000-000000000001",
        "4c57a1b3-0000-4000-8000-000000000001",
    ];
    for id in [one, two] {
        desk.runs.seed(id, 1_000_000, |record| {
            record["repo"] = json!("acme/app");
            record["costMicroUsd"] = json!(120_000);
            record["events"] = json!([{ "type": "answer", "text": "it is `done`", "seq": 1 }]);
        });
    }
    desk.runs.seed(
        "4c57a1b4-0000-4000-8000-000000000001",
        1_000_000,
        |record| {
            record["channelId"] = json!("slack:G1");
            record["channelVisibility"] = json!("private");
        },
    );
    let get = async |id: &str| {
        desk.invoke(
            &on(&member(), Surface::Cli),
            "runs.get",
            json!({ "id": id }),
        )
        .await
    };
    let found = get("4c57a1b3").await.unwrap();
    assert!(
        found.json.contains(two) && !found.json.contains(one),
        "{}",
        found.json
    );
    assert!(
        desk.output(&member(), "runs.events", json!({ "id": "4c57a1b2" }))
            .await["events"]
            .is_array()
    );
    let several = get("4c57").await.unwrap_err();
    assert!(
        several
            .message
            .starts_with("id is ambiguous: 2 runs begin with it"),
        "{several}"
    );
    // A hidden run is no match and makes no other run ambiguous.
    for unknown in [
        "4c57a1b4",
        "4c5f",
        "4c57a1b3-0000-4000-8000-00000000000f",
        "4c5",
    ] {
        assert_eq!(
            get(unknown).await.unwrap_err().code.as_str(),
            "not_found",
            "{unknown}"
        );
    }
    let listed = desk
        .invoke(
            &on(&member(), Surface::Cli),
            "runs.list",
            json!({ "status": "all" }),
        )
        .await;
    let text = listed.unwrap().text;
    let row = "4c57a1b3  1970-01-01 00:16Z  completed  coding  acme/app    $0.12  5.0s  -";
    assert!(text.lines().any(|line| line == row), "{text}");
    let whole = json!({ "id": two, "include": "messages" });
    let text = desk
        .invoke(&on(&member(), Surface::Cli), "runs.get", whole)
        .await
        .unwrap()
        .text;
    assert!(
        text.contains("cost          $0.12\n") && text.ends_with("\n\nit is `done`"),
        "{text}"
    );
}

#[tokio::test]
async fn outage_leaves_live_runs() {
    let desk = seeded(1);
    desk.runs.is_down.store(true, Ordering::SeqCst);
    let listed = desk
        .output(&member(), "runs.list", json!({ "status": "all" }))
        .await;
    assert_eq!(listed, json!({ "runs": [], "storeUnavailable": true }));
    assert_eq!(
        desk.failure(&member(), "runs.get", json!({ "id": "r00" }))
            .await
            .0,
        "unavailable"
    );
}

#[tokio::test]
async fn denied_point_read_equals_an_unknown_run() {
    let desk = seeded(1);
    for id in ["runs.get", "runs.events", "runs.friction"] {
        let denied = desk
            .invoke(&browser(), id, json!({ "id": "r00" }))
            .await
            .unwrap_err();
        let unknown = desk
            .invoke(&browser(), id, json!({ "id": "nope" }))
            .await
            .unwrap_err();
        assert_eq!(shown(&denied), shown(&unknown), "{id}");
        assert_eq!(denied.chat_text(), unknown.chat_text(), "{id}");
        assert_eq!(
            (unknown.code.as_str(), unknown.message.as_str()),
            ("not_found", "not found")
        );
    }
    let stop = json!({ "id": "r00", "mode": "soft" });
    let stopper = granted(&["runs:write"], Set::only(&["http:other"]));
    let denied = desk.invoke(&stopper, "runs.stop", stop).await.unwrap_err();
    let unknown = desk
        .invoke(
            &stopper,
            "runs.stop",
            json!({ "id": "nope", "mode": "soft" }),
        )
        .await
        .unwrap_err();
    assert_eq!(shown(&denied), shown(&unknown));
}

/// Before and just after the run ends.
#[tokio::test]
async fn outage_hides_denied_runs_from_stops() {
    let script = vec![Move::SayWhenReleased("done")];
    let desk = Arc::new(desk_with(
        script,
        |capabilities| capabilities,
        |settings| settings,
    ));
    let running = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move {
            desk.core
                .dispatch(message("hi"), Arc::new(RecordingChannel::default()))
                .await;
        }
    });
    desk.model.called.notified().await;
    let id = desk.core.registry().list().remove(0).id;
    let denied = granted(&["runs:write"], Set::only(&["http:other"]));
    let compare = async |code: &str| {
        let stop = async |id: &str| {
            desk.invoke(&denied, "runs.stop", json!({ "id": id, "mode": "soft" }))
                .await
                .unwrap_err()
        };
        let unknown = stop("nope").await;
        assert_eq!(
            (unknown.code.as_str(), shown(&stop(id.as_str()).await)),
            (code, shown(&unknown))
        );
    };
    for is_down in [true, false] {
        desk.runs.is_down.store(is_down, Ordering::SeqCst);
        compare(if is_down { "unavailable" } else { "not_found" }).await;
    }
    desk.model.release.notify_one();
    running.await.unwrap();
    desk.runs.is_down.store(true, Ordering::SeqCst);
    compare("unavailable").await;
}

#[tokio::test]
async fn stored_run_is_read_with_its_events() {
    let desk = seeded(1);
    let run = desk
        .output(&member(), "runs.get", json!({ "id": "r00" }))
        .await;
    assert!(
        run["label"].as_str().unwrap().contains("\ncanary-label\n"),
        "{run}"
    );
    assert_eq!(run.get("title"), None, "another caller asked for it");
    desk.runs.seed("own", 1_000_001, |record| {
        record["userId"] = json!("access:ops");
    });
    assert_eq!(
        desk.output(&member(), "runs.get", json!({ "id": "own" }))
            .await["title"],
        "canary-label"
    );
    assert_eq!(
        (run.get("events"), &run["diagnosis"]["verdict"]),
        (None, &json!("no friction detected"))
    );
    let whole = desk
        .output(
            &member(),
            "runs.get",
            json!({ "id": "r00", "include": "messages" }),
        )
        .await;
    assert_eq!(whole["events"].as_array().unwrap().len(), 2);
    assert!(
        whole["events"][0]["text"]
            .as_str()
            .unwrap()
            .ends_with("\ncanary-text\n</untrusted-text>")
    );
    let friction = desk
        .output(&member(), "runs.friction", json!({ "id": "r00" }))
        .await;
    assert_eq!(
        (&friction["id"], &friction["finished"]),
        (&json!("r00"), &json!(true))
    );
}

#[tokio::test]
async fn events_are_paged_by_seq() {
    let desk = desk();
    desk.runs.seed("r1", 1_000_000, |record| {
        let events = (1..=1_200).map(|seq| json!({ "type": "assistant", "text": "x", "seq": seq }));
        record["events"] = events.collect();
        record["eventCount"] = json!(1_200);
        record["storedEventCount"] = json!(1_200);
    });
    let page = async |body: Value| desk.output(&member(), "runs.events", body).await;
    let seqs = |page: &Value| {
        let events = page["events"].as_array().unwrap();
        (
            events.len(),
            events[0]["seq"].as_u64().unwrap(),
            page["nextAfterSeq"].as_u64(),
        )
    };
    assert_eq!(
        seqs(&page(json!({ "id": "r1" })).await),
        (500, 1, Some(500))
    );
    assert_eq!(
        seqs(&page(json!({ "id": "r1", "afterSeq": 1_000 })).await),
        (200, 1_001, None)
    );
    assert_eq!(
        seqs(&page(json!({ "id": "r1", "afterSeq": "1100", "limit": 2 })).await),
        (2, 1_101, Some(1_102))
    );
    assert_eq!(
        page(json!({ "id": "r1", "afterSeq": 5_000 })).await,
        json!({ "events": [] })
    );
}

/// A page has at most 256 KiB of events, and at least one event.
#[tokio::test]
async fn pages_of_large_events_are_short() {
    let desk = desk();
    desk.runs.seed("r1", 1_000_000, |record| {
        let event =
            |seq: u64| json!({ "type": "assistant", "text": "x".repeat(60_000), "seq": seq });
        record["events"] = (1..=6).map(event).collect();
        record["eventCount"] = json!(6);
        record["storedEventCount"] = json!(6);
    });
    let page = desk
        .output(&member(), "runs.events", json!({ "id": "r1" }))
        .await;
    assert_eq!(
        (
            page["events"].as_array().unwrap().len(),
            &page["nextAfterSeq"]
        ),
        (4, &json!(4))
    );
    let rest = desk
        .output(
            &member(),
            "runs.events",
            json!({ "id": "r1", "afterSeq": 4 }),
        )
        .await;
    assert_eq!(
        (
            rest["events"].as_array().unwrap().len(),
            rest.get("nextAfterSeq")
        ),
        (2, None)
    );
}

/// A live run: read, listed and stopped on permissions alone, and the token is in no output.
#[tokio::test]
async fn live_run_is_steered_without_its_token() {
    let desk = Arc::new(desk_with(
        vec![Move::HangUntilStopped],
        |capabilities| capabilities,
        |settings| settings,
    ));
    let io = Arc::new(RecordingChannel::default());
    let running = tokio::spawn({
        let (desk, io) = (Arc::clone(&desk), Arc::clone(&io));
        async move { desk.core.dispatch(message("canary-text"), io).await }
    });
    desk.model.called.notified().await;
    let run = desk.core.registry().list().remove(0);
    let id = json!({ "id": run.id });
    let (reader, stopper) = (member(), operator());
    let mut outputs = Vec::new();
    for (command, body) in [
        ("runs.list", none()),
        ("runs.list", json!({ "status": "all" })),
        ("runs.get", id.clone()),
        ("runs.get", json!({ "id": run.id, "include": "messages" })),
        ("runs.events", id.clone()),
        ("runs.friction", id.clone()),
    ] {
        let success = desk.invoke(&reader, command, body.clone()).await.unwrap();
        assert!(
            success.json.contains(run.id.as_str()) || command == "runs.events",
            "{command}"
        );
        outputs.push(success.json);
        let hidden = desk.invoke(&browser(), command, body).await;
        assert!(command == "runs.list" || hidden.is_err(), "{command}");
    }
    let listed: Value = serde_json::from_str(&outputs[0]).unwrap();
    assert_eq!(
        (
            &listed["runs"][0]["finished"],
            listed["runs"][0].get("persisted")
        ),
        (&json!(false), None)
    );

    let soft = json!({ "id": run.id, "mode": "soft" });
    assert_eq!(
        desk.failure(&reader, "runs.stop", soft.clone()).await.0,
        "unauthorized",
        "reading is not stopping"
    );
    let missing = desk.failure(&stopper, "runs.stop", id.clone()).await;
    assert_eq!(missing, ("invalid_input", "mode is missing".to_owned()));
    let hard = json!({ "id": run.id, "mode": "hard" });
    let stopping = desk.output(&stopper, "runs.stop", hard.clone()).await;
    assert_eq!(
        stopping,
        json!({ "id": run.id, "mode": "hard", "state": "stopping" })
    );
    running.await.unwrap();
    assert!(desk.core.idle(std::time::Duration::from_secs(60)).await);
    assert_eq!(io.finished(), [RunStatus::StoppedHard]);
    assert_eq!(
        desk.failure(&stopper, "runs.stop", hard).await.0,
        "conflict"
    );

    let ended = desk
        .invoke(
            &reader,
            "runs.get",
            json!({ "id": run.id, "include": "messages" }),
        )
        .await
        .unwrap();
    assert!(
        ended
            .json
            .contains("\"stop\":{\"mode\":\"hard\",\"state\":\"stopped\"}"),
        "{}",
        ended.json
    );
    assert!(
        ended
            .json
            .contains("\"actor\":{\"kind\":\"access\",\"id\":\"access:ops\"}"),
        "{}",
        ended.json
    );
    outputs.push(ended.json);
    assert!(
        outputs.iter().all(|json| !json.contains(&run.token)),
        "no output has the capability token"
    );
}
