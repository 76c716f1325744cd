//! Decides which runs are reflected on.

/// Tool calls from which a run is reflected on.
const MIN_TOOL_CALLS: u32 = 1;
/// Earlier turns from which a run without such calls is reflected on.
const MIN_PRIOR_TURNS: usize = 4;

/// A run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Number of tool calls made.
    pub tool_calls: u32,
    /// Number of earlier turns in the thread.
    pub prior_turns: usize,
    /// It was a review: the findings do not outlast the change.
    pub is_review: bool,
}

impl Ended {
    /// Returns whether the run is reflected on.
    pub fn is_worth_reflecting(self) -> bool {
        !self.is_review
            && (self.tool_calls >= MIN_TOOL_CALLS || self.prior_turns >= MIN_PRIOR_TURNS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_needs_a_call_or_four_turns() {
        for (tool_calls, prior_turns, is_review, expected) in [
            (0, 0, false, false),
            (0, 3, false, false),
            (0, 4, false, true),
            (1, 0, false, true),
            (1, 4, true, false),
            (90, 90, true, false),
        ] {
            let ended = Ended {
                tool_calls,
                prior_turns,
                is_review,
            };
            assert_eq!(ended.is_worth_reflecting(), expected, "{ended:?}");
        }
    }
}
