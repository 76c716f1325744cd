//! Issues and comments.

use ars_types::UnixMillis;

/// State of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueState {
    /// Open.
    Open,
    /// Closed, or merged.
    Closed,
}

/// An issue, or a pull request as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Number.
    pub number: u64,
    /// Address of its page.
    pub url: String,
    /// State.
    pub state: IssueState,
    /// It is a pull request.
    pub is_pull_request: bool,
    /// Title. Untrusted.
    pub title: String,
    /// Body. Untrusted.
    pub body: String,
    /// Login of the author. Untrusted.
    pub author: String,
    /// Labels. Untrusted.
    pub labels: Vec<String>,
    /// Number of comments.
    pub comments: u64,
    /// Last change.
    pub updated_at: UnixMillis,
}

/// A filter of issues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueFilter {
    /// State; `None` means any.
    pub state: Option<IssueState>,
    /// They have all of these labels.
    pub labels: Vec<String>,
}

/// An issue to create.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewIssue {
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// Labels.
    pub labels: Vec<String>,
    /// Logins of assignees.
    pub assignees: Vec<String>,
}

/// A change of an issue. `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueEdit {
    /// Title.
    pub title: Option<String>,
    /// Body.
    pub body: Option<String>,
    /// State.
    pub state: Option<IssueState>,
    /// Labels.
    pub labels: Option<Vec<String>>,
    /// Logins of assignees.
    pub assignees: Option<Vec<String>>,
}

/// A comment on an issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Id.
    pub id: u64,
    /// Address.
    pub url: String,
    /// The service's account wrote it.
    pub is_own: bool,
    /// Login of the author. Untrusted.
    pub author: String,
    /// Text. Untrusted.
    pub body: String,
    /// When it was written.
    pub created_at: UnixMillis,
}
