//! A commit's checks.

/// A check on a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckEntry {
    /// Id for reading the log.
    pub id: u64,
    /// Name of the check. Untrusted.
    pub name: String,
    /// Conclusion; `None` while it is in progress.
    pub conclusion: Option<CheckConclusion>,
    /// The service created it.
    pub is_own: bool,
    /// Title and summary from the output. Untrusted.
    pub summary: String,
    /// Address of the page. Untrusted.
    pub url: Option<String>,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckConclusion {
    /// The check passed.
    Success,
    /// The check failed, or ran out of time.
    Failure,
    /// It was cancelled, skipped, stale, or is neutral.
    Other,
}

/// The end of a log, cut at the front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail {
    /// The last lines. Untrusted.
    pub text: String,
    /// There are earlier lines.
    pub truncated: bool,
}
