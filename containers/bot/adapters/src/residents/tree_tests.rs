//! Calls on a resident tree without free capacity. Not here: other calls (`tests/residents`).

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use ars_bot_ports::{ResidentsError, WorkspaceError};
use ars_resident::names::{Resource, Sha};
use ars_types::{StrictRefName, ThreadKey};
use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    bindings::{Note, Notes},
    client::{PROBE_TIMEOUT, ResidentsClient},
    transport::{ResidentCall, ResidentResponse, ResidentTransport},
    tree::{Executed, ResidentTree},
};

const BUSY: &str = r#"{"error":"no container","reason":"fleet-busy"}"#;
const DONE: &str = r#"{"stdout":"done","stderr":"","exitCode":0,"truncated":false}"#;

/// Gives these responses in turn.
struct Scripted(Mutex<VecDeque<&'static str>>);

#[async_trait]
impl ResidentTransport for Scripted {
    async fn send(&self, _: ResidentCall) -> Result<ResidentResponse, ResidentsError> {
        let text = self.0.lock().unwrap().pop_front().unwrap().to_owned();
        Ok(ResidentResponse { status: 200, text })
    }
}

/// Runs a command with a timeout. Returns the result and the elapsed time.
async fn exec(
    answers: &[&'static str],
    timeout: Duration,
) -> (Result<Executed, WorkspaceError>, Duration) {
    let transport = Scripted(Mutex::new(answers.iter().copied().collect()));
    let note = Note {
        repository: "acme/app".to_owned(),
        origin: "https://host.example/acme/app".to_owned(),
        resource: Resource::parse("repo:acme/app").unwrap(),
        git_ref: None,
        bound: StrictRefName::parse("main").unwrap(),
        base: Sha::parse("a".repeat(40)).unwrap(),
        pushed: None,
        saved: None,
        is_readonly: false,
        is_released: false,
    };
    let residents = Arc::new(ResidentsClient::over(transport, PROBE_TIMEOUT));
    let (notes, key) = (Notes::new(Path::new("/nowhere")), ThreadKey::cli("t"));
    let tree = ResidentTree::new(residents, notes, key, note, true);
    let start = Instant::now();
    (
        tree.exec("true", timeout, &CancellationToken::new()).await,
        start.elapsed(),
    )
}

#[tokio::test(start_paused = true)]
async fn busy_fleet_is_waited_for() {
    let (ended, waited) = exec(&[BUSY, BUSY, DONE], Duration::from_secs(60)).await;
    assert!(matches!(ended, Ok(Executed::Ended(answer)) if answer.stdout == "done"));
    assert!(waited >= Duration::from_secs(30), "{waited:?}");
    // The command would have no time left after the next wait.
    let (ended, waited) = exec(&[BUSY, BUSY], Duration::from_secs(20)).await;
    assert!(matches!(ended, Err(WorkspaceError::Busy)));
    assert!(waited < Duration::from_secs(20), "{waited:?}");
}
