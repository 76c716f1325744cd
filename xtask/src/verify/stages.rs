//! The stages, in order.

use std::process::{Command, Stdio};

use anyhow::Result;
use ars_workerd as edge;

use super::platforms::Platforms;
use super::stage::{last_stage, stage};
use super::{debian, deployments, passed};
use crate::bench;
use crate::cargo::{self, command, members};
use crate::terminal::Step;

/// Turns warnings into errors, for `rustdoc` as for clippy.
const DENY: [&str; 3] = ["--", "--deny", "warnings"];
/// The crate that holds the tree's rules.
const ARCHITECTURE: &str = "ars-tests-architecture";

/// The Worker for the platform's tests.
const PLATFORM_WORKER: &str = "tests/workerd/fixture";

/// Runs the quick part.
pub fn check() -> Result<()> {
    let platforms = Platforms::new(&members()?);
    edge::ensure_rust_target(&|line| eprintln!("{line}"))?;
    lints(&platforms)?;
    dependencies()?;
    stage(
        "rules of the tree",
        command("test").args(["--quiet", "--package", ARCHITECTURE]),
    )
}

/// Runs all the stages.
pub fn test() -> Result<()> {
    // A tree without git passes, too.
    let commit = passed::clean_commit(&edge::repo_root()).unwrap_or_default();
    let platforms = Platforms::new(&members()?);
    set_up()?;
    lints(&platforms)?;
    dependencies()?;
    fuzz_targets()?;
    docs(&platforms)?;
    let doc_tests = ["--doc", "--quiet"];
    stage(
        "examples in the documentation",
        command("test")
            .args(doc_tests)
            .args(platforms.native_args()),
    )?;
    subjects()?;
    deployments::check()?;
    bench::smoke()?;
    last_stage("tests", runner().args(platforms.native_args()))?;
    match commit {
        Some(commit) => passed::note(&commit, &edge::repo_root(), &edge::cache_dir()?),
        None => Ok(()),
    }
}

fn set_up() -> Result<()> {
    let step = Step::begin("tools");
    edge::ensure_rust_target(&|line| step.update(line))?;
    edge::ensure_npm(&|line| step.update(line))?;
    edge::ensure_cargo_tools(&|line| step.update(line))?;
    step.done("");
    debian::ensure()
}

/// Builds the programs that tests start.
/// Tests would build them without output and against their own timeouts.
fn subjects() -> Result<()> {
    let step = Step::begin("bot");
    cargo::build(crate::up::BOT, &step)?;
    step.done("");
    let step = Step::begin("state Worker");
    let built = edge::build_state_worker(&|line| step.update(line))?;
    step.done(&format!("{} kB compressed", built.gzip_bytes / 1000));
    let step = Step::begin("resident Worker");
    let built = edge::build_resident_worker(&|line| step.update(line))?;
    step.done(&format!("{} kB compressed", built.gzip_bytes / 1000));
    let step = Step::begin("Worker of the platform's tests");
    edge::build_worker(&edge::repo_root().join(PLATFORM_WORKER), &|line| {
        step.update(line);
    })?;
    step.done("");
    Ok(())
}

fn lints(platforms: &Platforms) -> Result<()> {
    stage("format", command("fmt").args(["--all", "--check"]))?;
    stage(
        "lints",
        command("clippy")
            .args(platforms.native_args())
            .arg("--all-targets")
            .args(DENY),
    )?;
    stage(
        "lints, wasm32",
        command("clippy")
            .args(platforms.wasm_args())
            .arg("--lib")
            .args(DENY),
    )
}

/// Checks bans, licences and dependency sources by `deny.toml`, which explains why advisories are
/// left out.
fn dependencies() -> Result<()> {
    let step = Step::begin("cargo-deny");
    let deny = edge::ensure_cargo_deny(&|line| step.update(line))?;
    step.done("");
    let mut deny = Command::new(deny);
    deny.args(["check", "bans", "licenses", "sources"])
        .current_dir(edge::repo_root());
    stage("dependencies and licences", &mut deny)
}

/// Checks that the fuzz targets compile (docs/decisions/0025). They are a separate workspace.
fn fuzz_targets() -> Result<()> {
    let mut check = command("check");
    check.args([
        "--quiet",
        "--locked",
        "--bins",
        "--manifest-path",
        "fuzz/Cargo.toml",
    ]);
    let target_dir = edge::target_dir(&edge::repo_root())?.join("fuzz");
    // A path to a compiled libFuzzer, which a check does not link. Without it the build script compiles it.
    check.env("CUSTOM_LIBFUZZER_PATH", target_dir.join("libfuzzer.a"));
    check.env("CARGO_TARGET_DIR", target_dir);
    stage("fuzz targets", &mut check)
}

fn docs(platforms: &Platforms) -> Result<()> {
    let flags = ("RUSTDOCFLAGS", "--deny warnings");
    let doc = || {
        let mut doc = command("doc");
        doc.args(["--no-deps", "--document-private-items"])
            .env(flags.0, flags.1);
        doc
    };
    stage("documentation", doc().args(platforms.native_args()))?;
    stage(
        "documentation, wasm32",
        doc().args(platforms.wasm_only_args()),
    )
}

/// Returns the test runner.
/// nextest runs each test in a separate process and reports slow ones; cargo does not.
fn runner() -> Command {
    let mut probe = Command::new("cargo");
    let present = probe
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if present.is_ok_and(|status| status.success()) {
        let mut nextest = command("nextest");
        nextest.args(["run", "--no-fail-fast"]);
        return nextest;
    }
    let mut test = command("test");
    test.args(["--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]);
    test
}
