//! Drives the measured resident's lifecycle: onboarding, refreshes, a restore.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use ars_bot_adapters::residents::{PROBE_TIMEOUT, ResidentCall, ResidentTransport};
use ars_bot_ports::Residents;
use ars_resident::layout::TRASH;
use ars_resident::wire::{EngineView, Live, Route};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    origin::Origin,
    samples::{Attaches, Samples, timed},
    threads::{Attached, RESOURCE, attach, detach, request},
};

/// Interval between reads of the resident's state.
const POLL: Duration = Duration::from_millis(10);
/// Timeout for reaching a resident state: installing dependencies takes minutes beside other load.
const STATE_TIMEOUT: Duration = Duration::from_mins(10);
/// Timeout for archiving the dependencies.
const ARCHIVE_TIMEOUT: Duration = Duration::from_secs(60);
/// Archives that a resident keeps: mirror, checkout and dependencies.
const ARCHIVES: u64 = 3;

async fn view(residents: &dyn Residents) -> EngineView {
    let list = residents.list(&CancellationToken::new()).await.unwrap();
    match list.residents.into_iter().next().unwrap().live {
        Live::View(view) => *view,
        Live::Unreachable(error) => panic!("{}", error.error),
    }
}

/// Waits for a state that satisfies the condition.
async fn until(residents: &dyn Residents, what: &str, condition: impl Fn(&EngineView) -> bool) {
    let start = Instant::now();
    loop {
        let view = view(residents).await;
        if condition(&view) {
            return;
        }
        let (state, reason) = (view.state.as_str(), view.reason);
        assert_ne!(state, "down", "{reason:?}");
        assert!(
            start.elapsed() < STATE_TIMEOUT,
            "{what} is missing; the resident is {state}: {reason:?}"
        );
        tokio::time::sleep(POLL).await;
    }
}

/// Waits for a spare tree.
pub async fn until_spare(residents: &dyn Residents) {
    until(residents, "a spare tree", |view| view.has_spare).await;
}

/// Waits until the trees that the earlier round removed are deleted.
pub async fn until_no_trash(data: &Path) {
    let slug = RESOURCE.trim_start_matches("repo:");
    let trash = data
        .join("residents")
        .join(slug)
        .join(TRASH.trim_start_matches('/'));
    while fs::read_dir(&trash).unwrap().next().is_some() {
        tokio::time::sleep(POLL).await;
    }
}

async fn until_warm(residents: &dyn Residents) {
    until(residents, "a warm resident", is_warm).await;
}

fn is_warm(view: &EngineView) -> bool {
    view.state.as_str() == "warm"
}

/// Sends an administrator's request and returns the response.
async fn send(transport: &dyn ResidentTransport, route: Route, body: &Value) -> String {
    let body = body.to_string();
    let call = ResidentCall {
        route,
        resource: None,
        body,
        timeout: PROBE_TIMEOUT * 10,
    };
    let answer = transport.send(call).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text
}

async fn debug(transport: &dyn ResidentTransport, op: &str) {
    send(
        transport,
        Route::Debug,
        &json!({"op": op, "resource": RESOURCE}),
    )
    .await;
}

/// Waits until the dependencies have an archive, so that a restore includes them.
async fn until_archived(transport: &dyn ResidentTransport) {
    let archived = async {
        loop {
            let plan = send(
                transport,
                Route::Offboard,
                &json!({"resource": RESOURCE, "dryRun": true}),
            )
            .await;
            let plan: Value = serde_json::from_str(&plan).unwrap();
            if plan["wouldRemove"]["backupObjects"].as_u64() >= Some(ARCHIVES) {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    let waited = tokio::time::timeout(ARCHIVE_TIMEOUT, archived).await;
    assert!(waited.is_ok(), "the dependencies have no archive");
}

/// Onboards the repository and returns once it is warm.
pub async fn onboard(residents: &dyn Residents, install: &str) {
    let commands = json!({"install": install, "build": "true", "test": "true"});
    let body = request(&json!({"defaultRef": "main", "commands": commands}));
    residents
        .onboard(&body, &CancellationToken::new())
        .await
        .unwrap();
    until_warm(residents).await;
}

/// Measures refreshes, and attaches while a refresh runs.
pub async fn refresh(
    residents: &dyn Residents,
    transport: &dyn ResidentTransport,
    origin: &Origin,
) {
    for (name, change) in [
        ("refresh", None),
        ("refresh+commit", Some("README.md")),
        ("refresh+install", Some("package-lock.json")),
    ] {
        if let Some(file) = change {
            origin.change(file, "{\"changed\": true}\n");
        }
        until_spare(residents).await;
        let before = view(residents).await.last_refresh_at;
        let start = Instant::now();
        debug(transport, "refresh-now").await;
        let done = until(residents, "a refresh", |view| {
            is_warm(view) && view.last_refresh_at != before
        });
        let mut attaches = Attaches::default();
        let attaching = async {
            for number in 0.. {
                let thread = format!("refresh:{name}.{number}").replace('+', "-");
                let (time, found) = timed(attach(residents, &thread)).await;
                if matches!(found, Ok(Attached::Yes | Attached::Spare)) {
                    detach(residents, &thread).await.unwrap();
                }
                attaches.note((time, found));
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::select! {
            () = done => {}
            () = attaching => {}
        }
        Samples::single(start.elapsed()).print(0, name);
        attaches.print(0, &format!(", {name}"));
    }
}

/// Measures a restore with dependencies: the disk is lost, and an attach waits until it returns.
pub async fn restore(residents: &dyn Residents, transport: &dyn ResidentTransport) {
    // The spare tree appears after archives with older lockfiles were removed.
    until_spare(residents).await;
    until_archived(transport).await;
    debug(transport, "stop-container").await;
    let (time, found) = timed(attach(residents, "restore:one")).await;
    let mut samples = Samples::default();
    samples.note((time, found));
    samples.print(0, "restore+attach");
    until_warm(residents).await;
    let last = view(residents)
        .await
        .last_restore
        .map_or(0, |restore| restore.ms);
    Samples::single(Duration::from_millis(last.unsigned_abs())).print(0, "restore");
}
