//! The code host port: a host's repositories, pull requests, reviews, checks and issues.
//!
//! Data and rules come from `ars-codehost`. All text from the host is untrusted. Not here: HTTP,
//! tokens and retries (the adapter), the order of the calls (the flows in `ars-codehost`), and
//! checking the requester's repository gate, which precedes every call.

mod checks;
mod discussion;
mod error;
mod files;
mod host;
mod pull_requests;
mod repository;

pub use checks::{CheckConclusion, CheckEntry, LogTail};
pub use discussion::{Comment, Issue, IssueEdit, IssueFilter, IssueState, NewIssue};
pub use error::CodeHostError;
pub use files::{BoundedText, ChangedFile, ChangedFiles, CodeHit, FileContent, TreeEntry};
pub use host::{CodeHost, Listed};
pub use pull_requests::{
    Comparison, NewPullRequest, PostedReview, PullRequestFacts, PullRequestHit, ReviewThread,
    ThreadReply,
};
pub use repository::{Account, GitAccess, GitCredential, RepositoryFacts};
