//! Friction from a drill's own records, filed on a fake code host.

use ars_testkit::github::FakeGitHub;
use ars_tests_drills::{Bot, Machine, Setup};
use serde_json::json;

use crate::kills::over;

/// A tool that no agent has.
pub const MISSING_TOOL: &str = "no_such_tool";
/// The request for a run that calls it, and that no kill interrupts.
pub const CALL_IT: &str = "agent:general call what is missing";

/// Returns the setup for a machine with a user who may file issues on the host.
pub fn filing_on(github: &FakeGitHub) -> Setup {
    github.add_repository("acme/app", &[("README.md", "The app.\n")]);
    let app = github.app();
    Setup {
        config: "[grants.\"http:ann\"]\nactions = [\"friction:write\"]\nchannels = \"all\"\n"
            .to_owned(),
        environment: vec![
            ("GITHUB_BASE_URL", github.url()),
            ("GITHUB_APP_ID", app.id),
            ("GITHUB_APP_INSTALLATION_ID", app.installation.to_string()),
            ("GITHUB_APP_PRIVATE_KEY", app.private_key),
        ],
        ..Setup::default()
    }
}

/// Files the friction from the machine's killed run and from another run.
///
/// What both did is a single issue. The command that the kill interrupted is in none, although one
/// run is enough for a pattern here.
pub async fn file_all(machine: &Machine, bot: &Bot, github: &FakeGitHub) {
    let (status, answer) = bot
        .ask(&json!({ "text": CALL_IT, "thread": "another" }))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status, 200, "{answer}");
    over(machine).await;
    let text = "friction propose --min-runs 1 --top 10 --repo acme/app";
    let (_, answer) = bot
        .ask(&json!({ "text": text, "thread": "operators" }))
        .await
        .unwrap()
        .unwrap();
    let reply = answer["reply"].as_str().unwrap();
    let issues = github.repository("acme/app").items;
    assert!(reply.starts_with("2 runs analyzed"), "{reply}");
    assert_eq!(reply.matches("- filed #").count(), issues.len(), "{reply}");
    let found = issues
        .values()
        .find(|issue| issue.title.contains(MISSING_TOOL));
    assert!(
        found.is_some_and(|issue| issue.body.starts_with("2 runs had 2 findings")),
        "{issues:#?}"
    );
    assert!(
        !issues.values().any(|issue| issue.title.contains("bash")),
        "{issues:#?}"
    );
}
