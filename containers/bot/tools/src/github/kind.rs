//! The tools by name, with their descriptions and fields.

/// A code host tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitHubTool {
    /// Lists the host's repositories.
    Repos,
    /// Reads a file or folder.
    File,
    /// Lists a repository tree.
    Tree,
    /// Searches a repository's code.
    SearchCode,
    /// Shows a pull request with comments.
    Pull,
    /// Shows a pull request's line comments.
    PullComments,
    /// Shows a pull request's diff.
    PullDiff,
    /// Shows a pull request's checks, with the ends of failed logs.
    Checks,
    /// Lists or searches issues.
    IssueList,
    /// Shows an issue with comments.
    IssueGet,
    /// Creates a new issue.
    IssueCreate,
    /// Changes an existing issue.
    IssueUpdate,
    /// Comments on an issue or pull request.
    IssueComment,
}

impl GitHubTool {
    /// The tools that read.
    pub const READS: [Self; 10] = [
        Self::Repos,
        Self::File,
        Self::Tree,
        Self::SearchCode,
        Self::Pull,
        Self::PullComments,
        Self::PullDiff,
        Self::Checks,
        Self::IssueList,
        Self::IssueGet,
    ];
    /// The tools that write issues.
    pub const WRITES: [Self; 3] = [Self::IssueCreate, Self::IssueUpdate, Self::IssueComment];

    /// Returns the tool's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repos => "github_repos",
            Self::File => "github_file",
            Self::Tree => "github_tree",
            Self::SearchCode => "github_search_code",
            Self::Pull => "github_pr_get",
            Self::PullComments => "github_pr_comments",
            Self::PullDiff => "github_pr_diff",
            Self::Checks => "github_pr_checks",
            Self::IssueList => "github_issue_list",
            Self::IssueGet => "github_issue_get",
            Self::IssueCreate => "github_issue_create",
            Self::IssueUpdate => "github_issue_update",
            Self::IssueComment => "github_issue_comment",
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Repos => "Lists the repositories of the code host that the service may read.",
            Self::File => {
                "Shows a file or folder of a repository on the code host, at a branch, tag or commit."
            }
            Self::Tree => "Lists all files of a repository on the code host.",
            Self::SearchCode => {
                "Searches the default branch of a repository on the code host. Lists paths."
            }
            Self::Pull => {
                "Shows a pull request: its state, branches, description and its general comments."
            }
            Self::PullComments => {
                "Shows the comments on lines of a pull request by thread: file, line, authors, texts, resolved or open."
            }
            Self::PullDiff => {
                "Shows the changes of a pull request, of one file if `path` is given."
            }
            Self::Checks => {
                "Shows the checks of a pull request's head, with the ends of the logs of failed ones."
            }
            Self::IssueList => {
                "Lists issues of a repository, or searches issues and pull requests by words."
            }
            Self::IssueGet => "Shows an issue with its comments.",
            Self::IssueCreate => "Creates an issue. Its text is posted in the name of the service.",
            Self::IssueUpdate => {
                "Changes title, body, state or labels of an issue. An issue can be closed, not deleted."
            }
            Self::IssueComment => {
                "Comments on an issue or pull request in the name of the service."
            }
        }
    }

    /// Returns the input fields, and those that are required.
    pub(super) const fn fields(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Repos => (&["offset"], &[]),
            Self::File => (&["repo", "path", "ref", "offset"], &["repo", "path"]),
            Self::Tree => (&["repo", "ref", "offset"], &["repo"]),
            Self::SearchCode => (&["repo", "query"], &["repo", "query"]),
            Self::Pull | Self::PullComments | Self::IssueGet => {
                (&["repo", "number", "offset"], &["repo", "number"])
            }
            Self::PullDiff => (&["repo", "number", "path", "offset"], &["repo", "number"]),
            Self::Checks => (&["repo", "number"], &["repo", "number"]),
            Self::IssueList => (&["repo", "query", "state", "labels", "offset"], &["repo"]),
            Self::IssueCreate => (
                &["repo", "title", "body", "labels"],
                &["repo", "title", "body"],
            ),
            Self::IssueUpdate => (
                &["repo", "number", "title", "body", "state", "labels"],
                &["repo", "number"],
            ),
            Self::IssueComment => (&["repo", "number", "body"], &["repo", "number", "body"]),
        }
    }
}
