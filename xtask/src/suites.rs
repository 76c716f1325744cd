//! The suites that the whole resident image must run: a small repository for each toolchain.
//!
//! The commands are those that onboarding detects (`shared/resident/src/detect.rs`). Nothing is
//! downloaded in the container: the packages that Python's commands install are put beside the
//! repositories.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ars_engine::{Engine, Image, Run};
use ars_workerd::{Progress, run_tool};
use serde_json::Value;

/// Home of the user that runs the suites, the first user for threads.
const HOME: &str = "home/worker2";
/// That user's numeric id.
const USER: u64 = 2002;
/// The packages that Python's commands install.
const WHEELS: [&str; 2] = ["pytest==8.4.2", "setuptools==80.9.0"];
/// The image's Python version.
const PYTHON: &str = "3.11";
/// Longest time for all suites together.
const SUITES_LIMIT: Duration = Duration::from_secs(600);
/// How often the container is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A repository: its name, detected commands, and file names and contents.
type Repository = (
    &'static str,
    [&'static str; 3],
    &'static [(&'static str, &'static str)],
);

/// The repositories. Each has a single test.
const REPOSITORIES: [Repository; 4] = [
    (
        "node",
        ["npm install", "npm run build", "npm test"],
        &[
            (
                "package.json",
                "{\"name\":\"one\",\"scripts\":{\"test\":\"node --test\",\"build\":\"node one.test.js\"}}",
            ),
            (
                "one.test.js",
                "require('node:test')('one', () => require('node:assert').equal(1, 1));\n",
            ),
        ],
    ),
    (
        "python",
        [
            "python3 -m venv .venv && .venv/bin/python -m pip install --editable . pytest",
            "true",
            ".venv/bin/python -m pytest",
        ],
        &[
            (
                "pyproject.toml",
                "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\
                 [project]\nname = \"one\"\nversion = \"1\"\n[tool.setuptools]\npy-modules = [\"one\"]\n",
            ),
            ("one.py", "ONE = 1\n"),
            (
                "test_one.py",
                "import one\n\ndef test_one():\n    assert one.ONE == 1\n",
            ),
        ],
    ),
    (
        "rust",
        ["cargo fetch", "cargo build", "cargo test"],
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"one\"\nversion = \"1.0.0\"\nedition = \"2024\"\n",
            ),
            (
                "src/lib.rs",
                "#[test]\nfn one() {\n    assert_eq!(1, 1);\n}\n",
            ),
        ],
    ),
    (
        "go",
        ["go mod download", "go build ./...", "go test ./..."],
        &[
            ("go.mod", "module example.test/one\n\ngo 1.19\n"),
            ("one.go", "package one\n\nconst One = 1\n"),
            (
                "one_test.go",
                "package one\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One != 1 {\n\t\tt.Fatal(One)\n\t}\n}\n",
            ),
        ],
    ),
];

/// Runs each repository's detected commands in the image, and returns the repositories' names.
///
/// # Errors
/// A command fails; the error has the output.
pub fn run(engine: &Engine, image: &Image, progress: Progress<'_>) -> Result<String> {
    let files = archive(progress)?;
    let user = USER.to_string();
    let script = script();
    let home = format!("HOME=/{HOME}");
    let wheels = format!("PIP_FIND_LINKS=/{HOME}/wheels");
    let entrypoint = [
        "/usr/bin/setpriv",
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
        "/usr/bin/env",
        &home,
        &wheels,
        "PIP_NO_INDEX=1",
        "PIP_DISABLE_PIP_VERSION_CHECK=1",
        "/bin/bash",
        "-ec",
        &script,
    ];
    progress("suites: running");
    let run = Run {
        entrypoint: Some(&entrypoint),
        files: Some(&files),
        ..Run::default()
    };
    let (id, _) = engine.run(image, &run)?;
    let ended = ended(engine, &id).and_then(|code| Ok((code, engine.logs(&id)?)));
    engine.remove(&id)?;
    let (code, log) = ended?;
    ensure!(code == 0, "a suite failed ({code}):\n{log}");
    Ok(REPOSITORIES.map(|(name, ..)| name).join(", "))
}

/// Waits until a container ends, and returns its exit code.
fn ended(engine: &Engine, id: &str) -> Result<i64> {
    let began = Instant::now();
    loop {
        let state = &engine.inspect(id)?["State"];
        if state["Running"] == Value::Bool(false) && state["Status"] == "exited" {
            return state["ExitCode"]
                .as_i64()
                .context("a container without an exit code");
        }
        ensure!(
            began.elapsed() < SUITES_LIMIT,
            "the suites take longer than {SUITES_LIMIT:?}"
        );
        thread::sleep(LOOK);
    }
}

/// Returns all repositories' commands as a script that ends at the first failure.
fn script() -> String {
    let mut script = String::from("set -x\n");
    for (name, commands, _) in REPOSITORIES {
        script.push_str(&format!("cd /{HOME}/{name}\n{}\n", commands.join("\n")));
    }
    script
}

/// Returns the repositories, and the packages for Python's commands, as the user's files.
fn archive(progress: Progress<'_>) -> Result<Vec<u8>> {
    let wheels = tempfile::tempdir()?;
    let mut download = Command::new("python3");
    download.args([
        "-m",
        "pip",
        "download",
        "--only-binary",
        ":all:",
        "--python-version",
        PYTHON,
        "--dest",
    ]);
    download.arg(wheels.path()).args(WHEELS);
    run_tool(download, "pip", progress)?;
    let mut archive = tar::Builder::new(Vec::new());
    // A path that ends in a slash is a folder.
    let mut add = |path: String, content: &[u8]| -> Result<()> {
        let mut head = tar::Header::new_gnu();
        let is_folder = path.ends_with('/');
        head.set_entry_type(if is_folder {
            tar::EntryType::Directory
        } else {
            tar::EntryType::Regular
        });
        head.set_size(content.len() as u64);
        head.set_mode(if is_folder { 0o755 } else { 0o644 });
        head.set_uid(USER);
        head.set_gid(USER);
        Ok(archive.append_data(&mut head, path, content)?)
    };
    add(format!("{HOME}/wheels/"), b"")?;
    for wheel in fs::read_dir(wheels.path())? {
        let wheel = wheel?;
        add(
            format!("{HOME}/wheels/{}", wheel.file_name().to_string_lossy()),
            &fs::read(wheel.path())?,
        )?;
    }
    for (name, _, files) in REPOSITORIES {
        add(format!("{HOME}/{name}/"), b"")?;
        for (path, text) in files {
            if let Some((folder, _)) = path.split_once('/') {
                add(format!("{HOME}/{name}/{folder}/"), b"")?;
            }
            add(format!("{HOME}/{name}/{path}"), text.as_bytes())?;
        }
    }
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_repository_has_commands() {
        let script = script();
        for command in [
            "npm test",
            "npm run build",
            "-m pytest",
            "cargo test",
            "go test ./...",
            "pip install",
        ] {
            assert!(
                script.contains(command),
                "{command} is missing in:\n{script}"
            );
        }
    }
}
