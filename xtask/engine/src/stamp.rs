//! An image's stamp: commit and build time.

use std::process::Command;

use ars_workerd::commit;
use serde_json::{Value, json};

/// Returns `{commit, builtAt}`. A changed checkout's commit ends in `-dirty`; without git there is
/// none.
pub fn stamp() -> Value {
    let mut stamp = json!({});
    if let Some(commit) = commit() {
        stamp["commit"] = json!(commit);
    }
    let now = Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])
        .output();
    if let Some(now) = now.ok().filter(|now| now.status.success()) {
        stamp["builtAt"] = json!(String::from_utf8_lossy(&now.stdout).trim());
    }
    stamp
}

#[cfg(test)]
mod tests {
    use super::stamp;

    #[test]
    fn a_stamp_names_the_commit_and_the_time() {
        let stamp = stamp();
        let commit = stamp["commit"]
            .as_str()
            .unwrap()
            .trim_end_matches("-dirty")
            .to_owned();
        assert!(
            commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit()),
            "{commit}"
        );
        let built = stamp["builtAt"].as_str().unwrap();
        assert!(
            built.len() == 20 && built.ends_with('Z') && built.as_bytes()[10] == b'T',
            "{built}"
        );
    }
}
