//! The host's state, for tests to read.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

/// A repository on the fake host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeRepository {
    /// Id on the fake host.
    pub id: u64,
    /// Full name, `owner/name`.
    pub name: String,
    /// Path of the bare repository.
    pub path: PathBuf,
    /// The repository is read-only.
    pub is_archived: bool,
    /// Everyone may read it.
    #[serde(default)]
    pub is_public: bool,
    /// The repository's plan has no draft pull requests.
    #[serde(default)]
    pub has_no_drafts: bool,
    /// Issues and pull requests by number.
    pub items: BTreeMap<u64, FakeItem>,
    /// Check runs, oldest first.
    pub checks: Vec<Value>,
    /// Check logs by check id.
    pub logs: BTreeMap<u64, String>,
}

/// An issue or pull request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeItem {
    /// Number within the repository.
    pub number: u64,
    /// Title of the item.
    pub title: String,
    /// The item's body in Markdown.
    pub body: String,
    /// The author's login.
    pub user: String,
    /// Whether it is open.
    pub is_open: bool,
    /// Names of the labels.
    pub labels: Vec<String>,
    /// Comments, oldest first.
    pub comments: Vec<FakeComment>,
    /// The pull request part; absent for an issue.
    pub pull: Option<FakePull>,
}

/// The part that only a pull request has.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakePull {
    /// Branch with the changes.
    pub head: String,
    /// The branch's repository, if it is a fork.
    #[serde(default)]
    pub fork: Option<String>,
    /// The branch's last known commit.
    pub sha: String,
    /// Branch that they are for.
    pub base: String,
    /// It is a draft.
    pub is_draft: bool,
    /// Whether it was merged.
    pub is_merged: bool,
    /// It came from a fork that was deleted.
    #[serde(default)]
    pub is_fork_deleted: bool,
    /// Reviews, the oldest first.
    pub reviews: Vec<FakeReview>,
    /// Threads with comments on lines.
    pub threads: Vec<FakeThread>,
}

/// A comment on an item.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeComment {
    /// Id on the fake host.
    pub id: u64,
    /// The author's login.
    pub user: String,
    /// Text in Markdown, as posted.
    pub body: String,
    /// How often it was changed.
    pub edits: u64,
}

/// A review that was posted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeReview {
    /// Id on the fake host.
    pub id: u64,
    /// The author's login.
    pub user: String,
    /// Text in Markdown, as posted.
    pub body: String,
    /// `COMMENT`, `APPROVE` or `REQUEST_CHANGES`.
    pub event: String,
    /// Commit that was reviewed.
    pub commit: String,
}

/// A comment thread on a line.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FakeThread {
    /// Id on the fake host.
    pub id: String,
    /// The author's login.
    pub user: String,
    /// Path of the file.
    pub path: String,
    /// Number of the line.
    pub line: u64,
    /// The first comment's id.
    #[serde(default)]
    pub comment: u64,
    /// Text in Markdown, as posted.
    pub body: String,
    /// Replies, the oldest first.
    #[serde(default)]
    pub replies: Vec<FakeComment>,
    /// Whether it is resolved.
    pub is_resolved: bool,
    /// The thread's line left the diff.
    #[serde(default)]
    pub is_outdated: bool,
}

impl FakeThread {
    /// Returns the thread's comments, oldest first.
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
    /// The HTTP method used.
    pub method: String,
    /// Path without the API prefix, and query.
    pub target: String,
    /// Token in the credential, if there was any.
    pub token: Option<String>,
    /// Body as raw bytes.
    pub body: Vec<u8>,
}

/// A token that was minted.
#[derive(Debug, Clone)]
pub(super) struct Minted {
    pub(super) token: String,
    /// Repository names; empty means all.
    pub(super) repositories: Vec<String>,
    pub(super) permissions: Value,
    pub(super) is_revoked: bool,
}

/// The host's whole state.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct HostState {
    pub(super) repositories: BTreeMap<String, FakeRepository>,
    /// New names by old names.
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
