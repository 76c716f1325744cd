//! Detects a repository's command table from root files' names and contents.
//!
//! Contents select among fixed commands and never become part of a command. Not here: reading the
//! files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::{CommandName, TableCommand};

/// A command without effect, where a repository has none.
pub const NO_OP: &str = "true";
/// The test command for a repository in which none was found. It fails, so that no run looks like a
/// passed test.
pub const NO_TEST: &str =
    "echo 'no test command is known: name one with repo reconfigure --test' >&2; exit 1";
/// Text in the test script that `npm init` writes.
const NPM_PLACEHOLDER: &str = "no test specified";
/// First yarn version with the option `--immutable`.
const YARN_MODERN_MAJOR: u32 = 2;

/// A repository's toolchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Toolchain {
    /// The toolchain around npm.
    Npm,
    /// The toolchain around pnpm.
    Pnpm,
    /// The toolchain around yarn.
    Yarn,
    /// The toolchain around bun.
    Bun,
    /// The toolchain around cargo.
    Cargo,
    /// The toolchain around uv.
    Uv,
    /// The toolchain around poetry.
    Poetry,
    /// The toolchain around pip.
    Pip,
    /// The toolchain around go.
    Go,
    /// The toolchain around make.
    Make,
}

/// A detected command table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detection {
    /// The toolchain, if any was found.
    pub toolchain: Option<Toolchain>,
    /// Command that installs dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Command that builds the repository.
    pub build: String,
    /// Command that tests the repository.
    pub test: String,
    /// Remarks for the administrator.
    pub notes: Vec<String>,
}

impl Detection {
    fn new(toolchain: Toolchain, install: Option<&str>, build: &str, test: &str) -> Self {
        Self {
            toolchain: Some(toolchain),
            install: install.map(str::to_owned),
            build: build.to_owned(),
            test: test.to_owned(),
            notes: Vec::new(),
        }
    }

    /// Returns the table for a record.
    pub fn table(&self) -> BTreeMap<CommandName, TableCommand> {
        let rows = [
            ("install", self.install.as_deref()),
            ("build", Some(&self.build)),
            ("test", Some(&self.test)),
        ];
        // Every name and command is a fixed value from below.
        rows.into_iter()
            .filter_map(|(name, command)| {
                Some((
                    CommandName::parse(name).ok()?,
                    TableCommand::parse(command?).ok()?,
                ))
            })
            .collect()
    }
}

/// Detects the table from a single manifest's content.
type Detect = fn(&Root<'_>, &str) -> Detection;

/// The manifests that select a toolchain, in order of precedence.
const MANIFESTS: [(&str, Detect); 6] = [
    ("package.json", node),
    ("Cargo.toml", cargo),
    ("pyproject.toml", python),
    ("go.mod", go),
    ("Makefile", make),
    ("makefile", make),
];

/// The root files: every name, with the manifests' content.
struct Root<'a>(&'a BTreeMap<String, String>);

impl Root<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Returns the manifest that selects the toolchain, given the names of a repository's root files.
pub fn manifest<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<&'static str> {
    let rank = |name: &str| MANIFESTS.iter().position(|(manifest, _)| *manifest == name);
    let first = names.into_iter().filter_map(rank).min()?;
    MANIFESTS.get(first).map(|(name, _)| *name)
}

/// Returns the table for unreadable files: the npm defaults.
pub fn assumed() -> Detection {
    Detection {
        toolchain: None,
        ..Detection::new(
            Toolchain::Npm,
            Some("npm install"),
            "npm run build --if-present",
            "npm test",
        )
    }
}

/// Detects the command table from the root files. Reads only the manifests' contents.
pub fn detect(files: &BTreeMap<String, String>) -> Detection {
    let root = Root(files);
    let mut found = MANIFESTS
        .iter()
        .filter_map(|(name, detect)| Some((*name, *detect, files.get(*name)?)));
    let Some((name, detect, content)) = found.next() else {
        return Detection {
            toolchain: None,
            install: None,
            build: NO_OP.to_owned(),
            test: NO_TEST.to_owned(),
            notes: vec!["no known manifest; pass --test and --build".to_owned()],
        };
    };
    let mut detection = detect(&root, content);
    for (other, ..) in found {
        detection
            .notes
            .push(format!("{other} is ignored because of {name}"));
    }
    if detection.build == NO_OP {
        detection
            .notes
            .push("no build command was found; `true` stands for it".to_owned());
    }
    if detection.test == NO_TEST {
        detection
            .notes
            .push("no test command was found; repo test fails until one is named".to_owned());
    }
    detection
}

fn node(root: &Root<'_>, content: &str) -> Detection {
    let manifest: serde_json::Value = serde_json::from_str(content).unwrap_or_default();
    let declared = manifest
        .get("packageManager")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let (name, version) = declared.split_once('@').unwrap_or((declared, ""));
    let toolchain = match name {
        "npm" => Toolchain::Npm,
        "pnpm" => Toolchain::Pnpm,
        "yarn" => Toolchain::Yarn,
        "bun" => Toolchain::Bun,
        _ if root.has("pnpm-lock.yaml") => Toolchain::Pnpm,
        _ if root.has("yarn.lock") => Toolchain::Yarn,
        _ if root.has("bun.lock") || root.has("bun.lockb") => Toolchain::Bun,
        _ => Toolchain::Npm,
    };
    let is_locked = root.has("package-lock.json") || root.has("npm-shrinkwrap.json");
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    let is_modern =
        major.is_some_and(|major| major >= YARN_MODERN_MAJOR) || root.has(".yarnrc.yml");
    let (install, test, build) = match toolchain {
        Toolchain::Pnpm => (
            "pnpm install --frozen-lockfile",
            "pnpm test",
            "pnpm run build",
        ),
        Toolchain::Yarn if is_modern => ("yarn install --immutable", "yarn test", "yarn run build"),
        Toolchain::Yarn => (
            "yarn install --frozen-lockfile",
            "yarn test",
            "yarn run build",
        ),
        Toolchain::Bun => (
            "bun install --frozen-lockfile",
            "bun run test",
            "bun run build",
        ),
        _ if is_locked => ("npm ci", "npm test", "npm run build"),
        _ => ("npm install", "npm test", "npm run build"),
    };
    let script = |name: &str| {
        manifest
            .get("scripts")
            .and_then(|scripts| scripts.get(name)?.as_str())
    };
    let has_test = script("test").is_some_and(|text| !text.contains(NPM_PLACEHOLDER));
    let test = if has_test { test } else { NO_TEST };
    let build = if script("build").is_some() {
        build
    } else {
        NO_OP
    };
    let mut detection = Detection::new(toolchain, Some(install), build, test);
    if !manifest.is_object() {
        detection
            .notes
            .push("package.json is no JSON object; the defaults of npm are used".to_owned());
    }
    detection
}

fn cargo(root: &Root<'_>, content: &str) -> Detection {
    let manifest: toml::Table = content.parse().unwrap_or_default();
    let fetch = if root.has("Cargo.lock") {
        "cargo fetch --locked"
    } else {
        "cargo fetch"
    };
    match manifest.contains_key("workspace") {
        true => Detection::new(
            Toolchain::Cargo,
            Some(fetch),
            "cargo build --workspace",
            "cargo test --workspace",
        ),
        false => Detection::new(Toolchain::Cargo, Some(fetch), "cargo build", "cargo test"),
    }
}

fn python(root: &Root<'_>, content: &str) -> Detection {
    let manifest: toml::Table = content.parse().unwrap_or_default();
    let has_tool = |name: &str| {
        manifest
            .get("tool")
            .and_then(|tool| tool.get(name))
            .is_some()
    };
    if root.has("uv.lock") || has_tool("uv") {
        let sync = if root.has("uv.lock") {
            "uv sync --frozen"
        } else {
            "uv sync"
        };
        return Detection::new(Toolchain::Uv, Some(sync), NO_OP, "uv run pytest");
    }
    if root.has("poetry.lock") || has_tool("poetry") {
        let install = "poetry install --no-interaction";
        return Detection::new(Toolchain::Poetry, Some(install), NO_OP, "poetry run pytest");
    }
    let install = "python3 -m venv .venv && .venv/bin/python -m pip install --editable . pytest";
    Detection::new(
        Toolchain::Pip,
        Some(install),
        NO_OP,
        ".venv/bin/python -m pytest",
    )
}

fn go(_: &Root<'_>, _: &str) -> Detection {
    Detection::new(
        Toolchain::Go,
        Some("go mod download"),
        "go build ./...",
        "go test ./...",
    )
}

fn make(_: &Root<'_>, content: &str) -> Detection {
    let has_target = |name: &str| {
        content.lines().any(|line| {
            let rule = line
                .split_once(':')
                .filter(|(_, rest)| !rest.starts_with('='));
            rule.is_some_and(|(targets, _)| targets.split_whitespace().any(|target| target == name))
        })
    };
    let build = match () {
        () if has_target("build") => "make build",
        () if has_target("all") => "make all",
        () => NO_OP,
    };
    let test = match () {
        () if has_target("test") => "make test",
        () if has_target("check") => "make check",
        () => NO_TEST,
    };
    Detection::new(Toolchain::Make, None, build, test)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn detect_files(files: &[(&str, &str)]) -> Detection {
        detect(
            &files
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
        )
    }

    fn row(files: &[(&str, &str)]) -> (Option<String>, String, String) {
        let found = detect_files(files);
        (found.install, found.build, found.test)
    }

    fn expect(install: &str, build: &str, test: &str) -> (Option<String>, String, String) {
        (Some(install.to_owned()), build.to_owned(), test.to_owned())
    }

    #[test]
    fn node_prefers_the_declared_package_manager() {
        let scripts = r#"{"scripts":{"test":"vitest","build":"tsc"}}"#;
        let declared = r#"{"packageManager":"pnpm@10.1.0","scripts":{"test":"vitest"}}"#;
        let yarn = r#"{"packageManager":"yarn@4.0.0","scripts":{"test":"jest"}}"#;
        assert_eq!(
            row(&[("package.json", scripts), ("package-lock.json", "")]),
            expect("npm ci", "npm run build", "npm test")
        );
        assert_eq!(
            row(&[("package.json", declared), ("yarn.lock", "")]),
            expect("pnpm install --frozen-lockfile", "true", "pnpm test")
        );
        assert_eq!(
            row(&[("package.json", yarn)]).0.as_deref(),
            Some("yarn install --immutable")
        );
        assert_eq!(
            detect_files(&[("package.json", scripts), ("bun.lockb", "")]).toolchain,
            Some(Toolchain::Bun)
        );
        let placeholder = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(
            row(&[("package.json", placeholder)]),
            expect("npm install", "true", NO_TEST)
        );
        assert_eq!(row(&[("Makefile", "all: x")]).2, NO_TEST);
    }

    #[test]
    fn one_manifest_selects_the_toolchain() {
        assert_eq!(
            manifest(["README.md", "Makefile", "Cargo.toml"]),
            Some("Cargo.toml")
        );
        assert_eq!(manifest(["readme"]), None);
        assert_eq!((assumed().toolchain, assumed().table().len()), (None, 3));
    }

    #[test]
    fn other_toolchains_have_their_commands() {
        assert_eq!(
            row(&[
                ("Cargo.toml", "[workspace]\nmembers = []"),
                ("Cargo.lock", "")
            ]),
            expect(
                "cargo fetch --locked",
                "cargo build --workspace",
                "cargo test --workspace"
            )
        );
        assert_eq!(
            row(&[("pyproject.toml", "[tool.uv]\n")]),
            expect("uv sync", "true", "uv run pytest")
        );
        assert_eq!(
            detect_files(&[("pyproject.toml", ""), ("poetry.lock", "")]).toolchain,
            Some(Toolchain::Poetry)
        );
        assert_eq!(
            detect_files(&[("pyproject.toml", "[project]")]).toolchain,
            Some(Toolchain::Pip)
        );
        assert_eq!(
            row(&[("go.mod", "module x")]),
            expect("go mod download", "go build ./...", "go test ./...")
        );
        let makefile = "CC := cc\nbuild test-all: a.o\n\tcc a.o\n.PHONY: test\ntest: build\n";
        assert_eq!(
            row(&[("Makefile", makefile)]),
            (None, "make build".to_owned(), "make test".to_owned())
        );
    }

    #[test]
    fn unknown_repository_has_commands_and_a_note() {
        let found = detect_files(&[("README.md", "")]);
        assert_eq!(
            (found.toolchain, found.build.as_str(), found.table().len()),
            (None, "true", 2)
        );
        assert!(found.test == NO_TEST && found.notes[0].contains("--test"));
        let both = detect_files(&[("package.json", "{}"), ("Makefile", "")]);
        assert!(
            both.notes
                .iter()
                .any(|note| note.contains("Makefile is ignored")),
            "{:?}",
            both.notes
        );
    }

    proptest! {
        /// File contents never become part of a command, and no content is a failure.
        #[test]
        fn contents_do_not_reach_commands(name in 0..6_usize, text in "(\\PC|\n){0,80}") {
            let found = detect_files(&[(MANIFESTS[name].0, &text)]);
            let fixed = detect_files(&[(MANIFESTS[name].0, "")]);
            prop_assert!(found.table().len() >= 2);
            for command in [Some(&found.build), Some(&found.test), found.install.as_ref()].into_iter().flatten() {
                prop_assert!(command.len() < 100 && command.is_ascii());
            }
            prop_assert!(fixed.table().len() >= 2);
        }
    }
}
