//! The repositories that a run's tools read.
//!
//! Not here: the consequence (`audience`).

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ars_agent::{Part, Turn};
use ars_codehost::parse_slug;
use ars_types::RepoSlug;

use super::kind::GitHubTool;

/// The repositories that a run's tools read.
#[derive(Debug, Default)]
pub struct ReadRepositories(Mutex<BTreeSet<RepoSlug>>);

impl ReadRepositories {
    /// Adds the repositories from a stored conversation, for a resumed run.
    pub fn restore(&self, turns: &[Turn]) {
        let is_read = |tool: &str| GitHubTool::READS.iter().any(|read| read.name() == tool);
        let parts = || turns.iter().flat_map(|turn| &turn.parts);
        let failed: BTreeSet<&str> = parts().filter_map(failed_call).collect();
        let of_part = |part: &Part| match part {
            Part::ToolCall {
                call_id,
                name,
                input,
                ..
            } if is_read(name) && !failed.contains(call_id.as_str()) => input["repo"]
                .as_str()
                .and_then(|named| parse_slug(named.trim())),
            _ => None,
        };
        self.lock().extend(parts().filter_map(of_part));
    }

    /// Adds a repository as read.
    pub fn add(&self, repository: RepoSlug) {
        self.lock().insert(repository);
    }

    /// Returns all repositories read.
    pub fn all(&self) -> BTreeSet<RepoSlug> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<RepoSlug>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a failed call's id.
fn failed_call(part: &Part) -> Option<&str> {
    match part {
        Part::ToolResult {
            call_id, ok: false, ..
        } => Some(call_id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ars_agent::Role;
    use serde_json::json;

    use super::*;

    #[test]
    fn failed_read_adds_no_repository() {
        let call = |id: &str, repo: &str| Part::ToolCall {
            call_id: id.into(),
            name: "github_file".into(),
            input: json!({ "repo": repo, "path": "x" }),
            extra: serde_json::Map::new(),
        };
        let result = |id: &str, ok| Part::ToolResult {
            call_id: id.into(),
            ok,
            content: Vec::new(),
        };
        let turns = [
            Turn {
                role: Role::Assistant,
                parts: vec![call("a", "acme/app"), call("b", "acme/ap")],
            },
            Turn {
                role: Role::User,
                parts: vec![result("a", true), result("b", false)],
            },
        ];
        let read = ReadRepositories::default();
        read.restore(&turns);
        let named: Vec<String> = read.all().iter().map(ToString::to_string).collect();
        assert_eq!(named, ["acme/app"]);
    }
}
