//! A change's risk flags, from paths and counts alone.
//!
//! A flag marks a file for a second look. It does not mean that something is wrong.

use std::collections::BTreeSet;

use super::changes::Change;

/// Changed lines that make a file's change large.
const LARGE_LINES: u64 = 500;

/// Files written by package managers.
const LOCK_FILES: &[&str] = &[
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "poetry.lock",
    "pipfile.lock",
    "uv.lock",
    "pdm.lock",
    "gemfile.lock",
    "composer.lock",
    "go.sum",
    "mix.lock",
    "pubspec.lock",
    "podfile.lock",
    "packages.lock.json",
    "gradle.lockfile",
    "flake.lock",
];
/// Files a CI service reads.
const CI_FILES: &[&str] = &[
    "jenkinsfile",
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "appveyor.yml",
];
/// Folders a CI service reads.
const CI_FOLDERS: &[&str] = &[
    ".github/workflows/",
    ".github/actions/",
    ".circleci/",
    ".buildkite/",
];
/// Path words that concern authorization.
const AUTH_WORDS: &[&str] = &[
    "auth",
    "authn",
    "authz",
    "authentication",
    "authorization",
    "oauth",
    "oidc",
    "saml",
    "sso",
    "login",
    "password",
    "passwords",
    "permission",
    "permissions",
    "acl",
    "rbac",
    "policy",
    "credential",
    "credentials",
    "secret",
    "secrets",
    "session",
    "sessions",
    "token",
    "tokens",
    "jwt",
    "crypto",
];
/// Path words that concern tests.
const TEST_WORDS: &[&str] = &["test", "tests", "spec", "specs", "__tests__", "testdata"];
/// Folder words that stand for schema changes.
const MIGRATION_WORDS: &[&str] = &["migration", "migrations", "migrate"];

/// A flag and the condition.
type Flag = (&'static str, fn(&Change) -> bool);

const FLAGS: &[Flag] = &[
    ("migrations", |change| {
        words(&change.path).any(|word| MIGRATION_WORDS.contains(&word.as_str()))
    }),
    ("lock files", |change| {
        LOCK_FILES.contains(&file_name(&change.path).as_str())
    }),
    ("CI", is_ci),
    ("authentication", |change| {
        words(&change.path).any(|word| AUTH_WORDS.contains(&word.as_str()))
    }),
    ("deleted tests", |change| {
        change.kind == 'D' && words(&change.path).any(|word| TEST_WORDS.contains(&word.as_str()))
    }),
    ("binary", |change| change.counts.is_none()),
    ("large", |change| change.lines() >= LARGE_LINES),
];

/// Returns each raised flag with the files.
pub(super) fn raised(changes: &[Change]) -> Vec<(&'static str, Vec<&Change>)> {
    let concerned = |is: fn(&Change) -> bool| {
        changes
            .iter()
            .filter(|change| is(change))
            .collect::<Vec<_>>()
    };
    let raised = FLAGS.iter().map(|(name, is)| (*name, concerned(*is)));
    raised
        .filter(|(_, concerned)| !concerned.is_empty())
        .collect()
}

fn is_ci(change: &Change) -> bool {
    let path = change.path.to_lowercase();
    CI_FILES.contains(&file_name(&path).as_str())
        || CI_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_lowercase()
}

/// Returns a path's words in lower case. `src/userAuth/login_test.go` has `user`, `auth`, `login`,
/// `test` and more.
fn words(path: &str) -> impl Iterator<Item = String> {
    let mut words = BTreeSet::new();
    for part in path.split(|char: char| !(char.is_alphanumeric() || char == '_')) {
        words.insert(part.to_lowercase());
        for piece in part.split('_') {
            let mut start = 0;
            let mut was_lower = false;
            for (at, char) in piece.char_indices() {
                if char.is_uppercase() && was_lower {
                    words.insert(piece[start..at].to_lowercase());
                    start = at;
                }
                was_lower = char.is_lowercase() || char.is_numeric();
            }
            words.insert(piece[start..].to_lowercase());
        }
    }
    words.into_iter()
}
