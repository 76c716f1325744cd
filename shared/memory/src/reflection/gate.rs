//! Which runs are reflected on.

/// Calls of tools that make a run worth it.
const MIN_TOOL_CALLS: u32 = 1;
/// Earlier turns that make a run without such calls worth it.
const MIN_PRIOR_TURNS: usize = 4;

/// A run that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Calls of tools in it.
    pub tool_calls: u32,
    /// Turns of its conversation before it.
    pub prior_turns: usize,
    /// It was a review, which ends in a verdict and teaches nothing that outlasts the change.
    pub is_review: bool,
}

impl Ended {
    /// Whether there may be something to remember.
    pub fn is_worth_reflecting(self) -> bool {
        !self.is_review && (self.tool_calls >= MIN_TOOL_CALLS || self.prior_turns >= MIN_PRIOR_TURNS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_call_or_four_earlier_turns_are_enough_and_a_review_never_is() {
        for (tool_calls, prior_turns, is_review, expected) in [
            (0, 0, false, false),
            (0, 3, false, false),
            (0, 4, false, true),
            (1, 0, false, true),
            (1, 4, true, false),
            (90, 90, true, false),
        ] {
            let ended = Ended { tool_calls, prior_turns, is_review };
            assert_eq!(ended.is_worth_reflecting(), expected, "{ended:?}");
        }
    }
}
