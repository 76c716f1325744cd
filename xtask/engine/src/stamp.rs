//! What an image says of itself: the commit and when it was built (bot supplement section 23, `build`).

use std::process::Command;

use ars_workerd::repo_root;
use serde_json::{Value, json};

/// `{commit, builtAt}`. A checkout that differs from its commit says `-dirty`; one without git has no commit, and then
/// neither has the stamp.
pub fn stamp() -> Value {
    let mut stamp = json!({});
    if let Some(commit) = commit() {
        stamp["commit"] = json!(commit);
    }
    if let Some(now) = said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]) {
        stamp["builtAt"] = json!(now);
    }
    stamp
}

fn commit() -> Option<String> {
    let commit = said("git", &["rev-parse", "HEAD"]).filter(|commit| !commit.is_empty())?;
    let changed = said("git", &["status", "--porcelain"]).is_some_and(|changes| !changes.is_empty());
    Some(if changed { format!("{commit}-dirty") } else { commit })
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(repo_root()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::stamp;

    #[test]
    fn a_stamp_names_the_commit_and_the_time() {
        let stamp = stamp();
        let commit = stamp["commit"].as_str().unwrap().trim_end_matches("-dirty").to_owned();
        assert!(commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{commit}");
        let built = stamp["builtAt"].as_str().unwrap();
        assert!(built.len() == 20 && built.ends_with('Z') && built.as_bytes()[10] == b'T', "{built}");
    }
}
