//! The rehearsal host: a local code host, when the environment names no real host.
//!
//! For the demonstration, a test kit process serves bare repositories over HTTP, with pull
//! requests, reviews and checks, as an enterprise's own GitHub does. Anyone on this machine may
//! read its repositories; writes need the app. The app's key is made at each start and given to the
//! bot and the resident Worker only.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::data_dir::DataDir;
use super::options::Options;
use super::rehearsal::Rehearsal;
use super::{http, ports, sample};
use crate::cargo::Target;

/// Build target for the host.
pub const TARGET: Target<'_> = Target {
    package: "ars-testkit",
    kind: "--example",
    name: "rehearsal_host",
    profile: "dev",
};

/// A real code host's variables. With any of them set there is no rehearsal host.
const OWN: [&str; 5] = [
    "GITHUB_APP_ID",
    "GITHUB_APP_INSTALLATION_ID",
    "GITHUB_APP_PRIVATE_KEY",
    "GH_TOKEN",
    "GITHUB_BASE_URL",
];
/// The name among the kept ports.
const PART: &str = "codeHost";

/// Returns whether a rehearsal host stands in for a code host: no variable names a real host.
pub fn is_wanted(variable: impl Fn(&str) -> Option<String>) -> bool {
    OWN.iter().all(|name| variable(name).is_none())
}

/// The line that the host prints. No `Debug`: it holds a secret.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listening {
    url: String,
    app_id: String,
    installation: String,
    private_key: String,
}

/// The running host; killed when dropped. No `Debug`: it holds a secret.
pub struct RehearsalHost {
    process: Rehearsal<Listening>,
    root: PathBuf,
}

impl RehearsalHost {
    /// Starts the host on the data directory, and waits until it listens on this address.
    pub fn start(
        binary: &Path,
        options: &Options,
        data: &DataDir,
        address: Ipv4Addr,
    ) -> Result<Self> {
        let root = data.code_host();
        let port = ports::choose(data, PART, address, options.code_host_port())?;
        let address = format!("{address}:{port}");
        let arguments = [root.as_os_str(), address.as_ref()];
        let process = Rehearsal::start("code host", binary, &arguments)?;
        Ok(Self { process, root })
    }

    /// Returns whether it has not exited.
    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    /// Returns the variables that connect a bot to it.
    pub fn variables(&self) -> [(&'static str, &str); 4] {
        let [id, installation, private_key] = self.app();
        let [app, on, key, _, base] = OWN;
        [
            (base, &self.process.line.url),
            (app, id),
            (on, installation),
            (key, private_key),
        ]
    }

    /// Returns the host's app: the id, the installation and the private key.
    pub fn app(&self) -> [&str; 3] {
        let Listening {
            app_id,
            installation,
            private_key,
            ..
        } = &self.process.line;
        [app_id, installation, private_key]
    }

    /// Returns the part that readers see.
    pub fn place(&self) -> Place {
        Place {
            url: self.process.line.url.clone(),
            root: self.root.clone(),
        }
    }
}

/// Where the host is.
#[derive(Debug, Clone)]
pub struct Place {
    /// Base address of the host.
    pub url: String,
    /// Folder with the host's repositories.
    pub root: PathBuf,
}

/// The sample's opened pull request.
#[derive(Debug)]
pub struct PullRequest {
    /// Number on the host.
    pub number: u64,
    /// Its head commit.
    pub head: String,
    /// Lines to show on a terminal.
    pub lines: Vec<String>,
}

impl Place {
    /// Returns the fields for the ready file.
    pub fn ready(&self) -> Value {
        json!({ "git": self.url, "root": self.root })
    }

    /// Returns the sample's origin.
    pub fn sample(&self) -> String {
        format!("{}/{}.git", self.url, sample::NAME)
    }

    /// Returns the pull request that a run opened, with its checks.
    pub fn opened_by(&self, run: &str) -> Result<Option<PullRequest>> {
        let branch = format!("ars/{run}/");
        let pulls = self.read("pulls")?;
        let is_own = |pull: &&Value| {
            pull["head"]["ref"]
                .as_str()
                .is_some_and(|name| name.starts_with(&branch))
        };
        let Some(pull) = pulls.as_array().into_iter().flatten().find(is_own) else {
            return Ok(None);
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let head = text(&pull["head"]["sha"]);
        let number = pull["number"]
            .as_u64()
            .context("a pull request without a number")?;
        let kind = if pull["draft"] == true {
            "Draft pull request"
        } else {
            "Pull request"
        };
        let mut lines = vec![
            format!("{kind} #{number}: {}", text(&pull["title"])),
            format!(
                "  {} for {}",
                text(&pull["head"]["ref"]),
                text(&pull["base"]["ref"])
            ),
            format!("  {}", text(&pull["html_url"])),
        ];
        let checks = self.read(&format!("commits/{head}/check-runs"))?;
        for check in checks["check_runs"].as_array().into_iter().flatten() {
            let [name, conclusion, title] = [
                &check["name"],
                &check["conclusion"],
                &check["output"]["title"],
            ]
            .map(text);
            lines.push(format!("  check {name}: {conclusion} ({title})"));
        }
        Ok(Some(PullRequest {
            number,
            head,
            lines,
        }))
    }

    /// Returns the commits that a run pushed, as patches.
    pub fn pushed_by(&self, run: &str) -> Result<String> {
        let branches = format!("--branches=ars/{run}/*");
        let place = self.root.join(format!("{}.git", sample::NAME));
        sample::git(
            &place,
            &[
                "log",
                "--reverse",
                "--patch",
                "--format=%h %s",
                &branches,
                "^main",
            ],
            None,
        )
    }

    /// Returns the review bodies on a pull request's head.
    pub fn reviews_of(&self, pull: &PullRequest) -> Result<Vec<String>> {
        let reviews = self.read(&format!("pulls/{}/reviews", pull.number))?;
        let of_head = reviews
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| one["commit_id"] == pull.head);
        Ok(of_head
            .map(|one| one["body"].as_str().unwrap_or_default().to_owned())
            .collect())
    }

    /// Reads from the sample repository's interface.
    fn read(&self, path: &str) -> Result<Value> {
        let (status, answer) = http::get(&format!(
            "{}/api/v3/repos/{}/{path}",
            self.url,
            sample::NAME
        ))?;
        anyhow::ensure!(status == 200, "the code host answered {status} for {path}");
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_code_host_replaces_the_rehearsal() {
        assert!(is_wanted(|_| None));
        for own in OWN {
            assert!(
                !is_wanted(|name| (name == own).then(|| "x".to_owned())),
                "{own}"
            );
        }
    }
}
