//! Checks of a commit.

/// A check of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckEntry {
    /// Id by which its log is read.
    pub id: u64,
    /// Name. Untrusted.
    pub name: String,
    /// Conclusion; `None` while it is in progress.
    pub conclusion: Option<CheckConclusion>,
    /// The service created it.
    pub is_own: bool,
    /// Title and summary of its output. Untrusted.
    pub summary: String,
    /// Address of its page. Untrusted.
    pub url: Option<String>,
}

/// Conclusion of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckConclusion {
    /// It passed.
    Success,
    /// It failed, or ran out of time.
    Failure,
    /// It was cancelled, skipped, stale, or is neutral.
    Other,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail {
    /// Last lines. Untrusted.
    pub text: String,
    /// There are earlier lines.
    pub truncated: bool,
}
