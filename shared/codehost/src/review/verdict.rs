//! A review's decision.
//!
//! Not here: the tool that submits it, and the line that shows it (`first_line`).

/// A reviewer's decision, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Approval or request for changes.
    pub decision: Decision,
    /// The reason, in the reviewer's words.
    pub summary: String,
    /// The reviewed commit according to the reviewer, or `None` without a valid commit.
    pub head: Option<String>,
}

/// The direction that a decision takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The change is approved.
    Approve,
    /// The change must be revised.
    RequestChanges,
}

impl Decision {
    /// Every word `parse` accepts.
    pub const WORDS: [&'static str; 2] = ["approve", "request_changes"];

    /// Parses the word from a call.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "approve" => Some(Self::Approve),
            "request_changes" => Some(Self::RequestChanges),
            _ => None,
        }
    }
}
