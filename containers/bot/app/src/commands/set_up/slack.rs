//! `ars setup slack`: prints the app's manifest, and checks the tokens that are set.

use std::process::ExitCode;

use ars_auth::TokenMap;
use ars_slack::manifest::manifest;

use crate::{
    commands::Failure,
    config::File,
    environment,
    finding::State,
    surfaces::{Sources, slack::Slack},
    terminal,
};

/// Shown below the manifest while no token is set.
const NEXT_STEPS: &str = "\
Next:
  1. Open https://api.slack.com/apps, choose \"Create New App\" and \"From a manifest\", and paste the JSON above.
  2. Install the app to the workspace; SLACK_BOT_TOKEN is its bot token (xoxb-).
  3. Under \"Basic Information\", generate an app-level token with the scope connections:write;
     SLACK_APP_TOKEN is that token (xapp-).
  4. Set both, and run `ars setup slack` again: it checks them.";

/// Prints the manifest on standard output; everything else goes to standard error.
///
/// # Errors
/// Nothing could be printed, or only one token is set.
pub async fn run() -> Result<ExitCode, Failure> {
    let manifest = serde_json::to_string_pretty(&manifest())?;
    terminal::print(&format!("{manifest}\n"))?;
    let (file, tokens) = (File::default(), TokenMap::parse(None));
    let slack = Slack::read(Sources {
        file: &file,
        tokens: &tokens,
        variable: &environment::variable,
    })
    .map_err(|error| Failure::InvalidInput(error.to_string()))?;
    let findings = slack.check().await;
    if findings.is_empty() {
        terminal::tell(NEXT_STEPS);
    }
    for finding in &findings {
        terminal::tell(finding.lines().trim_end());
    }
    let has_failed = findings.iter().any(|one| one.state == State::Failure);
    Ok(if has_failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
