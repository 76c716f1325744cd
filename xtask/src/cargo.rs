//! Calls cargo from within a program that cargo started.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use ars_workerd::repo_root;
use serde_json::Value;

use crate::terminal::Step;

/// Lines from a failed build that the error repeats.
const TAIL_LINES: usize = 60;

/// Returns a cargo call at the root.
pub fn command(subcommand: &str) -> Command {
    let mut cargo = ars_workerd::cargo(subcommand);
    cargo.current_dir(repo_root()).stdin(Stdio::null());
    cargo
}

/// A build target and its name.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Package that has the target.
    pub package: &'a str,
    /// Either `--bin` or `--example`.
    pub kind: &'a str,
    /// The binary's or example's name.
    pub name: &'a str,
    /// Cargo profile to build with.
    pub profile: &'a str,
}

/// Builds an executable and returns the path.
pub fn build(target: Target<'_>, step: &Step) -> Result<PathBuf> {
    let mut child = command("build")
        .args([
            "--package",
            target.package,
            target.kind,
            target.name,
            "--profile",
            target.profile,
        ])
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let artifacts = thread::spawn(move || executables(stdout));
    let tail = follow(stderr, step);
    let status = child.wait()?;
    let executables = artifacts.join().unwrap_or_default();
    if !status.success() {
        bail!(
            "{} does not build ({status})\n{}",
            target.package,
            Vec::from(tail).join("\n")
        );
    }
    let found = executables
        .into_iter()
        .find(|(name, _)| name == target.name);
    found
        .map(|(_, path)| path)
        .with_context(|| format!("cargo named no executable `{}`", target.name))
}

fn executables(stdout: Option<impl Read>) -> Vec<(String, PathBuf)> {
    let lines = stdout
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
        .map_while(Result::ok);
    let messages = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let executable = |message: Value| {
        Some((
            message["target"]["name"].as_str()?.to_owned(),
            message["executable"].as_str()?.into(),
        ))
    };
    messages.filter_map(executable).collect()
}

fn follow(stderr: Option<impl Read>, step: &Step) -> VecDeque<String> {
    let mut tail = VecDeque::with_capacity(TAIL_LINES);
    for line in stderr
        .into_iter()
        .flat_map(|err| BufReader::new(err).lines())
        .map_while(Result::ok)
    {
        step.update(&line);
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    }
    tail
}

/// A workspace crate, as far as choosing among them goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Name of the package.
    pub name: String,
    /// Folder relative to the root.
    pub folder: String,
}

/// Returns the workspace crates.
pub fn members() -> Result<Vec<Member>> {
    let output = command("metadata")
        .args(["--no-deps", "--format-version", "1"])
        .output()?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let root = Path::new(metadata["workspace_root"].as_str().unwrap_or_default());
    let member = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let folder = manifest
            .parent()?
            .strip_prefix(root)
            .ok()?
            .to_string_lossy()
            .into_owned();
        Some(Member {
            folder,
            name: package["name"].as_str()?.to_owned(),
        })
    };
    Ok(metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(member)
        .collect())
}
