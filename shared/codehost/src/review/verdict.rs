//! The decision of a review.
//!
//! Not here: the tool that submits it, and the line that shows it (`first_line`).

/// A review's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The direction of the decision.
    pub decision: Decision,
    /// The reason, in the reviewer's words.
    pub summary: String,
    /// The reviewed commit according to the reviewer, or `None` without a valid one.
    pub head: Option<String>,
}

/// The direction of a decision.
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

    /// Parses the word of a call.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "approve" => Some(Self::Approve),
            "request_changes" => Some(Self::RequestChanges),
            _ => None,
        }
    }
}
