//! The state of the host, for tests to read.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

/// A repository.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeRepository {
    /// Id.
    pub id: u64,
    /// `owner/name`.
    pub name: String,
    /// Its bare repository.
    pub path: PathBuf,
    /// It is read-only.
    pub is_archived: bool,
    /// Everyone may read it.
    #[serde(default)]
    pub is_public: bool,
    /// Its plan has no draft pull requests.
    #[serde(default)]
    pub has_no_drafts: bool,
    /// Issues and pull requests by number.
    pub items: BTreeMap<u64, FakeItem>,
    /// Check runs, oldest first.
    pub checks: Vec<Value>,
    /// Logs of checks by id.
    pub logs: BTreeMap<u64, String>,
}

/// An issue or pull request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeItem {
    /// Number.
    pub number: u64,
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// Login of the author.
    pub user: String,
    /// It is open.
    pub is_open: bool,
    /// Labels.
    pub labels: Vec<String>,
    /// Comments, oldest first.
    pub comments: Vec<FakeComment>,
    /// The pull request, if it is one.
    pub pull: Option<FakePull>,
}

/// The part of an item that only a pull request has.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakePull {
    /// Branch with the changes.
    pub head: String,
    /// The repository of the branch, if it is a fork.
    #[serde(default)]
    pub fork: Option<String>,
    /// Its last known commit.
    pub sha: String,
    /// Branch that they are for.
    pub base: String,
    /// It is a draft.
    pub is_draft: bool,
    /// It was merged.
    pub is_merged: bool,
    /// It came from a fork that was deleted.
    #[serde(default)]
    pub is_fork_deleted: bool,
    /// Reviews, oldest first.
    pub reviews: Vec<FakeReview>,
    /// Threads of comments on lines.
    pub threads: Vec<FakeThread>,
}

/// A comment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeComment {
    /// Id.
    pub id: u64,
    /// Login of the author.
    pub user: String,
    /// Text.
    pub body: String,
    /// How often it was changed.
    pub edits: u64,
}

/// A review.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeReview {
    /// Id.
    pub id: u64,
    /// Login of the author.
    pub user: String,
    /// Text.
    pub body: String,
    /// `COMMENT`, `APPROVE` or `REQUEST_CHANGES`.
    pub event: String,
    /// Commit.
    pub commit: String,
}

/// A thread of comments on a line.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeThread {
    /// Id.
    pub id: String,
    /// Login of the author.
    pub user: String,
    /// File.
    pub path: String,
    /// Line.
    pub line: u64,
    /// Id of the first comment.
    #[serde(default)]
    pub comment: u64,
    /// Text.
    pub body: String,
    /// Replies, oldest first.
    #[serde(default)]
    pub replies: Vec<FakeComment>,
    /// It is resolved.
    pub is_resolved: bool,
    /// Its line left the diff.
    #[serde(default)]
    pub is_outdated: bool,
}

impl FakeThread {
    /// Returns its comments, oldest first.
    pub(super) fn comments(&self) -> Vec<FakeComment> {
        let Self {
            comment,
            user,
            body,
            ..
        } = self;
        let first = FakeComment {
            id: *comment,
            user: user.clone(),
            body: body.clone(),
            edits: 0,
        };
        std::iter::once(first)
            .chain(self.replies.iter().cloned())
            .collect()
    }
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Method.
    pub method: String,
    /// Path without the prefix of the interface, and query.
    pub target: String,
    /// Token of its credential, if it had one.
    pub token: Option<String>,
    /// Body.
    pub body: Vec<u8>,
}

/// A minted token.
#[derive(Debug, Clone)]
pub(super) struct Minted {
    pub(super) token: String,
    /// Names of repositories; empty means all.
    pub(super) repositories: Vec<String>,
    pub(super) permissions: Value,
    pub(super) is_revoked: bool,
}

/// The whole state.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct HostState {
    pub(super) repositories: BTreeMap<String, FakeRepository>,
    /// New names by old ones.
    pub(super) renamed: BTreeMap<String, String>,
    pub(super) next_id: u64,
    #[serde(skip)]
    pub(super) minted: Vec<Minted>,
    #[serde(skip)]
    pub(super) seen: Vec<Seen>,
    #[serde(skip)]
    pub(super) faults: Vec<(String, super::Fault)>,
    /// Requests to hang by a text in them, and who waits for that.
    #[serde(skip)]
    pub(super) hangs: Vec<(String, super::Hang, oneshot::Sender<()>)>,
}

impl HostState {
    pub(super) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

impl FakeRepository {
    /// Returns the pull requests.
    pub fn pulls(&self) -> impl Iterator<Item = (&FakeItem, &FakePull)> {
        self.items
            .values()
            .filter_map(|item| Some((item, item.pull.as_ref()?)))
    }

    pub(super) fn next_number(&self) -> u64 {
        self.items.keys().next_back().map_or(1, |last| last + 1)
    }
}
