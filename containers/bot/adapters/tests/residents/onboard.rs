//! The onboarding of a repository on residents of this machine. Used by the tests of the code host too.

use std::time::Duration;

use ars_bot_ports::Residents;
use ars_resident::{
    lifecycle::StateWord,
    wire::{Live, OnboardRequest},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The resource of the repository.
pub const RESOURCE: &str = "repo:acme/app";
/// Time in which the repository is provisioned on a slow machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// Interval at which its state is asked for.
const POLL: Duration = Duration::from_millis(20);

/// Onboards the repository with a test command, and waits until it is warm.
pub async fn onboard(residents: &dyn Residents, test: &str) {
    let request: OnboardRequest = serde_json::from_value(json!({
        "resource": RESOURCE, "defaultRef": "main", "commands": { "test": test, "build": "true" },
    }))
    .unwrap();
    let never = CancellationToken::new();
    residents.onboard(&request, &never).await.unwrap();
    let warm = async {
        loop {
            let list = residents.list(&never).await.unwrap();
            match &list.residents[0].live {
                Live::View(view) if view.state == StateWord::Warm => return,
                Live::View(view) => assert_ne!(view.state, StateWord::Down, "{:?}", view.reason),
                Live::Unreachable(error) => panic!("{}", error.error),
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, warm).await.unwrap();
}
