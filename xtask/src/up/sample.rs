//! The sample project: a small real project, with a history and a failing test.
//!
//! Its files are in `xtask/sample/tally`, its commits here; the last commit adds the test. It is
//! created at each start and replaces a project with another history of `main`, which is kept
//! aside. On the rehearsal host it is a bare repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::data_dir::DataDir;

/// The project's name in requests.
pub const NAME: &str = "sample/tally";

/// A commit with message and files.
struct Commit {
    message: &'static str,
    date: &'static str,
    files: &'static [(&'static str, &'static str)],
}

/// Includes the text of a sample file.
macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../sample/tally/", $path)))
    };
}

const COMMITS: [Commit; 5] = [
    Commit {
        message: "Read and write amounts of money",
        date: "2026-01-05T09:00:00Z",
        files: &[
            file!(".gitignore"),
            file!("tally/__init__.py"),
            file!("tally/money.py"),
            file!("tests/__init__.py"),
            file!("tests/test_money.py"),
        ],
    },
    Commit {
        message: "Divide an amount among people",
        date: "2026-01-06T10:30:00Z",
        files: &[file!("tally/split.py")],
    },
    Commit {
        message: "Settle what everybody paid",
        date: "2026-01-08T14:10:00Z",
        files: &[file!("tally/ledger.py"), file!("tests/test_ledger.py")],
    },
    Commit {
        message: "Settle from the command line",
        date: "2026-01-09T11:45:00Z",
        files: &[file!("tally/__main__.py"), file!("README.md")],
    },
    Commit {
        message: "Ask that no cent is lost when an amount is divided",
        date: "2026-01-12T16:20:00Z",
        files: &[file!("tests/test_split.py")],
    },
];

/// Where the project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In the data directory, with a working tree.
    DataDirectory,
    /// Among the rehearsal host's bare repositories.
    RehearsalHost,
}

/// Creates the project and returns the repository's path.
pub fn make(data: &DataDir, home: Home) -> Result<PathBuf> {
    let (folder, name) = match home {
        Home::DataDirectory => (data.join("sample"), "tally"),
        Home::RehearsalHost => (data.code_host().join("sample"), "tally.git"),
    };
    let place = folder.join(name);
    let (tree, bare) = (folder.join(".making"), folder.join(".making-bare"));
    for unfinished in [&tree, &bare].into_iter().filter(|path| path.exists()) {
        fs::remove_dir_all(unfinished)?;
    }
    create(&tree).context("the sample project cannot be made")?;
    let made = match home {
        Home::DataDirectory => tree,
        Home::RehearsalHost => {
            git(
                &folder,
                &["clone", "--quiet", "--bare", ".making", ".making-bare"],
                None,
            )?;
            fs::remove_dir_all(&tree)?;
            bare
        }
    };
    if place.exists() {
        let found = git(&place, &["rev-parse", "HEAD"], None).unwrap_or_default();
        if found == git(&made, &["rev-parse", "HEAD"], None)? {
            fs::remove_dir_all(&made)?;
            return Ok(place);
        }
        let free = |n: u32| folder.join(name.replacen("tally", &format!("tally-before-{n}"), 1));
        let aside = (1..).map(free).find(|path| !path.exists());
        fs::rename(&place, aside.context("no name is free")?)?;
    }
    fs::rename(&made, &place)?;
    Ok(place)
}

fn create(root: &Path) -> Result<()> {
    fs::create_dir_all(root)?;
    git(root, &["init", "--quiet", "--initial-branch=main"], None)?;
    for commit in &COMMITS {
        for (path, text) in commit.files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            fs::write(path, text)?;
        }
        git(root, &["add", "--all"], None)?;
        git(
            root,
            &["commit", "--quiet", "--message", commit.message],
            Some(commit.date),
        )?;
    }
    Ok(())
}

/// git as every machine has it: without the user's own settings, hooks or signatures.
/// Dates are given, so that the same files are the same commits everywhere.
pub fn git(root: &Path, arguments: &[&str], date: Option<&str>) -> Result<String> {
    let mut git = Command::new("git");
    git.args([
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "user.name=Sample Author",
        "-c",
        "user.email=sample@localhost",
    ])
    .args(arguments)
    .current_dir(root)
    .env("GIT_CONFIG_GLOBAL", "/dev/null")
    .env("GIT_CONFIG_NOSYSTEM", "1")
    .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root))
    .stdin(Stdio::null());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    if let Some(date) = date {
        git.env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date);
    }
    let output = git.output().context("git cannot be started")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments[0],
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (tempfile::TempDir, DataDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::claim(Some(dir.path())).unwrap();
        let place = make(&data, Home::DataDirectory).unwrap();
        (dir, data, place)
    }

    fn unittest(place: &Path) -> (bool, String) {
        let mut python = Command::new("python3");
        let output = python
            .args(["-B", "-m", "unittest"])
            .current_dir(place)
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }

    #[test]
    fn sample_has_a_history_and_a_failing_test() {
        let (_dir, _data, place) = made();
        assert_eq!(
            git(&place, &["rev-list", "--count", "HEAD"], None).unwrap(),
            COMMITS.len().to_string()
        );
        assert_eq!(git(&place, &["status", "--porcelain"], None).unwrap(), "");
        let (passed, said) = unittest(&place);
        assert!(
            !passed
                && said.contains("test_no_cent_is_lost")
                && said.contains("FAILED (failures=1)"),
            "{said}"
        );
    }

    #[test]
    fn the_rehearsals_edit_makes_its_tests_pass() {
        let (_dir, _data, place) = made();
        let script: toml::Table = include_str!("../../sample/rehearsal.toml").parse().unwrap();
        let turns = script["turn"].as_array().unwrap().iter();
        let mut calls = turns.flat_map(|turn| {
            turn.get("call")
                .and_then(|calls| calls.as_array())
                .into_iter()
                .flatten()
        });
        let edit = &calls
            .find(|call| call["tool"].as_str() == Some("edit_file"))
            .unwrap()["input"];
        let (file, old, new) = (
            place.join(edit["path"].as_str().unwrap()),
            edit["old"].as_str().unwrap(),
            edit["new"].as_str().unwrap(),
        );
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches(old).count(), 1);
        fs::write(&file, text.replace(old, new)).unwrap();
        let (passed, said) = unittest(&place);
        assert!(passed, "{said}");
    }

    #[test]
    fn changed_sample_is_kept_aside() {
        let (_dir, data, place) = made();
        let head = git(&place, &["rev-parse", "HEAD"], None).unwrap();
        fs::write(place.join("untracked"), "mine").unwrap();
        make(&data, Home::DataDirectory).unwrap();
        assert!(
            place.join("untracked").exists(),
            "an equal sample is left as it is"
        );
        git(&place, &["add", "--all"], None).unwrap();
        git(&place, &["commit", "--quiet", "--message", "mine"], None).unwrap();
        make(&data, Home::DataDirectory).unwrap();
        assert_eq!(git(&place, &["rev-parse", "HEAD"], None).unwrap(), head);
        assert!(data.join("sample/tally-before-1/untracked").exists());
    }

    #[test]
    fn bare_sample_keeps_its_other_branches() {
        let (_dir, data, tree) = made();
        let place = make(&data, Home::RehearsalHost).unwrap();
        assert_eq!(place, data.code_host().join("sample/tally.git"));
        let head = |place: &Path| git(place, &["rev-parse", "main"], None).unwrap();
        assert_eq!(head(&place), head(&tree));
        git(&place, &["branch", "ars/r1/fix", "main~1"], None).unwrap();
        make(&data, Home::RehearsalHost).unwrap();
        assert!(git(&place, &["rev-parse", "ars/r1/fix"], None).is_ok());
        git(&place, &["update-ref", "refs/heads/main", "main~1"], None).unwrap();
        make(&data, Home::RehearsalHost).unwrap();
        assert_eq!(head(&place), head(&tree));
        assert!(data.code_host().join("sample/tally-before-1.git").exists());
    }
}
