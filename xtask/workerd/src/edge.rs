//! The edge Worker on this machine: in front of a bot that runs here, or in a container.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use ars_workerd::{Bot, Engine, Settings, Workerd, build_edge_worker, ensure_npm};
//! let (npm, built) = (ensure_npm(&|_| ())?, build_edge_worker(&|_| ())?);
//! let engine = Engine { socket: "/run/podman.sock".into(), image: "ars-bot:dev".into() };
//! let settings = Settings::edge(&npm, &built, "/tmp/edge", Bot::Container(engine))?
//!     .secret("SERVICE_INGRESS_TOKENS", "{}")
//!     .secret("STATE_WORKER_URL", "http://10.88.0.1:8788");
//! let edge = Workerd::start(&settings)?;
//! println!("{}", edge.url());
//! # Ok(())
//! # }
//! ```
//!
//! `secret` sets variables as well. Dropping it, or `kill9`, leaves the container running, as a
//! lost machine would: the next start on the same directory finds it, and replaces it when the
//! image has another name.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{Built, Engine, NpmTools, Settings};

/// The variable that names a bot on a developer's machine. No deployment may have it.
pub const DEV_BOT_URL: &str = "DEV_BOT_URL";
/// The variable that names a container's image, and by it the version, here.
const BOT_IMAGE: &str = "BOT_IMAGE";
/// The variable in which wrangler names its command to a build.
pub(crate) const WRANGLER_COMMAND: &str = "WRANGLER_COMMAND";
/// Its word for a deployment, a dry one too.
const DEPLOYING: &str = "deploy";
/// Stamp of the image that a deployment takes.
pub(crate) const IMAGE_STAMP: &str = "containers/bot/build/build.json";

/// Where the bot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bot {
    /// On this machine, at this address.
    Native(String),
    /// In a container, which the edge starts.
    Container(Engine),
}

impl Settings {
    /// Returns settings for the edge Worker in front of a bot, on the runtime that can start
    /// containers either way.
    pub fn edge(
        npm: &NpmTools,
        built: &Built,
        data_dir: impl Into<PathBuf>,
        bot: Bot,
    ) -> Result<Self> {
        let mut settings = Self::new(npm, built, data_dir)?;
        settings.workerd.clone_from(&npm.container_workerd);
        Ok(match bot {
            Bot::Native(url) => Self {
                outbound: true,
                ..settings.secret(DEV_BOT_URL, &url)
            },
            Bot::Container(engine) => {
                let settings = settings.secret(BOT_IMAGE, &engine.image);
                Self {
                    engine: Some(engine),
                    ..settings
                }
            }
        })
    }
}

/// Refuses a deployment with settings that name a developer's machine or an image from no build.
pub(crate) fn refuse_dev_bot(settings: &Path) -> Result<()> {
    let text = std::fs::read_to_string(settings)
        .with_context(|| format!("cannot read {}", settings.display()))?;
    let file: toml::Value = toml::from_str(&text)?;
    for name in [DEV_BOT_URL, BOT_IMAGE] {
        ensure!(
            !has_key(&file, name),
            "{}: {name} is for this machine only",
            settings.display()
        );
    }
    Ok(())
}

/// Rejects a deployment with another commit's image. Its context is written by hand
/// (docs/guide/cloudflare.md) and remains until the next time. `command` is wrangler's. Builds for
/// this machine name their image differently.
pub(crate) fn refuse_stale_image(
    command: Option<&str>,
    stamp: &Path,
    commit: Option<&str>,
) -> Result<()> {
    if command != Some(DEPLOYING) {
        return Ok(());
    }
    let text = std::fs::read_to_string(stamp).with_context(|| {
        format!(
            "cannot read {}: run `cargo xtask image --context` first",
            stamp.display()
        )
    })?;
    let found: Value =
        serde_json::from_str(&text).with_context(|| format!("{}", stamp.display()))?;
    let found = found["commit"].as_str();
    ensure!(
        found == commit,
        "{}: the image's context is of {}, the Worker of {}: run `cargo xtask image --context` again",
        stamp.display(),
        found.unwrap_or("no commit"),
        commit.unwrap_or("no commit"),
    );
    Ok(())
}

fn has_key(value: &toml::Value, name: &str) -> bool {
    match value {
        toml::Value::Table(table) => table
            .iter()
            .any(|(key, value)| key == name || has_key(value, name)),
        toml::Value::Array(items) => items.iter().any(|item| has_key(item, name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edge_worker_dir, wrangler::path_of};

    #[test]
    fn settings_with_a_native_bot_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wrangler.toml");
        let ours = std::fs::read_to_string(path_of(&edge_worker_dir())).unwrap();
        std::fs::write(&path, &ours).unwrap();
        refuse_dev_bot(&path).unwrap();
        for name in [DEV_BOT_URL, BOT_IMAGE] {
            let planted = ours.replace(
                "[env.production.vars]",
                &format!("[env.production.vars]\n{name} = 'x'"),
            );
            assert_ne!(planted, ours);
            std::fs::write(&path, planted).unwrap();
            let error = refuse_dev_bot(&path).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn an_image_of_another_commit_is_not_deployed() {
        let dir = tempfile::tempdir().unwrap();
        let stamp = dir.path().join("build.json");
        let deploy = |commit| refuse_stale_image(Some("deploy"), &stamp, commit);
        let missing = format!("{:#}", deploy(Some("new")).unwrap_err());
        assert!(missing.contains("cargo xtask image --context"), "{missing}");
        std::fs::write(
            &stamp,
            r#"{"commit":"old","builtAt":"2026-01-01T00:00:00Z"}"#,
        )
        .unwrap();
        for other in [Some("new"), Some("old-dirty"), None] {
            let refused = deploy(other).unwrap_err().to_string();
            assert!(
                refused.contains("is of old") && refused.contains("image --context"),
                "{refused}"
            );
            // A build for this machine uses another image.
            refuse_stale_image(None, &stamp, other).unwrap();
        }
        deploy(Some("old")).unwrap();
    }
}
