//! Onboards a repository on local residents. The code host's tests use it too.

use std::time::Duration;

use ars_bot_ports::Residents;
use ars_resident::{
    lifecycle::StateWord,
    wire::{Live, OnboardRequest},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The repository's resource name.
pub const RESOURCE: &str = "repo:acme/app";
/// Time in which the repository is provisioned on a slow machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// Interval between state requests.
const POLL: Duration = Duration::from_millis(20);

/// Onboards the repository with a test command, and waits until it is warm.
pub async fn onboard(residents: &dyn Residents, test: &str) {
    let request: OnboardRequest = serde_json::from_value(json!({
        "resource": RESOURCE, "defaultRef": "main", "commands": { "test": test, "build": "true" },
    }))
    .unwrap();
    let never = CancellationToken::new();
    residents.onboard(&request, &never).await.unwrap();
    settled(residents, StateWord::Warm).await;
}

/// Waits until the only resident has this state. It may still be in the making.
pub async fn settled(residents: &dyn Residents, wanted: StateWord) {
    let settled = async {
        loop {
            let list = residents.list(&CancellationToken::new()).await.unwrap();
            match list.residents.first().map(|row| &row.live) {
                Some(Live::View(view)) if view.state == wanted => return,
                Some(Live::View(view)) => {
                    assert_ne!(view.state, StateWord::Down, "{:?}", view.reason);
                }
                Some(Live::Unreachable(error)) => panic!("{}", error.error),
                None => {}
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.unwrap();
}
