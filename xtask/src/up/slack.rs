//! The rehearsal workspace: a local Slack with a page, for `--slack`.
//!
//! A test kit process serves Slack's Web API and Socket Mode as far as the bot uses them. Its page
//! is a person's view: whoever has the link writes as that person. Tokens and the link's key are
//! made at each start.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::data_dir::DataDir;
use super::options::Options;
use super::ports;
use super::rehearsal::Rehearsal;
use crate::cargo::{self, Target};
use crate::terminal::Step;

/// Build target for the workspace.
const TARGET: Target<'_> = Target {
    package: "ars-testkit",
    kind: "--example",
    name: "rehearsal_slack",
    profile: "dev",
};

/// The variables that connect a bot to a workspace: its address, the bot's token, the app's token.
const VARIABLES: [&str; 3] = ["SLACK_BASE_URL", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"];
/// Configuration for the person on the page: as much as the token `operator` may.
pub const CONFIGURATION: &str = "
[grants.\"slack:U0ADA\"]
actions = [\"runs:write\", \"config:write\", \"memory:write\", \"repo:write\", \"repo:exec\"]
channels = \"all\"
repos = \"all\"
";
/// The name among the kept ports.
const PART: &str = "slack";

/// The line that the workspace prints. No `Debug`: it holds secrets.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listening {
    url: String,
    bot_token: String,
    app_token: String,
    page: String,
}

/// Where the workspace is. No `Debug`: the link contains the page's key.
#[derive(Clone, Serialize)]
pub struct Workspace {
    /// Base of the Web API.
    pub url: String,
    /// Link to the page.
    pub page: String,
}

/// The running workspace; killed when dropped. No `Debug`: it holds secrets.
pub struct RehearsalSlack(Rehearsal<Listening>);

impl RehearsalSlack {
    /// Starts the workspace if the options ask for it.
    ///
    /// # Errors
    /// When the environment names a real workspace, or the process does not start.
    pub fn start(
        options: &Options,
        data: &DataDir,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>> {
        if !options.slack {
            return Ok(None);
        }
        refuse_real_workspace(variable)?;
        let step = Step::begin("slack");
        let binary = cargo::build(TARGET, &step)?;
        let port = ports::choose(data, PART, Ipv4Addr::LOCALHOST, options.slack_port())?;
        let address = format!("{}:{port}", Ipv4Addr::LOCALHOST);
        let process = Rehearsal::start("workspace", &binary, &[address.as_ref()])?;
        step.done("a rehearsal, on this machine only");
        Ok(Some(Self(process)))
    }

    /// Returns whether it has not exited.
    pub fn is_running(&mut self) -> bool {
        self.0.is_running()
    }

    /// Returns the variables that connect a bot to it.
    pub fn variables(&self) -> [(&'static str, &str); 3] {
        let Listening {
            url,
            bot_token,
            app_token,
            ..
        } = &self.0.line;
        let [base, bot, app] = VARIABLES;
        [(base, url), (bot, bot_token), (app, app_token)]
    }

    /// Returns the part that readers see.
    pub fn workspace(&self) -> Workspace {
        Workspace {
            url: self.0.line.url.clone(),
            page: self.0.line.page.clone(),
        }
    }
}

/// Rejects a start in which the bot could be connected to a real workspace.
fn refuse_real_workspace(variable: impl Fn(&str) -> Option<String>) -> Result<()> {
    for name in VARIABLES {
        ensure!(
            variable(name).is_none(),
            "--slack starts a workspace of its own: unset {name}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_workspace_is_refused() {
        assert!(refuse_real_workspace(|_| None).is_ok());
        for own in VARIABLES {
            let set = |name: &str| (name == own).then(|| "x".to_owned());
            let refused = refuse_real_workspace(set).unwrap_err().to_string();
            assert!(refused.contains(own), "{refused}");
        }
    }
}
