//! Issues and comments.

use ars_types::UnixMillis;

/// Whether an issue is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueState {
    /// Still open on the host.
    Open,
    /// Closed, or merged as a pull request.
    Closed,
}

/// An issue, or a pull request seen as an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Number within the repository.
    pub number: u64,
    /// Address of the web page.
    pub url: String,
    /// Open or closed.
    pub state: IssueState,
    /// It is a pull request.
    pub is_pull_request: bool,
    /// The title. Untrusted.
    pub title: String,
    /// The body text. Untrusted.
    pub body: String,
    /// The author's login. Untrusted.
    pub author: String,
    /// Names of labels. Untrusted.
    pub labels: Vec<String>,
    /// Number of comments.
    pub comments: u64,
    /// When it last changed.
    pub updated_at: UnixMillis,
}

/// Filters listed issues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueFilter {
    /// State; `None` means any.
    pub state: Option<IssueState>,
    /// Issues must have all these labels.
    pub labels: Vec<String>,
}

/// An issue to create.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewIssue {
    /// Title for the issue.
    pub title: String,
    /// Body for the issue.
    pub body: String,
    /// Label names to set.
    pub labels: Vec<String>,
    /// The assignees' logins.
    pub assignees: Vec<String>,
}

/// An issue change. `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueEdit {
    /// The new title, if it changes.
    pub title: Option<String>,
    /// The new body, if it changes.
    pub body: Option<String>,
    /// The new state, if it changes.
    pub state: Option<IssueState>,
    /// The new labels, if they change.
    pub labels: Option<Vec<String>>,
    /// The new assignees' logins, if they change.
    pub assignees: Option<Vec<String>>,
}

/// A comment on an issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Id on the host.
    pub id: u64,
    /// Address of the comment's page.
    pub url: String,
    /// The service's account wrote it.
    pub is_own: bool,
    /// The author's login. Untrusted.
    pub author: String,
    /// The comment's text. Untrusted.
    pub body: String,
    /// When it was written.
    pub created_at: UnixMillis,
}
